// Calls of linear algebra, transforms and grouped sums of the device under test, by themselves, against the CPU's: without any kernel that is compiled.

#include <cstring>

#include "tegula/runtime/matrix_buffers.h"
#include "tests/linalg/support.h"

namespace tegula {
namespace {

using runtime::Device;
using runtime::MatrixRoutine;
using runtime::Routine;
using Bytes = std::vector<std::byte>;

/// The buffers after a run: inputs as given, results zero at first.
std::vector<Bytes> run(Device& device, const runtime::CallDescription& d, std::vector<Bytes> buffers) {
  const auto call = device.make(d);
  std::vector<Ref<Buffer>> memory;
  std::vector<void*> pointers;
  for (const Bytes& bytes : buffers) {
    pointers.push_back(memory.emplace_back(device.allocate(std::max<std::size_t>(bytes.size(), 1)))->data());
    if (!bytes.empty()) device.copy_in(pointers.back(), bytes.data(), bytes.size());
  }
  const Ref<Buffer> scratch = device.allocate(std::max<std::size_t>(call->scratch_bytes(), 1));
  call->run(pointers, {.scratch = scratch->data()});
  device.synchronize();
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (!buffers[i].empty()) device.copy_out(buffers[i].data(), pointers[i], buffers[i].size());
  return buffers;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}
template <class T>
Bytes numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    out.push_back(static_cast<T>(static_cast<double>(seed >> 40) / static_cast<double>(1 << 24) - 0.5));
  }
  return bytes_of(out);
}

/// The greatest difference of two buffers, of sizes alone where signs are free.
template <class T>
double apart(const Bytes& a, const Bytes& b, bool signs) {
  double most = 0;
  for (std::size_t i = 0; i * sizeof(T) < a.size(); ++i) {
    T x, y;
    std::memcpy(&x, a.data() + i * sizeof(T), sizeof x), std::memcpy(&y, b.data() + i * sizeof(T), sizeof y);
    const double left = static_cast<double>(x), right = static_cast<double>(y);
    const double off = signs ? std::abs(left - right) : std::abs(std::abs(left) - std::abs(right));
    most = std::max(most, std::isnan(off) ? 1e300 : off);
  }
  return most;
}

template <class T>
void check(const MatrixRoutine& form) {
  MatrixRoutine d = form;
  d.dtype = sizeof(T) == 8 ? f64 : f32;
  SCOPED_TRACE(std::string(runtime::name(d.routine)) + " " + std::to_string(d.batch) + " of " + std::to_string(d.rows) + "x" +
               std::to_string(d.columns));
  Device& device = default_device();
  if (device.candidates(d).empty()) return;
  const runtime::MatrixBuffers parts = runtime::buffers_of(d);
  std::vector<Bytes> buffers;
  for (std::size_t i = 0; i < parts.bytes.size(); ++i) buffers.emplace_back(parts.bytes[i] * static_cast<std::size_t>(d.batch));
  buffers[0] = numbers<T>(d.batch * d.rows * d.columns, 7);
  if (parts.inputs == 2) buffers[1] = numbers<T>(d.batch * d.columns * d.right, 9);
  auto* const a = reinterpret_cast<T*>(buffers[0].data());
  const std::int64_t n = d.columns, m = d.rows;
  if (d.routine == Routine::Cholesky || d.routine == Routine::SymmetricEigen || d.routine == Routine::TriangularSolve)
    for (std::int64_t b = 0; b < d.batch; ++b)
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i && d.routine != Routine::TriangularSolve; ++j) a[(b * n + j) * n + i] = a[(b * n + i) * n + j];
        a[(b * n + i) * n + i] += static_cast<T>(d.routine == Routine::SymmetricEigen ? 0 : n);
      }
  const auto got = run(device, d, buffers), expected = run(cpu(), d, buffers);
  const double limit = (sizeof(T) == 8 ? 1e-9 : 2e-3) * static_cast<double>(std::max<std::int64_t>(m, 4));
  const std::int64_t k = d.least();
  for (std::size_t i = parts.inputs; i < got.size(); ++i) {
    const bool state = parts.bytes[i] == 4 && d.routine != Routine::TriangularSolve && d.routine != Routine::QR && i + 1 == got.size();
    if (state) {
      EXPECT_EQ(apart<std::int32_t>(got[i], expected[i], true), 0) << i;
    } else if (d.routine == Routine::LU && i == 2) {
      EXPECT_EQ(got[i], expected[i]) << "the same order of rows";
    } else if (d.routine == Routine::Cholesky || (d.routine == Routine::QR && i == 2)) {  // one triangle means something
      for (std::int64_t b = 0; b < d.batch; ++b)
        for (std::int64_t r = 0; r < n; ++r)
          for (std::int64_t c = 0; c <= std::min(r, k - 1); ++c) {
            const auto at = static_cast<std::size_t>((b * n + r) * (d.routine == Routine::QR ? k : n) + c) * sizeof(T);
            T x, y;
            std::memcpy(&x, got[i].data() + at, sizeof x), std::memcpy(&y, expected[i].data() + at, sizeof y);
            ASSERT_NEAR(static_cast<double>(x), static_cast<double>(y), limit) << r << " " << c;
          }
    } else {
      const bool vectors = d.routine == Routine::SymmetricEigen || d.routine == Routine::SVD;
      EXPECT_LT(apart<T>(got[i], expected[i], !vectors), vectors ? 30 * limit : limit) << i;
    }
  }
}

