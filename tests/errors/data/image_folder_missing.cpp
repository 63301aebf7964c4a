// expect: ^ImageFolder: got no-such-folder, which is no folder, expected a folder with a folder for each class
#include <tegula/tegula.h>

void image_folder_missing() { tegula::data::ImageFolder images("no-such-folder", {.size = {8, 8}}); }
