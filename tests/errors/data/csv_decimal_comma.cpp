// expect: ^csv: got price\.csv, line 2: column price holds "1,5", expected a number
// expect: hint: the signs of a number are CsvOptions\{\.decimal = ','\}
#include <tegula/tegula.h>

void csv_decimal_comma() { tegula::io::parse_csv("price;rooms\n1,5;3\n", "price.csv", {.separator = ';'}).numbers({"price"}); }
