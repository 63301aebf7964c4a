#include "tegula/cpu/calls/attention.h"

#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tegula/cpu/calls/attention_blocks.h"
#include "tegula/runtime/checks.h"

namespace tegula::host {
namespace {
Rows rows_of(const Layout& x, const void* data) { return {data, x.strides[0], x.strides[1], x.strides[2], x.shape[3]}; }
/// (B, M, H, E).
Rows by_place(const Layout& x, const void* data) { return {data, x.strides[0], x.strides[2], x.strides[1], x.shape[3]}; }

void check(const runtime::Attention& d) {
  const auto refuse = [](std::string got, std::string expected) {
    throw Error({.op = "attention", .got = std::move(got), .expected = std::move(expected)});
  };
  const bool one = runtime::have_one_dtype({&d.q, &d.k, &d.v}) && (!d.backward || runtime::have_one_dtype({&d.q, &d.o, &d.o_gradient})) &&
                   (!d.bias || runtime::have_one_dtype({&d.q, &*d.bias})) && (!d.mask || d.mask->dtype == boolean);
  if (!one) refuse("operands of several dtypes", "one dtype, and a mask of booleans");
  if (!is_float(d.dtype())) refuse("dtype " + std::string(name(d.dtype())), "a float type");
  const Shape &q = d.q.layout.shape, &k = d.k.layout.shape, &v = d.v.layout.shape;
  const bool fits = q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[2] == v[2] &&
                    q[3] == k[3] && (k[1] == 0 ? q[1] == 0 : q[1] % k[1] == 0);
  if (!fits) refuse("shapes " + to_string(q) + ", " + to_string(k) + " and " + to_string(v), "(B, H, M, D), (B, G, N, D) and (B, G, N, E)");
}

class AttentionCall final : public runtime::Call {
 public:
  explicit AttentionCall(const runtime::Attention& d)
      : d_(d),
        most_threads_(library_threads()),
        per_thread_(d.backward ? backward_scratch_bytes(d) : forward_scratch_bytes(d)) {
    check(d);
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(most_threads_) * per_thread_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const int threads = std::clamp(options.threads, 1, most_threads_);
    if (d_.dtype() == f64) run_as<double>(buffers, options.scratch, threads);
    else run_as<float>(buffers, options.scratch, threads);
  }

  std::string describe() const override {
    return std::string(d_.causal ? "causal " : "") + std::string(name(d_.dtype())) + " q " + to_string(d_.q.layout.shape) + " k " +
           to_string(d_.k.layout.shape) + " in blocks of " + std::to_string(kQueries) + "x" + std::to_string(kKeys);
  }

 private:
  template <class T>
  void run_as(std::span<void* const> buffers, void* scratch, int threads) const {
    const AttentionRun<T> run(d_, buffers);
    const auto of_thread = [&](int part) { return static_cast<std::byte*>(scratch) + static_cast<std::size_t>(part) * per_thread_; };
    if (!d_.backward) {
      parallel(threads, [&](int part, int parts) { attend_forward(run, part, parts, of_thread(part)); });
      return;
    }
    const auto gradients = [&](Gradients wanted) {
      parallel(threads, [&](int part, int parts) { attend_backward(run, wanted, part, parts, of_thread(part)); });
    };
    if (run.samples * run.groups >= threads) return gradients(Gradients::Both);
    gradients(Gradients::Keys);
    gradients(Gradients::Queries);
  }

