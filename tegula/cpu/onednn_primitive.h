#pragma once
// A oneDNN primitive with prepared arguments. Included by the onednn*.cpp files only.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <vector>

namespace tegula::host {

const dnnl::engine& onednn_engine();

/// Scratch comes from the caller.
dnnl::primitive_attr onednn_attributes();

/// One tensor of a primitive as the caller has it. Where the primitive wants another layout it is reordered through scratch.
struct OneDnnTensor {
  int argument;  // DNNL_ARG_…
  int buffer;    // index into the caller's buffers
  bool written;
  dnnl::memory::desc layout;
};

/// A primitive for every thread count that is a power of two: oneDNN decides how to split the work when a primitive is made.
/// run() may be called from several threads at once, each with its own scratch, and allocates nothing once it has run as often at once.
class OneDnnPrimitive {
 public:
  /// `describe` is called under each thread count; what it throws (dnnl::error) comes through.
  OneDnnPrimitive(std::vector<OneDnnTensor> tensors, const std::function<dnnl::primitive_desc_base()>& describe);
  ~OneDnnPrimitive();

  std::size_t scratch_bytes() const { return bytes_; }
  /// "brgconv:avx512_core"
  std::string implementation() const;
  /// "ref…" is oneDNN's plain loop.
  bool is_fast() const { return !implementation().starts_with("ref"); }
  /// Uses at most `threads` threads, a power of two; returns how many.
  int run(std::span<void* const> buffers, void* scratch, int threads) const;

 private:
  struct Operand;
  struct Variant;
  struct Handles;

  std::unique_ptr<Variant> plan(int threads, const std::function<dnnl::primitive_desc_base()>& describe) const;
  Variant& variant_for(int threads) const;
  std::unique_ptr<Handles> take(const Variant& variant) const;
  void give_back(std::unique_ptr<Handles> handles) const;

  std::vector<OneDnnTensor> tensors_;
  std::vector<std::unique_ptr<Variant>> variants_;  // by rising thread count
  std::size_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Handles>> free_;
};

}  // namespace tegula::host
