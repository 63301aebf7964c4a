// Lesson 1: tensors.
//
// A Tensor is a handle to an n-dimensional array that never changes. Writing an expression computes nothing: it builds a graph, checks shapes
// and dtypes at once, and leaves the work for the moment someone asks for a value.

#include <tegula/tegula.h>

#include <cassert>
#include <cstdio>
#include <vector>

using namespace tegula;

int main() {
  // From a list, with a shape of one's own; or from nothing.
  Tensor a = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});  // (2, 3)
  Tensor b = ones({2, 3});  // (2, 3)
  assert(a.shape() == (Shape{2, 3}));
  assert(a.dtype() == f32);

  // Operators work element by element. Numbers adapt to the tensors beside them.
  Tensor c = 2 * a + b;  // (2, 3), not computed yet
  assert(c.to_host() == (std::vector<float>{3, 5, 7, 9, 11, 13}));  // now it is
  std::printf("%s\n", c.print().c_str());

  // Shapes broadcast as in NumPy: missing axes are added in front, axes of size 1 stretch.
  Tensor row = tensor({10.f, 20.f, 30.f});  // (3,)
  Tensor column = tensor({1.f, 2.f}, {2, 1});  // (2, 1)
  assert((row + column).shape() == (Shape{2, 3}));
  assert((row + column).to_host() == (std::vector<float>{11, 21, 31, 12, 22, 32}));

  // Views move no elements: a transpose, a slice, a reversal only look at the same memory in another way.
  Tensor t = transpose(a);  // (3, 2)
  assert(t.to_host() == (std::vector<float>{1, 4, 2, 5, 3, 6}));
  Tensor s = slice(a, 1, {.step = -1});  // (2, 3), columns backwards
  assert(s.to_host() == (std::vector<float>{3, 2, 1, 6, 5, 4}));
  assert(reshape(a, {3, -1}).shape() == (Shape{3, 2}));

  // Reductions drop their axes, unless told to keep them.
  assert(sum(a).item() == 21);
  assert(sum(a, 0).to_host() == (std::vector<float>{5, 7, 9}));
  assert(mean(a, 1, Keep::Yes).shape() == (Shape{2, 1}));
  assert(argmax(a, 1).to_host<std::int64_t>() == (std::vector<std::int64_t>{2, 2}));

  // Matrix products.
  Tensor product = matmul(a, t);  // (2, 3) x (3, 2) -> (2, 2)
  assert(product.to_host() == (std::vector<float>{14, 32, 32, 77}));

  // Dtypes promote as in PyTorch: an integer tensor and a float tensor give a float tensor.
  Tensor n = arange(3);  // (3,) i64
  assert(n.dtype() == i64);
  assert((n + row).dtype() == f32);
  assert((n / 2).dtype() == f32);

  // Random numbers come from a generator with a seed; the same seed gives the same numbers on every machine.
  manual_seed(7);
  const float first = uniform({1}).item();
  manual_seed(7);
  assert(uniform({1}).item() == first);

  // A mistake throws an exception at its line. The message names the value it got, the expected one, and the line.
  try {
    matmul(a, a);
    assert(false);
  } catch (const Error& error) {
    assert(std::string(error.what()).find("01_tensors.cpp") != std::string::npos);
    std::printf("%s\n", error.what());
  }
}
