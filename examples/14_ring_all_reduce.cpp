// Lesson 14: the ring all-reduce, step by step.
//
// Four ranks have a gradient each, and all of them want the sum. If each sent all of its numbers to rank 0, that one would receive 3·N bytes and send 3·N
// back: the more ranks, the slower. In a ring each rank talks to its neighbours alone (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009):
// the gradient is cut into as many parts as there are ranks, and
//   n - 1 steps reduce:  each rank sends one part on, and adds what arrives to its own; then it has one part of the sum, complete;
//   n - 1 steps gather:  the complete parts go round.
// Each rank sends 2 (n - 1) / n · N bytes, nearly the same for 2 ranks and for 1000.

#include <tegula/tegula.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/transport/sockets.h"

using namespace tegula;

namespace {

constexpr int kRanks = 4;
constexpr std::int64_t kNumbers = 8;

std::vector<float> gradient_of(int rank) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < kNumbers; ++i) numbers.push_back(static_cast<float>(10 * rank + i));
  return numbers;
}

/// The traffic that one rank sends.
struct Traffic {
  std::int64_t messages = 0, bytes = 0;
};

/// The ring by hand: parts[r][p] is part p as rank r has it.
using Parts = std::vector<std::vector<std::vector<float>>>;

void print(const char* when, const Parts& parts) {
  std::printf("%s\n", when);
  for (int r = 0; r < kRanks; ++r) {
    std::printf("  rank %d:", r);
    for (const auto& part : parts[static_cast<std::size_t>(r)]) std::printf("  [%3g %3g]", part[0], part[1]);
    std::printf("\n");
  }
}

Traffic ring_by_hand(Parts& parts) {
  Traffic traffic;
  const auto part = [&](int rank, int number) -> std::vector<float>& {
    return parts[static_cast<std::size_t>(rank)][static_cast<std::size_t>((number % kRanks + kRanks) % kRanks)];
  };
  // Reduce: in step s rank r sends part r - s - 1, and adds to part r - s - 2 what its left neighbour sends.
  for (int step = 0; step < kRanks - 1; ++step) {
    const Parts sent = parts;  // all at once
    for (int r = 0; r < kRanks; ++r) {
      const int left = (r + kRanks - 1) % kRanks, number = ((r - step - 2) % kRanks + kRanks) % kRanks;
      const auto& arrives = sent[static_cast<std::size_t>(left)][static_cast<std::size_t>(number)];
      for (std::size_t i = 0; i < arrives.size(); ++i) part(r, number)[i] += arrives[i];
    }
    traffic.messages += 1, traffic.bytes += static_cast<std::int64_t>(part(0, 0).size() * sizeof(float));
    print(step == 0 ? "one part has moved on by one rank:" : "and again:", parts);
  }
  // Rank r has part r of the sum. Gather: it goes round.
  for (int step = 0; step < kRanks - 1; ++step) {
    const Parts sent = parts;
    for (int r = 0; r < kRanks; ++r) {
      const int left = (r + kRanks - 1) % kRanks;
      part(r, r - step - 1) = sent[static_cast<std::size_t>(left)][static_cast<std::size_t>(((r - step - 1) % kRanks + kRanks) % kRanks)];
    }
    traffic.messages += 1, traffic.bytes += static_cast<std::int64_t>(part(0, 0).size() * sizeof(float));
  }
  print("after the parts of the sum went round:", parts);
  return traffic;
}

/// Counts what passes through it: the cost formula is about these.
class Counting final : public dist::Transport {
 public:
  explicit Counting(std::unique_ptr<dist::Transport> below) : below_(std::move(below)) {}
  int rank() const override { return below_->rank(); }
  int size() const override { return below_->size(); }
  std::string name() const override { return below_->name(); }
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in, const dist::Doing& doing) override {
    if (!out.empty()) traffic.messages += 1, traffic.bytes += static_cast<std::int64_t>(out.size());
    below_->exchange(to, out, from, in, doing);
  }
  void tell(int to, std::string bytes) override { below_->tell(to, std::move(bytes)); }
  std::vector<dist::Note> notes() override { return below_->notes(); }
  std::vector<int> listen(const dist::Doing& doing) override { return below_->listen(doing); }
  double timeout() const override { return below_->timeout(); }
  void stop(const std::string& sentence) noexcept override { below_->stop(sentence); }
  void finish() noexcept override { below_->finish(); }

  Traffic traffic;

 private:
  std::unique_ptr<dist::Transport> below_;
};