  runtime::Attention d_;
  int most_threads_;
  std::size_t per_thread_;
};

}  // namespace

template <class T>
AttentionRun<T>::AttentionRun(const runtime::Attention& description, std::span<void* const> buffers)
    : d(description),
      samples(d.q.layout.shape[0]),
      heads(d.q.layout.shape[1]),
      groups(std::max<std::int64_t>(d.k.layout.shape[1], 1)),
      queries(d.q.layout.shape[2]),
      keys(d.k.layout.shape[2]),
      width(d.q.layout.shape[3]),
      features(d.v.layout.shape[3]),
      q(rows_of(d.q.layout, buffers[0])),
      k(rows_of(d.k.layout, buffers[1])),
      v(rows_of(d.v.layout, buffers[2])) {
  std::size_t next = 3;
  const auto whole_numbers = [&] { return static_cast<const std::int64_t*>(buffers[next++]); };
  if (d.mask) mask = static_cast<const bool*>(buffers[next++]);
  if (d.bias) bias = buffers[next++];
  if (d.lengths) lengths = whole_numbers();
  if (d.start) start = whole_numbers();
  if (d.dropout > 0) seed = whole_numbers(), position = whole_numbers();
  rest = buffers.subspan(next);
  if (d.backward) o = by_place(d.o.layout, rest[0]), o_gradient = by_place(d.o_gradient.layout, rest[2]);
}

template <class T>
const T* AttentionRun<T>::load(const Rows& x, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, T* copy,
                               std::int64_t& stride) const {
  const std::int64_t at = b * x.sample + h * x.head + first * x.row;
  if (is_wide()) {
    stride = x.row;
    return static_cast<const T*>(x.data) + at;
  }
  stride = x.features;
  if constexpr (std::is_same_v<T, float>) {
    const auto* const halves = static_cast<const std::uint16_t*>(x.data) + at;
    for (std::int64_t r = 0; r < count; ++r) widen(d.dtype(), halves + r * x.row, copy + r * x.features, x.features);
  }
  return copy;
}

template <class T>
Range AttentionRun<T>::seen(std::int64_t b, std::int64_t i, std::int64_t count) const {
  constexpr std::int64_t kFar = std::int64_t{1} << 61;  // from any key, and sums of two such do not overflow
  const std::int64_t place = (start ? std::clamp(start[b], -kFar, kFar) : 0) + i;  // position of the first query among the keys
  std::int64_t begin = 0, end = lengths ? std::clamp<std::int64_t>(lengths[b], 0, keys) : keys;
  if (d.causal) end = std::min(end, place + count);
  if (d.window > 0) begin = std::max(begin, place - d.window + 1), end = std::min(end, place + count - 1 + d.window);
  return {begin, std::max(begin, end)};
}

template <class T>
void AttentionRun<T>::add_bias_and_mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n, T* s) const {
  const auto at = [&](const Layout& x) { return b * x.strides[0] + h * x.strides[1] + i * x.strides[2] + j * x.strides[3]; };
  const T scale = static_cast<T>(d.scale);
  for (std::int64_t c = 0; c < n; ++c) s[c] *= scale;
  if (d.bias) {
    const std::int64_t step = d.bias->layout.strides[3], first = at(d.bias->layout);
    visit(d.dtype(), [&](auto zero) {
      using B = decltype(zero);
      const B* const from = static_cast<const B*>(bias) + first;
      for (std::int64_t c = 0; c < n; ++c) s[c] += static_cast<T>(as_double(from[c * step]));
    });
  }
  if (d.mask) {
    const std::int64_t step = d.mask->layout.strides[3];
    const bool* const from = mask + at(d.mask->layout);
    for (std::int64_t c = 0; c < n; ++c) s[c] = from[c * step] ? s[c] : -std::numeric_limits<T>::infinity();
  }
}

template <class T>
void AttentionRun<T>::drop(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n, T* factors) const {
  const auto key = static_cast<std::uint64_t>(*seed);
  const auto first = static_cast<std::uint64_t>(*position) + static_cast<std::uint64_t>(((b * heads + h) * queries + i) * keys + j);
  const auto keep = static_cast<float>(1 - d.dropout);
  const T factor = static_cast<T>(1 / (1 - d.dropout));
  std::uint64_t block = ~std::uint64_t{0};
  std::array<std::uint32_t, 4> words{};
  for (std::int64_t c = 0; c < n; ++c) {
    const std::uint64_t at = first + static_cast<std::uint64_t>(c);
    if (at / 4 != block) {
      block = at / 4;
      words = philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                         {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
    }
    factors[c] = static_cast<float>(words[at % 4] >> 8) * 0x1p-24f < keep ? factor : T(0);
  }
}

template struct AttentionRun<float>;
template struct AttentionRun<double>;

std::unique_ptr<runtime::Call> make_attention(const runtime::Attention& description) {
  return std::make_unique<AttentionCall>(description);
}

}  // namespace tegula::host
