// expect: width
// expect: height
#include <tegula/tegula.h>

void csv_missing_column() { tegula::io::parse_csv("height,kind\n1.5,cat\n", "pets.csv").numbers({"width"}); }
