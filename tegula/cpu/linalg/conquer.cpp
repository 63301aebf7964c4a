#include "tegula/cpu/linalg/conquer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "tegula/cpu/linalg/reflector.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using Places = std::vector<std::int64_t>;

/// D + ρ z zᵀ, z of length 1, whose vectors are rows of memory. A row of the first half, of the second, or of both says where its numbers are.
enum class Half : std::uint8_t { First, Both, Second };

template <class T>
class Merge {
 public:
  Merge(std::int64_t n, std::int64_t half, T* d, T* vectors)
      : n_(n),
        half_(half),
        d_(d),
        vectors_(vectors),
        z_(size(n)),
        halves_(size(n)) {}

  std::int32_t run(const Products<T>& products, const LapackFunctions<T>& library, T rho, T* work) {
    for (std::int64_t i = 0; i < n_; ++i) {
      halves_[size(i)] = i < half_ ? Half::First : Half::Second;
      z_[size(i)] = (i < half_ ? vectors_[i * n_ + half_ - 1] : std::copysign(T(1), rho) * vectors_[i * n_ + half_]) / std::sqrt(T(2));
    }
    deflate(2 * std::abs(rho));
    // Vectors of one half lie side by side, so that no product meets the zeros of the other.
    std::ranges::stable_sort(kept_, {}, [&](std::int64_t i) { return halves_[size(i)]; });
    const std::int64_t count = static_cast<std::int64_t>(kept_.size());
    T *const coefficients = work, *const rows = coefficients + n_ * n_, *const results = rows + n_ * n_;
    std::vector<T> values(size(n_));
    std::int32_t state = count > 0 ? roots(products, library, 2 * std::abs(rho), coefficients, values.data(), rows) : 0;
    for (std::int64_t i = 0; i < count; ++i) std::copy_n(vectors_ + kept_[size(i)] * n_, n_, rows + i * n_);
    const auto begin = [&](Half half) {
      return std::ranges::lower_bound(kept_, half, {}, [&](std::int64_t i) { return halves_[size(i)]; }) - kept_.begin();
    };
    const std::int64_t first = begin(Half::Second), second = begin(Half::Both);
    const Strided<const T> s{coefficients, count, 1}, q{rows, n_, 1};
    const Strided<T> out{results, n_, 1};
    products.assign(count, half_, first, s, q, out);
    products.assign(count, n_ - half_, count - second, s.from(0, second), q.from(second, half_), out.from(0, half_));
    for (std::size_t i = 0; i < deflated_.size(); ++i) {
      const std::int64_t to = count + static_cast<std::int64_t>(i);
      values[size(to)] = d_[deflated_[i]];
      std::copy_n(vectors_ + deflated_[i] * n_, n_, results + to * n_);
    }
    Places order(size(n_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return values[size(i)]; });
    for (std::int64_t i = 0; i < n_; ++i) {
      d_[i] = values[size(order[size(i)])];
      std::copy_n(results + order[size(i)] * n_, n_, vectors_ + i * n_);
    }
    return state;
  }

