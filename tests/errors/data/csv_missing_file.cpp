// expect: nowhere\.csv
// expect: [Nn]o such file
#include <tegula/tegula.h>

void csv_missing_file() { tegula::io::read_csv("nowhere.csv"); }