TEST(Routines, GiveWhatTheCPUGives) {
  for (const std::int64_t batch : {1, 5})
    for (const std::int64_t n : {1, 7, 40}) {
      const auto both = [&](MatrixRoutine d) {
        d.batch = batch;
        check<double>(d), check<float>(d);
      };
      both({.routine = Routine::LU, .rows = n, .columns = n});
      both({.routine = Routine::LU, .rows = n + 3, .columns = n});
      both({.routine = Routine::LU, .rows = n, .columns = n + 3});
      both({.routine = Routine::Cholesky, .rows = n, .columns = n});
      for (int form = 0; form < 8; ++form)
        both({.routine = Routine::TriangularSolve,
              .rows = n,
              .columns = n,
              .right = 3,
              .upper = (form & 1) != 0,
              .transposed = (form & 2) != 0,
              .unit = (form & 4) != 0});
      both({.routine = Routine::QR, .rows = n + 4, .columns = n});
      both({.routine = Routine::QR, .rows = n, .columns = n + 4});
    }
  check<double>({.routine = Routine::Cholesky, .batch = 2, .rows = 520, .columns = 520});  // beyond what goes at once on a GPU
}

TEST(Routines, SpectraAreThoseOfTheCPU) {
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t n : {1, 6, 20}) {
      check<double>({.routine = Routine::SymmetricEigen, .batch = batch, .rows = n, .columns = n});
      check<float>({.routine = Routine::SymmetricEigen, .batch = batch, .rows = n, .columns = n});
      check<double>({.routine = Routine::SVD, .batch = batch, .rows = n + 2, .columns = n});
      check<double>({.routine = Routine::SVD, .batch = batch, .rows = n, .columns = n});
    }
}

TEST(Routines, TransformsAreThoseOfTheCPU) {
  const auto both = [](const runtime::Fourier& d, std::int64_t in, std::int64_t out) {
    if (default_device().candidates(d).empty()) return;
    SCOPED_TRACE(to_string(d.sizes));
    const std::vector<Bytes> buffers{numbers<double>(in, 3), Bytes(static_cast<std::size_t>(out) * 8)};
    EXPECT_LT(apart<double>(run(default_device(), d, buffers)[1], run(cpu(), d, buffers)[1], true), 1e-10);
  };
  using runtime::Spectrum;
  for (const std::int64_t n : {1, 2, 15, 64, 37})
    for (const bool inverse : {false, true}) both({.dtype = f64, .inverse = inverse, .batch = 6, .sizes = {n}}, 12 * n, 12 * n);
  both({.dtype = f64, .batch = 2, .sizes = {6, 10}}, 240, 240);
  both({.dtype = f64, .inverse = true, .batch = 2, .sizes = {4, 6, 5}}, 480, 480);
  both({.spectrum = Spectrum::FromReal, .dtype = f64, .batch = 3, .sizes = {6, 9}}, 3 * 54, 3 * 6 * 5 * 2);
  both({.spectrum = Spectrum::FromReal, .dtype = f64, .batch = 2, .sizes = {4, 3, 8}}, 2 * 96, 2 * 12 * 5 * 2);
  for (const std::int64_t n : {2, 9, 64}) {
    both({.spectrum = Spectrum::FromReal, .dtype = f64, .batch = 3, .sizes = {n}}, 3 * n, 6 * (n / 2 + 1));
    both({.spectrum = Spectrum::ToReal, .dtype = f64, .inverse = true, .batch = 3, .sizes = {n}}, 6 * (n / 2 + 1), 3 * n);
  }
}

TEST(Routines, GroupedSumsAreThoseOfTheCPU) {
  const std::vector<std::int64_t> starts{0, 3, 3, 10}, lines{4, 0, 1, 1, 2, 3, 4, 4, 0, 2};
  for (const bool weighted : {false, true})
    for (const std::int64_t width : {1, 33}) {
      const runtime::GroupedSum d{.dtype = f64, .count = 10, .rows = 5, .length = 3, .width = width, .weighted = weighted};
      if (default_device().candidates(d).empty()) return;
      std::vector<Bytes> buffers{bytes_of(starts), bytes_of(lines), numbers<double>(5 * width, 1)};
      if (weighted) buffers.push_back(numbers<double>(10, 2));
      buffers.emplace_back(static_cast<std::size_t>(3 * width) * 8);
      EXPECT_LT(apart<double>(run(default_device(), d, buffers).back(), run(cpu(), d, buffers).back(), true), 1e-14);
    }
}

}  // namespace
}  // namespace tegula
