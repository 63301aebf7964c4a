// expect: curve\.png: 0 panels, expected 1 to 4|got curve\.png.*0 panels
#include <tegula/tegula.h>

void plot_nothing() { tegula::io::plot("curve.png", tegula::io::Figure{}); }
