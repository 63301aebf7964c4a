#pragma once
// Sizes that may depend on axes which a file leaves open. A function is traced once for each open axis and twice more; a size is the formula that fits all
// traces.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tegula::onnx {

/// factor * Π sizes of the open axes in `of` + plus; without open axes `plus` alone.
struct Size {
  std::int64_t factor = 0;
  std::uint32_t of = 0;  // bit k: open axis k
  std::int64_t plus = 0;
  Size() = default;
  Size(std::int64_t constant) : plus(constant) {}
  bool is_constant() const { return of == 0; }
  bool operator==(const Size&) const = default;
};
using Sizes = std::vector<Size>;

/// The sizes of the open axes in each trace: first all of them as the first trace has them, then each alone in another size, and last all in a third one.
class OpenSizes {
 public:
  /// `first`: of each open axis.
  explicit OpenSizes(std::vector<std::int64_t> first = {}) : first_(std::move(first)) {}
  std::size_t count() const { return first_.size(); }
  /// The number of traces: one where no axis is open.
  std::size_t traces() const { return first_.empty() ? 1 : first_.size() + 2; }
  std::int64_t size(std::size_t axis, std::size_t trace) const {
    if (trace == first_.size() + 1) return first_[axis] + 3;
    return first_[axis] + (trace == axis + 1 ? 1 : 0);
  }
  /// The size that has these values, one for each trace; nothing where it is of another form.
  std::optional<Size> common(std::span<const std::int64_t> values) const;
  /// The value of a size in a trace.
  std::int64_t value(const Size& size, std::size_t trace) const;

 private:
  std::vector<std::int64_t> first_;
};

}  // namespace tegula::onnx
