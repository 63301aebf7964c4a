#pragma once
// A long text as batches for language models: tokens, and the token that follows each.

#include <memory>
#include <string>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/text/vocabulary.h"

namespace tegula::text {

using SharedIds = std::shared_ptr<const Ids>;

/// The numbers in a file of tokens: u16, little-endian (nanoGPT's train.bin), or behind a header of llm.c, which may say u32 (its Llama 3 files). Throws
/// Error with the file's name where a number is outside of the vocabulary, or the file is of another size than its header says.
Ids read_tokens(const std::string& path, std::int64_t vocabulary);
/// Writes such a file, u16 without a header, atomically. Throws Error for a number of 2^16 or more.
void write_tokens(const std::string& path, const Ids& tokens);

/// A set that never comes to its end: for a data::Loader without shuffling.
constexpr std::int64_t endless(std::int64_t batch) { return (std::int64_t{1} << 31) / batch * batch; }

/// Windows at random positions: each sample is tokens x (length) and the ones that follow, y (length), i64. The positions follow from the
/// Loader's seed and position alone. Throws Error for a text of fewer than length + 1 tokens.
class RandomWindows {
 public:
  RandomWindows(SharedIds tokens, std::int64_t length, std::int64_t count);
  std::int64_t size() const { return count_; }
  data::Sample get(std::int64_t i, data::RandomStream& random) const;

 private:
  SharedIds tokens_;
  std::int64_t length_, count_;
};

/// Consecutive windows, (x, y) as above; a rest shorter than a window is left out. Above `most` windows (0: all) only that many, evenly spread.
class Windows {
 public:
  Windows(SharedIds tokens, std::int64_t length, std::int64_t most = 0);
  std::int64_t size() const { return count_; }
  data::Sample get(std::int64_t i) const;

 private:
  SharedIds tokens_;
  std::int64_t length_, all_, count_;
};

/// The text as `batch` streams of equal length side by side, window by window: sample i continues sample i - batch, so that a recurrent net's state is
/// carried from batch to batch (truncated backpropagation through time). Samples are x (length); begins () f32, 1 where a stream begins, else 0; and
/// y (length). Behind the end the streams begin again. Throws Error for a text that has not length + 1 tokens for each stream.
class Streams {
 public:
  /// `count`: samples; 0: those of one pass.
  Streams(SharedIds tokens, std::int64_t batch, std::int64_t length, std::int64_t count = 0);
  std::int64_t size() const { return count_; }
  data::Sample get(std::int64_t i) const;
  std::int64_t windows() const { return windows_; }  // windows of each stream

 private:
  SharedIds tokens_;
  std::int64_t batch_, length_, windows_, count_;
};

}  // namespace tegula::text
