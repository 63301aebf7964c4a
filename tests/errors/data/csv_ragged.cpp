// expect: pets\.csv
// expect: line 3|row 3|:3
#include <tegula/tegula.h>

void csv_ragged() { tegula::io::parse_csv("height,kind\n1.5,cat\n2.5\n", "pets.csv"); }
