// expect: no-such-folder
#include <tegula/tegula.h>

void image_folder_missing() { tegula::data::ImageFolder images("no-such-folder", {.size = {8, 8}}); }
