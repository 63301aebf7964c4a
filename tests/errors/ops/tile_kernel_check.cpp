// expect: ^tile_kernel: got the value 7 where rows_of says "a place in the table"
// expect: at .*tile_kernel_check.cpp:14\n
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_kernel.h"

using namespace tegula;

void tile_kernel_check() {
  const Tensor table = ones({4}), places = tensor({std::int64_t{0}, std::int64_t{7}, std::int64_t{3}, std::int64_t{1}});
  const auto rows_of = [](tile::Builder& b, const TileArguments& a) {
    const auto i = b.arange(0, 4);
    const auto place = b.load(a.inputs[1] + i);
    const auto valid = place >= 0 && place < a.numbers[0];
    b.check(valid, place, "a place in the table");
    b.store(a.outputs[0] + i, b.load(a.inputs[0] + place, valid));
  };
  const Tensor y = tile_kernel("rows_of", rows_of, {table, places}, {.grid = {1}, .outputs = {{{4}, f32}}, .numbers = {4}})[0];  // here
  static_cast<void>(y.to_host());
}
