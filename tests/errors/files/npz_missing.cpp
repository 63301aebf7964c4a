// expect: nothing\.npz
#include <tegula/tegula.h>

void npz_missing() { tegula::io::read_npz("nothing.npz"); }
