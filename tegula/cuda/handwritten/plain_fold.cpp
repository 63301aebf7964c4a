#include "tegula/cuda/handwritten/plain_fold.h"

#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_fold.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr int kThreads = 256;

/// Channels of one row of pixels, filled up.
std::int64_t row_channels(std::int64_t channels, std::int64_t factor) { return divide_up(factor * channels, kFoldPiece) * kFoldPiece; }

PlainSource source_of(const PlainFold& f, std::int64_t row) {
  const Shape &plain = f.plain.shape, &folded = f.folded.shape;
  PlainSource source(f.dtype, {f.plain, f.folded});
  const std::pair<const char*, std::int64_t> values[] = {{"PIECE", kFoldPiece},
                                                         {"PIECES", numel(folded) / kFoldPiece},
                                                         {"ROW", row},
                                                         {"FOLD_H", f.factors[0]},
                                                         {"FOLD_W", f.factors[1]},
                                                         {"C", plain[1]},
                                                         {"H", plain[2]},
                                                         {"W", plain[3]},
                                                         {"TO_H", folded[2]},
                                                         {"TO_W", folded[3]},
                                                         {"LOW_H", f.low[0]},
                                                         {"LOW_W", f.low[1]},
                                                         {"N", plain[0]},
                                                         {"COPIES", folded[0] / plain[0]},
                                                         {"STEP", f.step}};
  for (const auto& [name, value] : values) source.define(name, value);
  return source;
}

PlainKernel kernel_of(const char* name, const PlainSource& source, std::int64_t threads) {
  return {name, source.text(), divide_up(threads, kThreads), kThreads, 0};
}

}  // namespace

std::int64_t folded_channels(std::int64_t channels, const Dims& factors) { return factors[0] * row_channels(channels, factors[1]); }

PlainKernel fold_kernel(const PlainFold& fold) {
  PlainSource source = source_of(fold, row_channels(fold.plain.shape[1], fold.factors[1]));
  source.add(kFold, {{"PLAIN", offset_text(fold.plain, {"n", "c", "h", "v"})}});
  return kernel_of("fold", source, numel(fold.folded.shape) / kFoldPiece);
}

PlainKernel unfold_kernel(const PlainFold& fold) {
  const std::vector<std::string> names{"n", "c", "h", "v"};
  PlainSource source = source_of(fold, row_channels(fold.plain.shape[1], fold.factors[1]));
  source.add(kUnfold, {{"COORDINATES", thread_coordinates(fold.plain, names)}, {"PLAIN", offset_text(fold.plain, names)}});
  return kernel_of("unfold", source, numel(fold.plain.shape));
}

}  // namespace tegula::gpu
