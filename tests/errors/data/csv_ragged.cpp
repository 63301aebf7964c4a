// expect: ^csv: got pets\.csv, line 3: 1 fields, expected as many as in the first line, 2
// expect: hint: fields with a separator in them are enclosed in quotes
#include <tegula/tegula.h>

void csv_ragged() { tegula::io::parse_csv("height,kind\n1.5,cat\n2.5\n", "pets.csv"); }
