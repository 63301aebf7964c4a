// expect: ^conv2d_with: got a window \(5, 5\) with stride \(1, 1\) and dilation \(1, 1\) with the algorithm winograd, expected 3 x 3 with stride and dilation 1
// expect: hint: fft takes any window
#include <tegula/tegula.h>

void conv2d_with_winograd() {
  using namespace tegula;
  conv2d_with(ConvolutionAlgorithm::Winograd, ones({1, 2, 8, 8}), ones({3, 2, 5, 5}));  // here
}
