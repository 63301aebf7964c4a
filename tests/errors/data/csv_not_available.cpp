// expect: ^csv: got rooms\.csv, line 3: column rooms holds "NA", expected a number
// expect: hint: texts that stand for no value: CsvOptions\{\.missing = \{"NA"\}\}
#include <tegula/tegula.h>

#include <cmath>

void csv_not_available() { tegula::io::parse_csv("rooms\n3\nNA\n", "rooms.csv").numbers({"rooms"}, NAN); }
