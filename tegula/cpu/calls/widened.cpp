#include "tegula/cpu/calls/widened.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/memory_rows.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

constexpr std::size_t kMostBuffers = 4;

MemoryRows rows_of(const Layout& layout) {
  if (const auto rows = memory_rows(layout)) return *rows;
  throw Error({.op = "a call of halves", .got = "strides " + to_string(layout.strides), .expected = "elements in rows"});
}

class WidenedCall : public runtime::Call {
 public:
  WidenedCall(std::unique_ptr<runtime::Call> inner, DType dtype, const std::vector<Layout>& layouts, std::size_t read)
      : inner_(std::move(inner)),
        dtype_(dtype),
        read_(read),
        most_threads_(library_threads()) {
    for (const Layout& layout : layouts) rows_.push_back(layout.shape.rank() == 0 ? std::nullopt : std::optional(rows_of(layout)));
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = inner_->scratch_bytes();
    for (const auto& rows : rows_) bytes += rows ? aligned(*rows) : 0;
    return bytes;
  }
  std::string describe() const override { return std::string(name(dtype_)) + " widened: " + inner_->describe(); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const int threads = std::clamp(options.threads, 1, most_threads_);
    std::array<void*, kMostBuffers> wide{};
    char* at = static_cast<char*>(options.scratch);
    const auto converted = [&](std::size_t i) { return rows_[i] && buffers[i]; };
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      wide[i] = converted(i) ? at : buffers[i];
      if (rows_[i]) at += aligned(*rows_[i]);
    }
    for (std::size_t i = 0; i < read_; ++i) {
      if (!converted(i)) continue;
      const auto* const from = static_cast<const std::uint16_t*>(buffers[i]);
      auto* const to = static_cast<float*>(wide[i]);
      each_piece(*rows_[i], threads,
                 [&](std::int64_t lies, std::int64_t dense, std::int64_t count) { widen(dtype_, from + lies, to + dense, count); });
    }
    inner_->run({wide.data(), buffers.size()}, {.scratch = at, .threads = threads});
    for (std::size_t i = read_; i < buffers.size(); ++i) {
      if (!converted(i)) continue;
      const auto* const from = static_cast<const float*>(wide[i]);
      auto* const to = static_cast<std::uint16_t*>(buffers[i]);
      each_piece(*rows_[i], threads,
                 [&](std::int64_t lies, std::int64_t dense, std::int64_t count) { narrow(dtype_, from + dense, to + lies, count); });
    }
  }

 private:
  static std::size_t aligned(const MemoryRows& rows) { return static_cast<std::size_t>((rows.count * rows.length + 15) / 16 * 64); }

  /// visit(where elements lie, where they are without room, how many).
  template <class Visit>
  static void each_piece(const MemoryRows& rows, int threads, Visit visit) {
    parallel(threads, [&](int thread, int count) {
      if (rows.count == 1) {
        const Range r = share(rows.length, thread, count);
        return visit(r.begin, r.begin, r.end - r.begin);
      }
      const Range r = share(rows.count, thread, count);
      for (std::int64_t row = r.begin; row < r.end; ++row) visit(row * rows.distance, row * rows.length, rows.length);
    });
  }

  std::unique_ptr<runtime::Call> inner_;
  DType dtype_;
  std::vector<std::optional<MemoryRows>> rows_;
  std::size_t read_;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_widened(std::unique_ptr<runtime::Call> inner, DType dtype, const std::vector<Layout>& layouts,
                                            std::size_t read) {
  return std::make_unique<WidenedCall>(std::move(inner), dtype, layouts, read);
}

Layout widened_layout(const Layout& layout) { return without_room(layout, rows_of(layout)); }

}  // namespace tegula::host
