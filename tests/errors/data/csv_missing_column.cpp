// expect: ^csv: got pets\.csv: no column width, expected one of height, kind
#include <tegula/tegula.h>

void csv_missing_column() { tegula::io::parse_csv("height,kind\n1.5,cat\n", "pets.csv").numbers({"width"}); }
