#pragma once
// A oneDNN primitive shared between our threads. Included by the onednn*.cpp files only.
//
// oneDNN's own threads are not used (see OneThread): it cuts sums differently for different numbers of threads. A fixed cut makes results
// the same however busy the machine is. The batch is cut into one piece for each thread, of two sizes at most, and a primitive for one
// thread computes each piece. A tensor that all pieces read (a weight) is reordered once, together; a tensor that all of them write (a weight's
// gradient) is written by each for itself and added up in the order of the pieces.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::host {

const dnnl::engine& onednn_engine();

/// Scratch comes from the caller.
dnnl::primitive_attr onednn_attributes();

/// One tensor of a primitive, in the caller's layout. If the primitive wants another layout it is reordered through scratch.
struct OneDnnTensor {
  int argument;  // DNNL_ARG_…; a post-op's operand comes in the primitive's layout
  int buffer;  // index into the caller's buffers
  bool written;
  std::int64_t step;  // bytes from one unit of the batch to the next; 0: all pieces read it whole, or each writes (f32) its share of a sum
  dnnl::memory::desc layout;
};

/// The primitive for a number of units of the batch, and its tensors.
struct OneDnnPiece {
  std::vector<OneDnnTensor> tensors;
  dnnl::primitive_desc_base description;
};

/// For one thread and for library_threads(). run() may be called from several threads at once, each with its own scratch, and allocates
/// nothing once it has run as often at once.
class OneDnnPrimitive {
 public:
  /// `make` is called for one or two sizes under each number of threads; its exceptions (dnnl::error) pass through.
  OneDnnPrimitive(std::int64_t units, const std::function<OneDnnPiece(std::int64_t units)>& make);
  ~OneDnnPrimitive();

  std::size_t scratch_bytes() const { return bytes_; }
  /// "brgconv:avx512_core"
  std::string implementation() const;
  /// True if a piece is computed by an implementation whose name begins with this: "ref" is oneDNN's plain loop.
  bool has(std::string_view implementation) const;
  /// The layout in which the primitive for all units wants the tensor with this argument.
  dnnl::memory::desc layout_for_all(int argument) const;
  /// `after(begin, end)` is called when these units of the batch have been written, by the thread that wrote them.
  using After = std::function<void(std::int64_t begin, std::int64_t end)>;
  void run(std::span<void* const> buffers, void* scratch, int threads, const After& after = {}) const;

 private:
  struct Reorder;
  struct Operand;
  struct Piece;
  struct Variant;
  struct Handles;

  static std::unique_ptr<Variant> plan(std::int64_t units, int threads, const std::function<OneDnnPiece(std::int64_t)>& make);
  std::unique_ptr<Handles> take(const Variant& variant) const;
  void give_back(std::unique_ptr<Handles> handles) const;

  std::vector<std::unique_ptr<Variant>> variants_;  // one thread, many
  std::size_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Handles>> free_;
};

}  // namespace tegula::host
