#include "tegula/text/vectors/word2vec.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <queue>
#include <thread>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/random_stream.h"
#include "tegula/runtime/threads.h"
#include "tegula/text/vectors/vector_rows.h"

namespace tegula::text {
namespace {

/// Rows of floats, each on cache lines of its own.
class Table {
 public:
  Table(std::int64_t rows, std::int64_t size)
      : stride_(padded_row(size)),
        data_(new(kLine) float[static_cast<std::size_t>(rows * stride_)]()) {}
  float* row(std::int64_t i) const { return data_.get() + i * stride_; }
  std::int64_t stride() const { return stride_; }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(float* pointer) const { ::operator delete[](pointer, kLine); }
  };
  std::int64_t stride_;
  std::unique_ptr<float[], Free> data_;
};

using Random = data::RandomStream;  // one for each piece of work, so that the numbers do not depend on which thread does it

/// Draws words by weight with two random words (Walker's alias method, as Vose builds it).
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights) : slots_(weights.size()) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    std::vector<double> share;
    std::vector<std::uint32_t> small, large;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      share.push_back(weights[i] / sum * static_cast<double>(weights.size()));
      (share[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
    }
    for (auto& slot : slots_) slot = {1.0f, 0};
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].other = static_cast<std::uint32_t>(i);
    while (!small.empty() && !large.empty()) {
      const std::uint32_t less = small.back(), more = large.back();
      small.pop_back();
      slots_[less] = {static_cast<float>(share[less]), more};
      share[more] -= 1 - share[less];
      if (share[more] < 1) {
        large.pop_back();
        small.push_back(more);
      }
    }
  }
  std::int32_t draw(Random& random) const {
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(slots_.size()));
    const Slot slot = slots_[at];
    return static_cast<std::int32_t>(random.uniform() < slot.share ? at : slot.other);
  }

 private:
  struct Slot {
    float share;  // share of draws that stay
    std::uint32_t other;
  };
  std::vector<Slot> slots_;
};

/// The way from the root to each word: inner nodes, and whether it turns left there (1) or right.
struct HuffmanPaths {
  std::vector<std::int32_t> begins, nodes;
  std::vector<float> labels;

  explicit HuffmanPaths(const std::vector<std::int64_t>& counts) {
    const auto words = static_cast<std::int32_t>(counts.size());
    using Entry = std::pair<std::int64_t, std::int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::int32_t i = 0; i < words; ++i) queue.emplace(counts[static_cast<std::size_t>(i)], i);
    std::vector<std::int32_t> parent(static_cast<std::size_t>(std::max(2 * words - 1, 1)), -1);
    std::vector<float> label(parent.size());
    for (std::int32_t node = words; node < 2 * words - 1; ++node) {
      const Entry one = queue.top();
      queue.pop();
      const Entry two = queue.top();
      queue.pop();
      parent[static_cast<std::size_t>(one.second)] = parent[static_cast<std::size_t>(two.second)] = node;
      label[static_cast<std::size_t>(one.second)] = 1;
      queue.emplace(one.first + two.first, node);
    }
    for (std::int32_t word = 0; word < words; ++word) {
      begins.push_back(static_cast<std::int32_t>(nodes.size()));
      for (std::int32_t at = word; parent[static_cast<std::size_t>(at)] >= 0; at = parent[static_cast<std::size_t>(at)]) {
        nodes.push_back(parent[static_cast<std::size_t>(at)] - words);
        labels.push_back(label[static_cast<std::size_t>(at)]);
      }
    }
    begins.push_back(static_cast<std::int32_t>(nodes.size()));
  }
};

/// Sigmoid and its -log by table: beyond ±8 they are those at ±8.
class Sigmoid {
 public:
  Sigmoid() {
    for (int i = 0; i < kSize; ++i) {
      const double x = (i + 0.5) / kSize * 2 * kRange - kRange;
      value_[static_cast<std::size_t>(i)] = static_cast<float>(1 / (1 + std::exp(-x)));
      loss_[static_cast<std::size_t>(i)] = static_cast<float>(std::log1p(std::exp(-x)));
    }
  }
  static std::size_t place(float x) {
    return static_cast<std::size_t>((std::clamp(x, -kRange + 1e-3f, kRange - 1e-3f) + kRange) * (kSize / (2 * kRange)));
  }
  float value(std::size_t place) const { return value_[place]; }
  float loss(std::size_t place) const { return loss_[place]; }  // -log sigmoid

 private:
  static constexpr int kSize = 4096;
  static constexpr float kRange = 8;
  std::array<float, kSize> value_, loss_;
};

