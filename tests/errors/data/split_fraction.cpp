// expect: ^split: got shares with the sum 1\.3, expected a sum of 1
#include <tegula/tegula.h>

void split_fraction() { tegula::data::split(100, {0.8, 0.5}); }  // here
