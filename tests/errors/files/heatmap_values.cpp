// expect: ^plot: got m\.png: 2 rows, 2 columns and 3 values, expected 1 to 200 of each, and a finite value for each pair
#include <tegula/tegula.h>

void heatmap_values() {
  tegula::io::plot("m.png", tegula::io::Heatmap{.rows = {"cat", "dog"}, .columns = {"cat", "dog"}, .values = {1, 2, 3}});
}