constexpr std::int64_t kChunk = 20'000;  // words of a piece of work

class Training {
 public:
  Training(const Corpus& corpus, const Word2VecOptions& options)
      : corpus_(corpus),
        options_(options),
        rows_(row_functions()),
        inputs_(corpus.vocabulary.size(), options.size),
        outputs_(corpus.vocabulary.size(), options.size) {
    if (options.objective == Objective::NegativeSampling) {
      std::vector<double> weights;
      for (const auto count : corpus.counts) weights.push_back(std::pow(static_cast<double>(count), options.power));
      negatives_ = std::make_unique<AliasTable>(weights);
    } else {
      paths_ = std::make_unique<HuffmanPaths>(corpus.counts);
    }
    Random random(options.seed, ~0ull);
    for (Id word = 0; word < corpus.vocabulary.size(); ++word) {
      for (std::int64_t i = 0; i < options.size; ++i) inputs_.row(word)[i] = (random.uniform() - 0.5f) / static_cast<float>(options.size);
    }
    double total = 0;
    for (const auto count : corpus.counts) total += static_cast<double>(count);
    for (const auto count : corpus.counts) {  // as the program word2vec has it, which is not quite the paper's equation 5
      const double share = static_cast<double>(count) / total, limit = options.subsample;
      kept_.push_back(limit > 0 ? static_cast<float>(std::min(1.0, (std::sqrt(share / limit) + 1) * limit / share)) : 1.0f);
    }
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < corpus.sentences(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (corpus.begins[at + 1] - corpus.begins[static_cast<std::size_t>(begin)] >= kChunk || i + 1 == corpus.sentences()) {
        chunks_.emplace_back(begin, i + 1);
        begin = i + 1;
      }
    }
  }

  WordVectors run(const std::function<void(const Word2VecProgress&)>& report) {
    const int threads = options_.threads > 0 ? options_.threads : num_threads();
    if (threads == 1 && !report) {
      work();
    } else {
      std::vector<std::thread> all;
      for (int i = 0; i < threads; ++i) all.emplace_back([this] { work_and_keep_failure(); });
      watch(threads, report);
      for (std::thread& one : all) one.join();
      if (error_) std::rethrow_exception(error_);
    }
    HostArray vectors = HostArray::empty(f32, {corpus_.vocabulary.size(), options_.size});
    for (Id word = 0; word < corpus_.vocabulary.size(); ++word)
      std::memcpy(vectors.values<float>().data() + word * options_.size, inputs_.row(word),
                  static_cast<std::size_t>(options_.size) * sizeof(float));
    return {corpus_.vocabulary, std::move(vectors)};
  }

 private:
  /// A thread's working memory.
  struct Scratch {
    std::vector<std::int32_t> sentence, targets;
    std::vector<float*> rows;
    std::vector<float> labels, dots, factors, change, mean;
    double loss = 0;
    std::int64_t asked = 0;
  };

  std::int64_t total_words() const { return static_cast<std::int64_t>(corpus_.words.size()) * options_.epochs; }

