// expect: ^plot: got curve\.png: 0 panels, expected 1 to 4
// expect: hint: give the figure a Panel with a Series
#include <tegula/tegula.h>

void plot_nothing() { tegula::io::plot("curve.png", tegula::io::Figure{}); }
