// expect: ^plot: got curve\.pdf: a name that ends in \.pdf, expected \.png or \.svg
#include <tegula/tegula.h>

void plot_other_ending() { tegula::io::plot("curve.pdf", tegula::io::LearningCurve{.train_loss = {1, 0.5}}); }
