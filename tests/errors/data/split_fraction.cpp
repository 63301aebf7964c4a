// expect: split
#include <tegula/tegula.h>

void split_fraction() { tegula::data::split(100, {0.8, 0.5}); }  // here
