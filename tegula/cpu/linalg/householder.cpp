// QR by Householder's reflectors in blocks.

#include <algorithm>
#include <cmath>

#include "tegula/cpu/linalg/blocks.h"
#include "tegula/cpu/linalg/reflector.h"

namespace tegula::host {
namespace {

constexpr std::int64_t kFewRows = 96;  // of a matrix to which reflectors are applied one by one

/// A block of reflectors, of rows of memory: V (count, length) and T (count, count).
template <class T>
struct Block {
  std::int64_t count = 0, length = 0;
  T* v = nullptr;
  T* t = nullptr;
  T* more = nullptr;  // for the products
};

/// V with its ones and zeros, and T, of the reflectors whose tails lie in rows of `a` from (0, shift) on.
template <class T>
Block<T> block_of(const Products<T>& products, Strided<const T> a, std::int64_t count, std::int64_t length, const T* factors, T* work) {
  Block<T> out{count, length, work, work + count * length, work + count * (length + count)};
  for (std::int64_t i = 0; i < count; ++i) {
    T* const v = out.v + i * length;
    std::fill_n(v, i, T(0));
    v[i] = 1;
    std::copy_n(&a(i, i + 1), length - i - 1, v + i + 1);
  }
  T* const gram = out.more;  // V Vᵀ
  const Strided<const T> v{out.v, length, 1};
  products.assign(count, count, length, v, v.transposed(), {gram, count, 1});
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      T sum = 0;
      for (std::int64_t p = j; p < i; ++p) sum += out.t[j * count + p] * gram[p * count + i];
      out.t[j * count + i] = -factors[i] * sum;
    }
    out.t[i * count + i] = factors[i];
    for (std::int64_t j = i + 1; j < count; ++j) out.t[j * count + i] = 0;
  }
  return out;
}

/// Rows of `c` (rows, length): each times I - Vᵀ T V or, transposed, I - Vᵀ Tᵀ V.
template <class T>
void apply(const Products<T>& products, const Block<T>& block, bool transposed, Strided<T> c, std::int64_t rows) {
  const Strided<const T> v{block.v, block.length, 1}, t{block.t, block.count, 1};
  T* const first = block.more;
  T* const second = first + rows * block.count;
  products.assign(rows, block.count, block.length, Strided<const T>(c), v.transposed(), {first, block.count, 1});
  products.assign(rows, block.count, block.count, {first, block.count, 1}, transposed ? t.transposed() : t, {second, block.count, 1});
  products.subtract(rows, block.length, block.count, {second, block.count, 1}, v, c);
}

}  // namespace

template <class T>
void factor_qr(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, T* factors, T* work) {
  const Strided<T> all{a, m, 1};
  const std::int64_t k = std::min(m, n), of_block = reflectors_of(m, n), of_panel = std::min(of_block, kReflectors);
  if (m <= kFewRows) {
    for (std::int64_t c = 0; c < k; ++c) {
      factors[c] = make_reflector(&all(c, c), m - c);
      reflect_lines(&all(c, c), factors[c], a + (c + 1) * m + c, m, n - c - 1, m - c);
    }
    return;
  }
  const auto apply_to = [&](std::int64_t first, std::int64_t last, std::int64_t end) {  // the columns from `last` to `end`
    if (last == end) return;
    const Block<T> block = block_of(products, Strided<const T>(all.from(first, first)), last - first, m - first, factors + first, work);
    apply(products, block, false, all.from(last, first), end - last);
  };
  for (std::int64_t outer = 0; outer < k; outer += of_block) {
    const std::int64_t end = std::min(outer + of_block, k);
    for (std::int64_t first = outer; first < end; first += of_panel) {
      const std::int64_t last = std::min(first + of_panel, end);
      for (std::int64_t c = first; c < last; ++c) {
        factors[c] = make_reflector(&all(c, c), m - c);
        reflect_lines(&all(c, c), factors[c], &all(c + 1, c), m, last - c - 1, m - c);
      }
      apply_to(first, last, end);
    }
    apply_to(outer, end, n);
  }
}

namespace {

/// body(block, its first column) of each block of Q, from the last one to the first.
template <class T, class Body>
void each_block(const Products<T>& products, const T* a, std::int64_t m, std::int64_t reflectors, std::int64_t shift, const T* factors,
                T* work, const Body& body) {
  if (reflectors <= 0) return;
  const Strided<const T> all{a, m, 1};
  const std::int64_t of_block = reflectors_of(m, reflectors + shift);
  for (std::int64_t first = (reflectors - 1) / of_block * of_block; first >= 0; first -= of_block) {
    const std::int64_t last = std::min(first + of_block, reflectors), begin = first + shift;
    body(block_of(products, all.from(first, begin), last - first, m - begin, factors + first, work), begin);
  }
}

}  // namespace

template <class T>
void form_q(const Products<T>& products, const T* a, std::int64_t m, std::int64_t reflectors, std::int64_t shift, const T* factors, T* q,
            std::int64_t count, T* work) {
  std::fill_n(q, m * count, T(0));
  const Strided<T> out{q, m, 1};
  for (std::int64_t i = 0; i < count; ++i) out(i, i) = 1;
  if (m <= kFewRows) {
    for (std::int64_t c = reflectors; c-- > 0;) {
      const std::int64_t begin = c + shift;
      if (begin < count) reflect_lines(a + c * m + begin, factors[c], q + begin * m + begin, m, count - begin, m - begin);
    }
    return;
  }
  each_block(products, a, m, reflectors, shift, factors, work, [&](const Block<T>& block, std::int64_t begin) {
    apply(products, block, true, out.from(std::min(begin, count), begin), count - std::min(begin, count));
  });
}

template <class T>
void apply_q(const Products<T>& products, const T* a, std::int64_t m, std::int64_t reflectors, std::int64_t shift, const T* factors, T* x,
             std::int64_t rows, T* work) {
  each_block(products, a, m, reflectors, shift, factors, work,
             [&](const Block<T>& block, std::int64_t begin) { apply(products, block, true, Strided<T>{x, m, 1}.from(0, begin), rows); });
}

#define TEGULA_HOUSEHOLDER(T)                                                                                                   \
  template void factor_qr(const Products<T>&, T*, std::int64_t, std::int64_t, T*, T*);                                          \
  template void form_q(const Products<T>&, const T*, std::int64_t, std::int64_t, std::int64_t, const T*, T*, std::int64_t, T*); \
  template void apply_q(const Products<T>&, const T*, std::int64_t, std::int64_t, std::int64_t, const T*, T*, std::int64_t, T*);
TEGULA_HOUSEHOLDER(float)
TEGULA_HOUSEHOLDER(double)
#undef TEGULA_HOUSEHOLDER

}  // namespace tegula::host