  void watch(int threads, const std::function<void(const Word2VecProgress&)>& report) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool done = finished_.wait_for(lock, std::chrono::milliseconds(500), [&] { return ended_ == threads; });
      if (error_) {
        finished_.wait(lock, [&] { return ended_ == threads; });
        return;
      }
      if (report) {
        const std::int64_t words = words_done_.load();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const double share = static_cast<double>(words) / static_cast<double>(total_words());
        Word2VecProgress progress{
            .epoch = std::min(options_.epochs, static_cast<std::int64_t>(share * static_cast<double>(options_.epochs)) + 1),
            .epochs = options_.epochs,
            .share = share,
            .loss = asked_ ? loss_ / static_cast<double>(asked_) : 0,
            .words_per_second = static_cast<double>(words) / std::max(seconds, 1e-9),
            .lr = rate(words)};
        loss_ = 0;
        asked_ = 0;
        lock.unlock();
        try {
          report(progress);
        } catch (...) {
          lock.lock();
          error_ = std::current_exception();
          stop_ = true;
          finished_.wait(lock, [&] { return ended_ == threads; });
          return;
        }
        lock.lock();
      }
      if (done) return;
    }
  }

  void work_and_keep_failure() noexcept {
    std::exception_ptr error;
    try {
      work();
    } catch (...) { error = std::current_exception(); }
    const std::lock_guard lock(mutex_);
    if (error) error_ = error;
    ++ended_;
    finished_.notify_all();
  }

  double rate(std::int64_t words) const {
    const double share = static_cast<double>(words) / static_cast<double>(std::max<std::int64_t>(total_words(), 1));
    return std::max(options_.lr_end, options_.lr + (options_.lr_end - options_.lr) * share);
  }

  void work() {
    Scratch scratch;
    scratch.change.resize(static_cast<std::size_t>(inputs_.stride()));
    scratch.mean.resize(static_cast<std::size_t>(inputs_.stride()));
    const auto count = static_cast<std::int64_t>(chunks_.size());
    while (!stop_) {
      const std::int64_t next = next_chunk_.fetch_add(1);
      if (next >= count * options_.epochs) break;
      const auto [begin, end] = chunks_[static_cast<std::size_t>(next % count)];
      Random random(options_.seed, static_cast<std::uint64_t>(next));
      const auto lr = static_cast<float>(rate(words_done_.load(std::memory_order_relaxed)));
      for (std::int64_t i = begin; i < end; ++i) train_sentence(corpus_.sentence(i), lr, random, scratch);
      words_done_ += corpus_.begins[static_cast<std::size_t>(end)] - corpus_.begins[static_cast<std::size_t>(begin)];
      const std::lock_guard lock(mutex_);
      loss_ += std::exchange(scratch.loss, 0);
      asked_ += std::exchange(scratch.asked, 0);
    }
  }

  void train_sentence(std::span<const std::int32_t> words, float lr, Random& random, Scratch& s) {
    s.sentence.clear();
    for (const std::int32_t word : words) {
      const float kept = kept_[static_cast<std::size_t>(word)];
      if (kept >= 1 || random.uniform() < kept) s.sentence.push_back(word);
    }
    const auto length = static_cast<std::int64_t>(s.sentence.size());
    for (std::int64_t at = 0; at < length; ++at) {
      const std::int64_t window = 1 + random.below(static_cast<std::uint32_t>(options_.window));
      const std::int64_t first = std::max<std::int64_t>(0, at - window), last = std::min(length, at + window + 1);
      if (last - first < 2) continue;
      const std::int32_t target = s.sentence[static_cast<std::size_t>(at)];
      if (options_.architecture == Architecture::SkipGram) skip_gram(target, first, at, last, lr, random, s);
      else cbow(target, first, at, last, lr, random, s);
    }
  }

  /// Each word around predicts the one in the middle.
  void skip_gram(std::int32_t target, std::int64_t first, std::int64_t at, std::int64_t last, float lr, Random& random, Scratch& s) {
    s.targets.clear();
    const std::size_t each = draw_targets(target, last - first - 1, random, s);
    std::size_t k = 0;
    for (std::int64_t other = first; other < last; ++other) {
      if (other == at) continue;
      float* input = inputs_.row(s.sentence[static_cast<std::size_t>(other)]);
      std::fill(s.change.begin(), s.change.end(), 0.0f);
      ask(input, k, each, lr, s);
      rows_.add(input, s.change.data(), 1, inputs_.stride());
      if (options_.objective == Objective::NegativeSampling) k += each;
    }
  }

  /// The mean of the words around predicts the one in the middle.
  void cbow(std::int32_t target, std::int64_t first, std::int64_t at, std::int64_t last, float lr, Random& random, Scratch& s) {
    s.targets.clear();
    const std::size_t each = draw_targets(target, 1, random, s);
    std::fill(s.mean.begin(), s.mean.end(), 0.0f);
    std::fill(s.change.begin(), s.change.end(), 0.0f);
    const float part = 1.0f / static_cast<float>(last - first - 1);
    for (std::int64_t other = first; other < last; ++other) {
      if (other != at) rows_.add(s.mean.data(), inputs_.row(s.sentence[static_cast<std::size_t>(other)]), part, inputs_.stride());
    }
    ask(s.mean.data(), 0, each, lr, s);
    for (std::int64_t other = first; other < last; ++other) {  // the whole change for each, as in the program word2vec
      if (other != at) rows_.add(inputs_.row(s.sentence[static_cast<std::size_t>(other)]), s.change.data(), 1, inputs_.stride());
    }
  }

  /// The rows to be asked for each of `times` inputs, and what they should say; fetched into the cache before they are needed. Returns how many
  /// there are for each input. The path of hierarchical softmax is the same for all.
  std::size_t draw_targets(std::int32_t target, std::int64_t times, Random& random, Scratch& s) {
    s.rows.clear();
    s.labels.clear();
    if (paths_) {
      const auto begin = static_cast<std::size_t>(paths_->begins[static_cast<std::size_t>(target)]);
      const auto end = static_cast<std::size_t>(paths_->begins[static_cast<std::size_t>(target) + 1]);
      for (std::size_t i = begin; i < end; ++i) s.rows.push_back(outputs_.row(paths_->nodes[i]));
      s.labels.assign(paths_->labels.begin() + static_cast<std::ptrdiff_t>(begin),
                      paths_->labels.begin() + static_cast<std::ptrdiff_t>(end));
      return end - begin;
    }
    for (std::int64_t i = 0; i < times; ++i) {
      s.rows.push_back(outputs_.row(target));
      s.labels.push_back(1);
      for (std::int64_t k = 0; k < options_.negatives; ++k) {
        const std::int32_t word = negatives_->draw(random);
        s.rows.push_back(outputs_.row(word));
        s.labels.push_back(word == target ? kNotAsked : 0.0f);
        for (std::int64_t line = 0; line < outputs_.stride(); line += kRowStep) __builtin_prefetch(s.rows.back() + line, 1, 2);
      }
    }
    return static_cast<std::size_t>(1 + options_.negatives);
  }

  static constexpr float kNotAsked = -1;  // the target itself, drawn as a negative

  /// One step of logistic regression for `count` rows from k on; collects the input's change.
  void ask(const float* input, std::size_t k, std::size_t count, float lr, Scratch& s) {
    s.dots.resize(count);
    s.factors.resize(count);
    const std::int64_t stride = inputs_.stride();
    rows_.dots(input, s.rows.data() + k, static_cast<std::int64_t>(count), stride, s.dots.data());
    for (std::size_t i = 0; i < count; ++i) {
      const float label = s.labels[k + i];
      const std::size_t place = Sigmoid::place(s.dots[i]);
      s.factors[i] = label == kNotAsked ? 0 : lr * (label - sigmoid_.value(place));
      if (label != kNotAsked) s.loss += label > 0 ? sigmoid_.loss(place) : sigmoid_.loss(Sigmoid::place(-s.dots[i]));
    }
    rows_.exchange(input, s.rows.data() + k, s.factors.data(), static_cast<std::int64_t>(count), stride, s.change.data());
    ++s.asked;
  }

  const Corpus& corpus_;
  const Word2VecOptions& options_;
  const RowFunctions& rows_;
  Table inputs_, outputs_;  // (words, size); inner nodes in place of words for hierarchical softmax
  std::unique_ptr<AliasTable> negatives_;
  std::unique_ptr<HuffmanPaths> paths_;
  std::vector<float> kept_;  // probability with which a word is kept
  std::vector<std::pair<std::int64_t, std::int64_t>> chunks_;  // ranges of sentences
  Sigmoid sigmoid_;
  std::atomic<std::int64_t> next_chunk_ = 0, words_done_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::exception_ptr error_;
  int ended_ = 0;
  double loss_ = 0;
  std::int64_t asked_ = 0;
};

