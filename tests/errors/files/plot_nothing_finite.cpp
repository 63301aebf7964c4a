// expect: ^plot: got c\.png: panel 'loss' without a finite point, expected at least one
// expect: hint: .*NaN everywhere means that training diverged
#include <tegula/tegula.h>

#include <cmath>

void plot_nothing_finite() {
  using namespace tegula;
  io::plot("c.png", io::Figure{.panels = {{.y_label = "loss", .series = {{.name = "train", .x = {1, 2}, .y = {NAN, NAN}}}}}});
}
