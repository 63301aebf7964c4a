#pragma once
// Putting the text of a plain kernel together: element type, constants, and the arithmetic between a thread's number and coordinates.

#include <string>
#include <utility>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// A translation unit. The text begins with Element (as stored), Sum (what sums are in), load, store, Index and INFINITE.
class PlainSource {
 public:
  /// Index is 32 bits wide when all of `layouts` and their element numbers fit.
  PlainSource(DType dtype, const std::vector<Layout>& layouts);
  void define(const std::string& name, std::int64_t value);
  /// Appends text in which @NAME@ stands for what the table has.
  void add(std::string text, const std::vector<std::pair<std::string, std::string>>& table = {});
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Defines the words for tensor cores:
///   rounded(x): to 10 bits of mantissa, as the operands of a product have to be.
///   product(d[4], a0, a1, a2, a3, b0, b1): m16n8k8 of one warp. Lane (g, t) = (lane / 4, lane % 4) holds a: (row g, k t), (g + 8, t),
///   (g, t + 4), (g + 8, t + 4); b: (k t, column g), (t + 4, g); d: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). Which k a slot
///   stands for is free as long as a and b agree. The tests bring their own product for the CPU.
std::string tensor_core_product();

/// Defines activation(Sum): the activation of a sum (runtime::Sums::rest), which reads nothing else.
void activation_function(PlainSource& source, const runtime::Expression& rest);

/// "n * 192 + c": where an element lies. Axes of size 1 are left out.
std::string offset_text(const Layout& layout, const std::vector<std::string>& names);

/// "const Index o2 = item % 7; const Index …": the coordinates of element number `item`, counted in the order of memory. Axes without a name
/// are skipped (they must have size 1).
std::string coordinates(const std::string& item, const Layout& layout, const std::vector<std::string>& names);
/// The same for the number of the thread in the grid; threads beyond the last element return.
std::string thread_coordinates(const Layout& layout, const std::vector<std::string>& names);
/// … of the block.
std::string block_coordinates(const Layout& layout, const std::vector<std::string>& names);

}  // namespace tegula::gpu