void require(bool right, const std::string& got, const std::string& expected) {
  if (!right) throw Error({.op = "train_word2vec", .got = got, .expected = expected});
}

}  // namespace

WordVectors train_word2vec(const Corpus& corpus, const Word2VecOptions& options,
                           const std::function<void(const Word2VecProgress&)>& report) {
  require(corpus.vocabulary.size() > 1 && !corpus.words.empty(),
          "a corpus of " + std::to_string(corpus.vocabulary.size()) + " different words", "two or more");
  require(options.size >= 1 && options.size <= 65536, "vectors of " + std::to_string(options.size), "1 to 65536 numbers");
  require(options.window >= 1 && options.window <= 1000, "a window of " + std::to_string(options.window), "1 to 1000 words");
  require((options.negatives >= 1 && options.negatives <= 1000) || options.objective == Objective::HierarchicalSoftmax,
          std::to_string(options.negatives) + " negatives", "1 to 1000");
  require(options.epochs >= 1 && options.epochs <= 1'000'000, std::to_string(options.epochs) + " epochs", "1 to 1000000");
  require(options.lr > 0 && std::isfinite(options.lr) && options.lr_end >= 0 && options.lr_end <= options.lr,
          "a rate from " + number_text(options.lr) + " to " + number_text(options.lr_end), "a positive one that falls");
  require(options.subsample >= 0 && options.power >= 0 && std::isfinite(options.power), "subsample or power below 0", "0 or more");
  require(options.threads >= 0 && options.threads <= 1024, std::to_string(options.threads) + " threads",
          "0 (as set_num_threads says) to 1024");
  return Training(corpus, options).run(report);
}

}  // namespace tegula::text
