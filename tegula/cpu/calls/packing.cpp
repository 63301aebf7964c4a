// Weights put into blocks. An element is moved once for as long as the weight stays as it is.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using runtime::Blocked;
using runtime::Packing;

/// A step along one axis of the weight: along its blocks, or within one of them.
struct Walk {
  int axis;
  std::int64_t count, unit;  // elements of the axis from one to the next
  std::int64_t to;           // elements in memory
};

class PackingCall : public runtime::Call {
 public:
  explicit PackingCall(const Packing& d) : blocks_(d.blocks), most_threads_(library_threads()) {
    from_ = d.weight.strides;
    for (int axis = 0; axis < blocks_.shape.rank(); ++axis) {
      const std::int64_t block = runtime::block_of(blocks_, axis);
      walks_.push_back({axis, (blocks_.shape[axis] + block - 1) / block, block, blocks_.strides[axis]});
    }
    std::int64_t to = 1;
    std::vector<Walk> inner;
    std::vector<std::int64_t> unit(static_cast<std::size_t>(blocks_.shape.rank()), 1);
    for (int i = blocks_.axes.rank(); i-- > 0;) {
      auto& of_axis = unit[static_cast<std::size_t>(blocks_.axes[i])];
      inner.push_back({static_cast<int>(blocks_.axes[i]), blocks_.sizes[i], of_axis, to});
      of_axis *= blocks_.sizes[i], to *= blocks_.sizes[i];
    }
    walks_.insert(walks_.end(), inner.rbegin(), inner.rend());
    // The axes that are innermost in one of the two tensors come last: both are then read and written in whole cache lines.
    std::stable_sort(walks_.begin() + 1, walks_.end(), [&](const Walk& a, const Walk& b) { return nearness(a) > nearness(b); });
  }

  std::string describe() const override { return "pack " + to_string(blocks_.shape) + " in blocks of " + to_string(blocks_.sizes); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* from = static_cast<const float*>(buffers[0]);
    auto* to = static_cast<float*>(buffers[1]);
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      const Walk& first = walks_.front();
      const Range mine = share(first.count, thread, count);
      Dims place = Dims::filled(blocks_.shape.rank(), 0);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) {
        place[first.axis] = i * first.unit;
        step(1, place, from, to + i * first.to);
      }
    });
  }

 private:
  std::int64_t nearness(const Walk& walk) const { return std::min(from_[walk.axis] * walk.unit, walk.to); }

  void step(std::size_t depth, Dims& place, const float* from, float* to) const {
    if (depth == walks_.size()) {
      *to = inside(place) ? from[offset(place)] : 0.0f;
      return;
    }
    const Walk& walk = walks_[depth];
    const std::int64_t begin = place[walk.axis];
    if (depth + 1 == walks_.size()) {
      const std::int64_t left = inside(place) ? (blocks_.shape[walk.axis] - begin + walk.unit - 1) / walk.unit : 0;
      const std::int64_t there = std::min(walk.count, left), distance = from_[walk.axis] * walk.unit;
      const float* source = from + (there > 0 ? offset(place) : 0);
      for (std::int64_t i = 0; i < there; ++i) to[i * walk.to] = source[i * distance];
      for (std::int64_t i = there; i < walk.count; ++i) to[i * walk.to] = 0.0f;
      return;
    }
    for (std::int64_t i = 0; i < walk.count; ++i) {
      place[walk.axis] = begin + i * walk.unit;
      step(depth + 1, place, from, to + i * walk.to);
    }
    place[walk.axis] = begin;
  }
  bool inside(const Dims& place) const {
    for (int i = 0; i < place.rank(); ++i)
      if (place[i] >= blocks_.shape[i]) return false;
    return true;
  }
  std::int64_t offset(const Dims& place) const {
    std::int64_t out = 0;
    for (int i = 0; i < place.rank(); ++i) out += place[i] * from_[i];
    return out;
  }

  Blocked blocks_;
  Strides from_;
  std::vector<Walk> walks_;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_packing(const Packing& description) {
  const Blocked& blocks = description.blocks;
  if (description.dtype != f32 || !blocks || blocks.any || description.weight.shape != blocks.shape) {
    throw Error({.op = "pack",
                 .got = "a weight " + to_string(description.weight.shape) + " of " + std::string(name(description.dtype)) +
                        " in blocks of " + to_string(blocks.shape),
                 .expected = "f32, and blocks of the weight's axes"});
  }
  return std::make_unique<PackingCall>(description);
}

}  // namespace tegula::host
