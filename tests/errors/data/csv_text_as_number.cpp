// expect: pets\.csv
// expect: tall
#include <tegula/tegula.h>

void csv_text_as_number() { tegula::io::parse_csv("height,kind\ntall,cat\n", "pets.csv").numbers({"height"}); }
