// expect: ^csv: got rooms\.csv, line 3: column rooms holds "", expected a number
// expect: hint: say what a cell without a value stands for: numbers\(columns, missing\)
#include <tegula/tegula.h>

void csv_empty_cell() { tegula::io::parse_csv("rooms,area\n3,70\n,50\n", "rooms.csv").numbers({"rooms"}); }
