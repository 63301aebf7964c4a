// expect: ^npz: got nothing\.npz: No such file or directory, expected a readable file
#include <tegula/tegula.h>

void npz_missing() { tegula::io::read_npz("nothing.npz"); }
