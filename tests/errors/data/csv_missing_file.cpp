// expect: ^csv: got nowhere\.csv: No such file or directory, expected a readable file
// expect: hint: check the path; it is relative to the working directory
#include <tegula/tegula.h>

void csv_missing_file() { tegula::io::read_csv("nowhere.csv"); }
