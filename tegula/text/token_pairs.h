#pragma once
// Sequences that belong together, as token numbers: what translators are trained with.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/text/vocabulary.h"

namespace tegula::text {

/// The least width of the ladder 8, 12, 16, 24, 32, 48, … that holds `length`: batches have few shapes, so that few programs are compiled.
std::int64_t ladder_width(std::int64_t length);

/// A data set (data::Dataset) of sources and targets. A batch is: source (N, W) with zeros behind; target (N, W), `begin` in front; the lengths of the sources (N); and
/// what follows each place of the target (N, W), which ends with `end`; 0 behind that. W is the ladder's width for the longest of them. 0 is for padding.
class TokenPairs {
 public:
  /// Throws Error for different numbers of sources and targets, an empty source, and a token below 1.
  TokenPairs(std::vector<Ids> sources, std::vector<Ids> targets, Id begin, Id end);

  std::int64_t size() const { return static_cast<std::int64_t>(sources_.size()); }
  std::vector<HostArray> get(std::int64_t row) const;  // as a batch of one, without its axis
  std::vector<HostArray> gather(std::span<const std::int64_t> rows) const;
  /// Of each pair the longer side, with begin or end: what batches of like lengths are made by (data::LoaderOptions::lengths).
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  const std::vector<Ids>& sources() const { return sources_; }
  /// The shortest pairs first.
  TokenPairs sorted() const;

 private:
  std::vector<Ids> sources_, targets_;
  Id begin_, end_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace tegula::text