/// The traffic of one rank in an all-reduce of this many numbers, and the sum.
Traffic measured(std::int64_t numbers, std::vector<float>* sum) {
  auto below = dist::local_transports(kRanks);
  std::vector<std::shared_ptr<Counting>> transports;
  for (auto& transport : below) transports.push_back(std::make_shared<Counting>(std::move(transport)));
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {  // a rank is mostly a process (tegula launch); here it is a thread
      const dist::WorldScope scope(dist::group_over(transports[static_cast<std::size_t>(r)]));
      const Tensor gradient = sum ? tensor(gradient_of(r), {numbers}) : ones({numbers});
      const std::vector<float> all = dist::all_reduce(gradient).to_host();
      if (r == 0 && sum) *sum = all;
    });
  }
  for (auto& thread : threads) thread.join();
  return transports[0]->traffic;
}

}  // namespace

int main() {
  Parts parts(kRanks);
  std::vector<float> expected(kNumbers);
  for (int r = 0; r < kRanks; ++r) {
    const std::vector<float> numbers = gradient_of(r);
    for (int p = 0; p < kRanks; ++p) parts[static_cast<std::size_t>(r)].push_back({numbers.begin() + 2 * p, numbers.begin() + 2 * p + 2});
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += numbers[i];
  }
  print("four ranks, four parts each:", parts);
  const Traffic by_hand = ring_by_hand(parts);
  for (const auto& rank : parts) {
    for (std::size_t i = 0; i < expected.size(); ++i) assert(rank[i / 2][i % 2] == expected[i]);
  }

  // The library's does the same.
  std::vector<float> total;
  const Traffic library = measured(kNumbers, &total);
  assert(total == expected);

  // The cost: 2 (n - 1) messages, 2 (n - 1) / n · N bytes. One message ahead of them announces the exchange, and, once for a group, n - 1 messages go round by which
  // the ranks learn which of them share a host (with several hosts the rings have two levels).
  const Traffic nothing = measured(0, nullptr);
  assert(nothing.messages == 1 + (kRanks - 1));
  assert(by_hand.messages == 2 * (kRanks - 1));
  assert(by_hand.bytes == 2 * (kRanks - 1) * kNumbers * 4 / kRanks);
  assert(library.messages - nothing.messages == by_hand.messages);
  assert(library.bytes - nothing.bytes == by_hand.bytes);
  const std::int64_t many = 1'000'000;
  const Traffic large = measured(many, nullptr);
  assert(large.bytes - nothing.bytes == 2 * (kRanks - 1) * many * 4 / kRanks);
  std::printf("a million numbers: rank 0 sent %.2f times their bytes, in %lld messages\n",
              static_cast<double>(large.bytes - nothing.bytes) / (4.0 * many), static_cast<long long>(large.messages - nothing.messages));

  // With α seconds a message and β seconds a byte that is T = 2 (n - 1) α + 2 (n - 1) / n · N β. Against all to rank 0 and back, whose time grows with n:
  const auto ring = [](double n, double bytes) { return 2 * (n - 1) * 5e-6 + 2 * (n - 1) / n * bytes / 10e9; };
  const auto star = [](double n, double bytes) { return 2 * (n - 1) * 5e-6 + 2 * (n - 1) * bytes / 10e9; };
  std::printf("100 MB at 5 us and 10 GB/s (a formula, nothing measured):\n");
  for (const double n : {2.0, 8.0, 64.0, 1024.0})
    std::printf("  %5g ranks: ring %7.1f ms, all to one %9.1f ms\n", n, 1e3 * ring(n, 1e8), 1e3 * star(n, 1e8));
  assert(std::abs(ring(64, 1e8) / ring(8, 1e8) - 1) < 0.2);
  assert(star(64, 1e8) > 8 * star(8, 1e8));

  // A collective is an op with a gradient: each rank's gradient includes its effect on the losses of all ranks.
  auto below = dist::local_transports(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const dist::WorldScope scope(dist::group_over(std::move(below[static_cast<std::size_t>(r)])));
      const Tensor x = tensor({1.f + r, 2.f});
      const Tensor loss = sum(dist::all_reduce(x) * dist::all_reduce(x));
      const auto dx = grad(loss, x).to_host();  // Σ over both losses of 2 · (the sum)
      assert(dx[0] == 2 * 2 * 3 && dx[1] == 2 * 2 * 4);
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("tegula launch -n 2 tegula train mnist-cnn does this at every step: docs/devices.md\n");
}
