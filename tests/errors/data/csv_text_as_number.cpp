// expect: ^csv: got pets\.csv, line 2: column height holds "tall", expected a number
// expect: hint: .*a column of names: classes\(\)
#include <tegula/tegula.h>

void csv_text_as_number() { tegula::io::parse_csv("height,kind\ntall,cat\n", "pets.csv").numbers({"height"}); }
