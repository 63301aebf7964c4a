// expect: curve\.pdf
// expect: \.svg
#include <tegula/tegula.h>

void plot_other_ending() {
  tegula::io::plot("curve.pdf", tegula::io::LearningCurve{.train_loss = {1, 0.5}});
}
