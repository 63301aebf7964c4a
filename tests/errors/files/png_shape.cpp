// expect: ^png: got picture\.png: shape \(2, 2\) of f32, expected \(H, W\), \(H, W, 1\) or \(H, W, 3\) of u8
// expect: hint: scale to 0\.\.255, cast to u8 and put the channels last
#include "tegula/io/png.h"

void png_shape() {
  using namespace tegula;
  io::write_png("picture.png", HostArray::empty(f32, {2, 2}));
}
