#include "tegula/runtime/costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tegula::runtime {
namespace {

constexpr std::array kFields{
    CostField{"launch_seconds", "s", &Costs::launch_seconds},
    CostField{"bytes_per_second", "B/s", &Costs::bytes_per_second},
    CostField{"tile_operations_per_second", "1/s", &Costs::tile_operations_per_second},
    CostField{"call_operations_per_second", "1/s", &Costs::call_operations_per_second},
    CostField{"short_launch_seconds", "s", &Costs::short_launch_seconds},
    CostField{"loop_nodes", "nodes", &Costs::loop_nodes},
    CostField{"threads_seconds", "s", &Costs::threads_seconds},
    CostField{"awake_seconds", "s", &Costs::awake_seconds},
    CostField{"streaming_bytes", "B", &Costs::streaming_bytes},
    CostField{"transposed_per_second", "1/s", &Costs::transposed_per_second},
    CostField{"call_seconds", "s", &Costs::call_seconds},
    CostField{"own_call_seconds", "s", &Costs::own_call_seconds},
    CostField{"tf32_per_second", "1/s", &Costs::tf32_per_second},
    CostField{"halves_per_second", "1/s", &Costs::halves_per_second},
    CostField{"call_bytes_per_second", "B/s", &Costs::call_bytes_per_second},
    CostField{"unaligned_factor", "times", &Costs::unaligned_factor},
    CostField{"packed_element_seconds", "s", &Costs::packed_element_seconds},
    CostField{"epilogue_seconds", "s", &Costs::epilogue_seconds},
    CostField{"share_of_peak", "share", &Costs::share_of_peak},
    CostField{"library_operations", "operations", &Costs::library_operations},
    CostField{"measured_product", "operations", &Costs::measured_product},
    CostField{"measured_convolution", "operations", &Costs::measured_convolution},
    CostField{"measured_gradient", "operations", &Costs::measured_gradient},
    CostField{"own_product", "operations", &Costs::own_product},
    CostField{"opening_seconds", "s", &Costs::opening_seconds},
    CostField{"few_terms_product", "terms", &Costs::few_terms_product},
    CostField{"many_terms_product", "terms", &Costs::many_terms_product},
    CostField{"attention_scores", "scores", &Costs::attention_scores},
    CostField{"sent_bytes", "B", &Costs::sent_bytes},
    CostField{"copied_bytes", "B", &Costs::copied_bytes},
};
static_assert(sizeof(Costs) == kFields.size() * sizeof(Measured), "a field of Costs has no row");

double bytes_of(const Operand& x) { return static_cast<double>(numel(x.layout.shape)) * static_cast<double>(size_of(x.dtype)); }

Work of(const Matmul& d) {
  const Shape& a = d.a.layout.shape;
  return {2 * static_cast<double>(numel(d.c.layout.shape)) * static_cast<double>(a.back()), bytes_of(d.a) + bytes_of(d.b) + bytes_of(d.c)};
}
Work of(const Convolution& d) {
  const auto outputs = static_cast<double>(std::max<std::int64_t>(d.weight.layout.shape[0], 1));
  return {2.0 * static_cast<double>(numel(d.output.layout.shape)) * static_cast<double>(numel(d.weight.layout.shape)) / outputs,
          bytes_of(d.input) + bytes_of(d.weight) + bytes_of(d.output)};
}
Work of(const Pooling& d) {
  return {static_cast<double>(numel(d.output.layout.shape)) * static_cast<double>(numel(d.window)), bytes_of(d.input) + bytes_of(d.output)};
}
Work of(const Attention& d) {
  const Shape &q = d.q.layout.shape, &k = d.k.layout.shape;
  const double products = d.backward ? 5 : 2, scores = static_cast<double>(numel(q)) * static_cast<double>(k[2]);
  const double once = bytes_of(d.q) + bytes_of(d.k) + bytes_of(d.v) + bytes_of(d.q);
  return {2 * products * scores * (d.causal && q[2] > 1 ? 0.5 : 1), d.backward ? 2 * once : once};
}
Work of(const ScatterSum& d) {
  const auto one = static_cast<double>(size_of(d.dtype));
  const auto read = static_cast<double>(d.outer * d.count * d.width), written = static_cast<double>(d.outer * d.length * d.width);
  return {read, one * (read + written) + static_cast<double>(sizeof(std::int64_t) * static_cast<std::size_t>(d.count))};
}
/// The operations that LAPACK counts for each routine, roughly.
Work of(const MatrixRoutine& d) {
  const auto m = static_cast<double>(d.rows), n = static_cast<double>(d.columns), right = static_cast<double>(d.right);
  const auto k = static_cast<double>(d.least()), one = static_cast<double>(size_of(d.dtype)), batch = static_cast<double>(d.batch);
  const auto operations = [&] {
    switch (d.routine) {
      case Routine::LU: return 2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3;
      case Routine::Cholesky: return n * n * n / 3;
      case Routine::TriangularSolve: return n * n * right;
      case Routine::QR: return 4 * m * n * k;
      case Routine::SymmetricEigen: return (d.vectors ? 9.0 : 4.0 / 3) * n * n * n;
      case Routine::Eigen: return (d.vectors ? 25.0 : 10.0) * n * n * n;
      case Routine::SVD: return (d.vectors ? 14.0 : 4.0) * m * n * n;
    }
    return 0.0;
  };
  return {batch * operations(), 2 * batch * one * (m * n + n * right)};
}
Work of(const Fourier& d) {
  const auto size = static_cast<double>(numel(d.sizes)), all = static_cast<double>(d.batch) * size;
  return {5 * all * std::log2(std::max(size, 2.0)), 4 * all * static_cast<double>(size_of(d.dtype))};
}
Work of(const GroupedSum& d) {
  const auto one = static_cast<double>(size_of(d.dtype));
  const auto read = static_cast<double>(d.outer * d.count * d.width), written = static_cast<double>(d.outer * d.length * d.width);
  const double words = static_cast<double>(d.terms.values.size()), matrices = static_cast<double>(std::max<std::size_t>(d.reads.size(), 1));
  return {((d.weighted ? 2 : 1) + words) * read,
          one * (matrices * read + written) + static_cast<double>(sizeof(std::int64_t)) * static_cast<double>(d.count)};
}
Work of(const Packing& d) {
  const auto written = static_cast<double>(elements(d.blocks));
  return {written, (static_cast<double>(numel(d.weight.shape)) + written) * static_cast<double>(size_of(d.dtype))};
}
Work of(const HostTurn&) { return {}; }
Work of(const CudaKernel&) { return {}; }
Work of(const std::monostate&) { return {}; }

bool is_call(const CallDescription& d) { return d && !std::holds_alternative<HostTurn>(d) && !std::holds_alternative<CudaKernel>(d); }

/// The rate of products in this dtype, if the table has one of its own.
double operations_per_second(const CallDescription& description, const Costs& costs) {
  const auto rate = [&](DType dtype, Arithmetic arithmetic) -> double {
    if (is_half(dtype) && costs.halves_per_second > 0) return costs.halves_per_second;
    if (dtype == DType::f32 && arithmetic == Arithmetic::TF32 && costs.tf32_per_second > 0) return costs.tf32_per_second;
    return costs.call_operations_per_second;
  };
  if (const auto* const product = std::get_if<Matmul>(&description)) return rate(product->dtype(), product->arithmetic);
  if (const auto* const convolution = std::get_if<Convolution>(&description)) return rate(convolution->dtype(), convolution->arithmetic);
  return costs.call_operations_per_second;
}

}  // namespace

std::span<const CostField> cost_fields() { return kFields; }

std::string to_string(const Costs& costs) {
  std::string out;
  for (const CostField& field : kFields) {
    const Measured& number = costs.*field.member;
    if (number == 0) continue;
    char text[128];
    std::snprintf(text, sizeof text, "%-27s %10.4g %-10s ", std::string(field.name).c_str(), number.value, std::string(field.unit).c_str());
    out += text + std::string(number.where) + "\n";
  }
  return out;
}

Work work_of(const CallDescription& description) {
  return std::visit([](const auto& d) { return of(d); }, description);
}

double seconds_at(const Work& work, double operations_per_second, double bytes_per_second) {
  return std::max(work.operations / operations_per_second, work.bytes / bytes_per_second);
}

double seconds_of(const CallDescription& description, const Costs& costs) {
  const double operations = operations_per_second(description, costs);
  const double bytes = costs.call_bytes_per_second > 0 ? costs.call_bytes_per_second : costs.bytes_per_second;
  if (!is_call(description) || operations == 0 || bytes == 0) return 0;
  return costs.call_seconds + seconds_at(work_of(description), operations, bytes);
}

}  // namespace tegula::runtime