 private:
  static std::size_t size(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// Values that ρ z zᵀ does not move by more than a rounding are results already; of two that are as close, a rotation makes one of them so.
  void deflate(T rho) {
    Places order(size(n_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return d_[i]; });
    T most = 0;
    for (std::int64_t i = 0; i < n_; ++i) most = std::max({most, std::abs(d_[i]), std::abs(z_[size(i)])});
    const T small = 8 * std::numeric_limits<T>::epsilon() * most;
    std::int64_t before = -1;
    for (const std::int64_t i : order) {
      if (rho * std::abs(z_[size(i)]) <= small) {
        deflated_.push_back(i);
        continue;
      }
      if (before >= 0) {
        const T length = std::hypot(z_[size(i)], z_[size(before)]), c = z_[size(i)] / length, s = z_[size(before)] / length;
        if (std::abs((d_[i] - d_[before]) * c * s) <= small) {
          z_[size(i)] = length;
          rotate(vectors_ + before * n_, vectors_ + i * n_, n_, c, s);
          const T one = d_[before], other = d_[i];
          d_[before] = one * c * c + other * s * s, d_[i] = one * s * s + other * c * c;
          if (halves_[size(i)] != halves_[size(before)]) halves_[size(i)] = Half::Both;
          deflated_.push_back(before);
        } else {
          kept_.push_back(before);
        }
      }
      before = i;
    }
    if (before >= 0) kept_.push_back(before);
  }

  /// The roots of 1 + ρ Σ z²/(d - λ), and rows of coefficients (count, count) in the order of kept_. `apart` has room for as many.
  std::int32_t roots(const Products<T>& products, const LapackFunctions<T>& library, T rho, T* coefficients, T* values, T* apart) {
    const int count = static_cast<int>(kept_.size());
    const std::int64_t n = count;
    Places ascending(size(n));  // places in kept_
    std::iota(ascending.begin(), ascending.end(), 0);
    std::ranges::stable_sort(ascending, {}, [&](std::int64_t i) { return d_[kept_[size(i)]]; });
    std::vector<T> d(size(n)), z(size(n)), corrected(size(n));
    for (std::int64_t i = 0; i < n; ++i) d[size(i)] = d_[kept_[size(ascending[size(i)])]], z[size(i)] = z_[kept_[size(ascending[size(i)])]];
    constexpr int kMostParts = 64;
    std::array<int, kMostParts> states{};
    const int threads = n < 64 ? 1 : std::min(products.threads(), kMostParts);
    parallel(threads, [&](int part, int parts) {
      const Range mine = share(n, part, parts);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) {
        const int root = static_cast<int>(i) + 1;
        int state = 0;
        library.laed4(&count, &root, d.data(), z.data(), apart + i * n, &rho, values + i, &state);
        if (state != 0) states[static_cast<std::size_t>(part)] = state;
      }
    });
    if (n > 2) {  // of two or fewer `apart` is the vectors
      parallel(threads, [&](int part, int parts) {
        const Range mine = share(n, part, parts);
        for (std::int64_t j = mine.begin; j < mine.end; ++j) corrected[size(j)] = apart[j * n + j];
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = mine.begin; j < mine.end; ++j)
            if (i != j) corrected[size(j)] *= apart[i * n + j] / (d[size(j)] - d[size(i)]);
        for (std::int64_t j = mine.begin; j < mine.end; ++j)
          corrected[size(j)] = std::copysign(std::sqrt(std::max(-corrected[size(j)], T(0))), z[size(j)]);
      });
    }
    parallel(threads, [&](int part, int parts) {
      const Range mine = share(n, part, parts);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) {
        T* const row = apart + i * n;
        T sum = 0;
        for (std::int64_t j = 0; j < n && n > 2; ++j) row[j] = corrected[size(j)] / row[j];
        for (std::int64_t j = 0; j < n; ++j) sum += row[j] * row[j];
        const T length = std::sqrt(sum);
        for (std::int64_t j = 0; j < n; ++j) coefficients[i * n + ascending[size(j)]] = row[j] / length;
      }
    });
    return std::abs(*std::ranges::max_element(states, {}, [](int state) { return std::abs(state); }));
  }

  std::int64_t n_, half_;
  T *d_, *vectors_;
  std::vector<T> z_;
  std::vector<Half> halves_;
  Places kept_, deflated_;
};

}  // namespace

template <class T>
std::int32_t conquer_three_diagonals(const Products<T>& products, const LapackFunctions<T>& library, std::int64_t n, T* d, T* e, T* vectors,
                                     T* work) {
  const std::int64_t half = n / 2;
  const T rho = e[half - 1];
  d[half - 1] -= std::abs(rho), d[half] -= std::abs(rho);
  std::fill_n(vectors, n * n, T(0));
  std::array<int, 2> states{};
  parallel(std::min(products.threads(), 2), [&](int part, int parts) {
    const Range mine = share(2, part, parts);
    for (std::int64_t one = mine.begin; one < mine.end; ++one) {
      const std::int64_t first = one == 0 ? 0 : half;
      const int order = static_cast<int>(one == 0 ? half : n - half), stride = static_cast<int>(n), size = 1 + 4 * order + order * order,
                integer_size = 3 + 5 * order;
      std::vector<int> integers(static_cast<std::size_t>(integer_size));
      library.stedc("I", &order, d + first, e + first, vectors + first * n + first, &stride, work + one * n * n, &size, integers.data(),
                    &integer_size, &states[static_cast<std::size_t>(one)], 1);
    }
  });
  for (const int state : states)
    if (state != 0) return std::abs(state);
  return Merge<T>(n, half, d, vectors).run(products, library, rho, work);
}

#define TEGULA_CONQUER(T) \
  template std::int32_t conquer_three_diagonals(const Products<T>&, const LapackFunctions<T>&, std::int64_t, T*, T*, T*, T*);
TEGULA_CONQUER(float)
TEGULA_CONQUER(double)
#undef TEGULA_CONQUER

}  // namespace tegula::host
