#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/check_gradients.h"
#include "tests/support/paper.h"
#include "tests/support/reference.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

// --- The support table ---

enum class Outcome { Untried, Passed, Failed };

struct Row {
  std::map<DType, Outcome> value;
  Outcome gradient = Outcome::Untried;
};

class SupportTable : public testing::Environment {
 public:
  static SupportTable& instance() {
    static auto* table = static_cast<SupportTable*>(testing::AddGlobalTestEnvironment(new SupportTable));
    return *table;
  }
  Row& operator[](const std::string& op) { return rows_[op]; }
  static void note(Outcome& outcome, bool passed) {
    if (!passed) outcome = Outcome::Failed;
    else if (outcome == Outcome::Untried) outcome = Outcome::Passed;
  }

  void TearDown() override {
    if (rows_.empty()) return;
    std::string text = cell("op", 22);
    for (DType dtype : kAllDTypes) text += cell(std::string(name(dtype)), 6);
    text += "gradient\n";
    for (const auto& [op, row] : rows_) {
      text += cell(op, 22);
      for (DType dtype : kAllDTypes) {
        const auto found = row.value.find(dtype);
        text += cell(word(found == row.value.end() ? Outcome::Untried : found->second), 6);
      }
      text += word(row.gradient) + "\n";
    }
    std::cout << "\nSupport table: value against f64 by dtype, gradient against central differences\n" << text;
    if (const char* folder = std::getenv("TEGULA_REPORT_DIR")) std::ofstream(std::string(folder) + "/support_table.txt") << text;
  }

 private:
  static std::string word(Outcome outcome) { return outcome == Outcome::Passed ? "ok" : outcome == Outcome::Failed ? "FAIL" : "-"; }
  static std::string cell(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size() + 1), ' ');
    return text;
  }
  std::map<std::string, Row> rows_;
};

[[maybe_unused]] const auto* const registered = &SupportTable::instance();  // GoogleTest wants environments before the tests run

// --- Inputs ---

double epsilon(DType dtype) {
  switch (dtype) {
    case f64: return 0x1p-52;
    case f32: return 0x1p-23;
    case f16: return 0x1p-10;
    case bf16: return 0x1p-7;
    case e4m3: return 0x1p-3;
    case e5m2: return 0x1p-2;
    default: return 0;
  }
}

Values draw(const CaseInput& input, const Shape& shape, DType dtype, std::mt19937_64& random, bool away_from_kinks) {
  Values out(static_cast<std::size_t>(numel(shape)));
  double low = input.low, high = input.high;
  if (is_unsigned(dtype)) low = std::max(low, 0.0);
  if (dtype == boolean) low = 0, high = 1;
  for (double& x : out) {
    if (is_float(dtype)) {
      x = low + (high - low) * std::uniform_real_distribution<double>()(random);
    } else {
      x = static_cast<double>(std::uniform_int_distribution<std::int64_t>(static_cast<std::int64_t>(std::ceil(low)),
                                                                          static_cast<std::int64_t>(std::floor(high)))(random));
    }
    for (double kink : input.kinks) {
      if (away_from_kinks && std::fabs(x - kink) < 1e-2) x = kink + 2e-2;
    }
  }
  return out;
}

struct Run {
  const OpCase& one;
  std::vector<Shape> shapes;  // of the inputs
  DType dtype;
  InputLayout layout = InputLayout::Contiguous;

  std::string describe() const {
    std::string text = one.op + " " + std::string(name(dtype));
    for (const Shape& shape : shapes) text += " " + to_string(shape);
    return text + (layout == InputLayout::Strided ? " strided" : layout == InputLayout::Transposed ? " transposed" : "");
  }
  std::vector<Values> values(bool away_from_kinks) const {
    std::mt19937_64 random(std::hash<std::string>()(one.op) + shapes.size());
    std::vector<Values> out;
    for (std::size_t i = 0; i < shapes.size(); ++i) out.push_back(draw(one.inputs[i], shapes[i], input_dtype(i), random, away_from_kinks));
    return out;
  }
  DType input_dtype(std::size_t i) const { return one.inputs[i].dtype.value_or(dtype); }
  std::vector<Tensor> inputs(bool away_from_kinks) const {
    const auto all = values(away_from_kinks);
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < shapes.size(); ++i) out.push_back(leaf_of(all[i], shapes[i], input_dtype(i), layout));
    return out;
  }
};

// --- Values ---

/// Nothing, or the error.
std::string compare(const Run& run, const Values& got, const Values& expected, DType dtype, double tolerance) {
  if (got.size() != expected.size()) return "got " + std::to_string(got.size()) + " elements, expected " + std::to_string(expected.size());
  const double allowed_wrong = run.one.jumps ? 0.01 * static_cast<double>(got.size()) : 0;
  int wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i]);
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    // Operands of a lower precision than the result (comparisons, casts) decide the expected precision.
    const double unit = is_float(dtype) ? std::max(epsilon(dtype), epsilon(run.dtype)) : 0;
    if (same || error <= tolerance * unit * std::max(1.0, std::fabs(expected[i]))) continue;
    if (++wrong == 1) {
      char text[120];
      std::snprintf(text, sizeof text, "element %zu is %.17g, expected %.17g", i, got[i], expected[i]);
      first = text;
    }
  }
  return wrong <= allowed_wrong ? "" : first + " (" + std::to_string(wrong) + " of " + std::to_string(got.size()) + " wrong)";
}

std::string check_value(const Run& run) {
  try {
    const auto inputs = run.inputs(false);
    const Tensor y = run.one.function(inputs);
    Values expected;
    if (run.one.reference) {
      std::vector<Values> x;
      for (const Tensor& input : inputs) x.push_back(input.to_host<double>());
      expected = run.one.reference(x);
    } else {
      expected = reference_of(y);
    }
    return compare(run, y.to_host<double>(), expected, y.dtype(), run.one.tolerance);
  } catch (const std::exception& error) { return error.what(); }
}

// --- Gradients ---

std::vector<int> differentiable(const OpCase& one) {
  std::vector<int> out;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    if (one.inputs[i].differentiable && is_float(one.inputs[i].dtype.value_or(f64))) out.push_back(static_cast<int>(i));
  }
  return out;
}

std::string check_gradient(const Run& run) {
  const auto inputs = run.inputs(true);
  GradientCheck options{.inputs = differentiable(run.one), .most_elements = 16};
  try {
    check_gradients(run.one.function, inputs, options);
  } catch (const std::exception& error) { return error.what(); }
  if (!run.one.second) return "";
  const auto gradient = [&](const std::vector<Tensor>& x) {
    const Tensor y = run.one.function(x);
    Values ones(static_cast<std::size_t>(y.numel()), 1.0);
    return vjp({y}, {leaf_of(ones, y.shape(), y.dtype())}, {x[static_cast<std::size_t>(options.inputs[0])]})[0];
  };
  try {
    options.most_elements = 8;
    check_gradients(gradient, inputs, options);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (text.find("depends on none") == std::string::npos) return "second derivative: " + text;  // a linear op has none
  }
  return "";
}

/// The gradient in another dtype against its own graph interpreted in f64. The bound is wider: derivatives amplify the rounding of results.
std::string check_low_precision_gradient(const Run& run) {
  try {
    const auto inputs = run.inputs(true);
    const Tensor y = run.one.function(inputs);
    if (!is_float(y.dtype())) return "";
    const Values ones(static_cast<std::size_t>(y.numel()), 1.0);
    const Tensor dx = vjp({y}, {leaf_of(ones, y.shape(), y.dtype())}, {inputs[static_cast<std::size_t>(differentiable(run.one)[0])]})[0];
    const Values expected = reference_of(dx);
    return compare(run, dx.to_host<double>(), expected, dx.dtype(), 4 * run.one.tolerance);
  } catch (const std::exception& error) { return error.what(); }
}

// --- On paper ---

/// The value, and the first and second derivatives by all that has one: nothing, or why they cannot be made. In every float dtype.
std::string check_on_paper(const Run& run) {
  try {
    const auto inputs = run.inputs(false);
    Tensor y = run.one.function(inputs);
    y.to_host<double>();
    if (!run.one.gradient) return "";
    std::vector<Wrt> leaves;
    for (int i : differentiable(run.one)) {
      if (is_float(run.input_dtype(static_cast<std::size_t>(i)))) leaves.emplace_back(inputs[static_cast<std::size_t>(i)]);
    }
    for (int order = 1; order <= (run.one.second ? 2 : 1); ++order) {
      if (leaves.empty() || !is_float(y.dtype())) return "";
      const Values ones(static_cast<std::size_t>(y.numel()), 1.0);
      const auto derivatives = vjp({y}, {leaf_of(ones, y.shape(), y.dtype())}, leaves);
      for (const Tensor& derivative : derivatives) derivative.to_host<double>();
      y = derivatives[0];
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.find("depends on none") == std::string::npos ? text : "";  // a linear op has no second derivative
  }
  return "";
}

std::vector<std::vector<Shape>> shape_sets(const OpCase& one) {
  std::vector<Shape> declared;
  for (const CaseInput& input : one.inputs) declared.push_back(input.shape);
  std::vector<std::vector<Shape>> sets{declared};
  sets.insert(sets.end(), one.more_shapes.begin(), one.more_shapes.end());
  return sets;
}

}  // namespace

Tensor leaf_of(const std::vector<double>& values, const Shape& shape, DType dtype, InputLayout kind) {
  Layout layout = Layout::dense(shape);
  std::int64_t elements = numel(shape);
  if (kind == InputLayout::Strided) {
    for (auto& stride : layout.strides) stride *= 2;
    layout.offset = 1;
    elements = 2 * elements + 1;
  } else if (kind == InputLayout::Transposed) {
    std::int64_t stride = 1;
    for (int d = 0; d < shape.rank(); ++d) {
      layout.strides[d] = stride;
      stride *= shape[d];
    }
  }
  const HostArray array = HostArray::empty(dtype, {elements});
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto out = array.values<T>();
    std::fill(out.begin(), out.end(), from_double<T>(is_float(dtype) ? std::nan("") : 1));  // the values in between must not matter
    for (std::size_t n = 0; n < values.size(); ++n) {
      std::int64_t rest = static_cast<std::int64_t>(n), offset = layout.offset;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        offset += rest % shape[d] * layout.strides[d];
        rest /= shape[d];
      }
      out[static_cast<std::size_t>(offset)] = from_double<T>(values[n]);
    }
  });
  Ref<Node> node = make<Node>(leaf_op(), std::span<const Ref<Node>>(), shape, dtype, Origin{});
  node->set_value(array.buffer, layout);
  return Tensor(std::move(node));
}

std::vector<Finding> examine(const OpCase& one) {
  std::vector<Finding> findings;
  for (DType dtype : one.dtypes) {
    for (const auto& shapes : shape_sets(one)) {
      const bool flat = std::all_of(shapes.begin(), shapes.end(), [](const Shape& s) { return s.rank() < 2; });
      for (InputLayout layout : {InputLayout::Contiguous, InputLayout::Strided, InputLayout::Transposed}) {
        if (layout == InputLayout::Transposed && flat) continue;
        const Run run{one, shapes, dtype, layout};
        findings.push_back({dtype, run.describe(), test::on_paper() ? check_on_paper(run) : check_value(run)});
      }
    }
  }
  if (test::on_paper() || !one.gradient || differentiable(one).empty()) return findings;
  for (const auto& shapes : shape_sets(one)) {
    const Run run{one, shapes, f64};
    findings.push_back({std::nullopt, "gradient of " + run.describe(), check_gradient(run)});
    for (DType dtype : one.dtypes) {
      if (!is_float(dtype) || dtype == f64 || is_float8(dtype)) continue;
      const Run low{one, shapes, dtype};
      findings.push_back({std::nullopt, "gradient of " + low.describe(), check_low_precision_gradient(low)});
    }
  }
  return findings;
}

void check(const OpCase& one) {
  Row& row = SupportTable::instance()[one.op];
  for (const Finding& finding : examine(one)) {
    SupportTable::note(finding.dtype ? row.value[*finding.dtype] : row.gradient, finding.wrong.empty());
    if (!finding.wrong.empty()) ADD_FAILURE() << finding.run << ": " << finding.wrong;
  }
}

TEST_P(DeclaredCases, Hold) {
  for (const OpCase& one : GetParam()) check(one);
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeclaredCases);  // in programs that declare none

std::vector<std::vector<OpCase>> by_op(std::vector<OpCase> cases) {
  std::vector<std::vector<OpCase>> groups;
  for (OpCase& one : cases) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group[0].op == one.op; });
    if (same == groups.end()) groups.push_back({std::move(one)});
    else same->push_back(std::move(one));
  }
  return groups;
}

std::string name_of_op(const testing::TestParamInfo<std::vector<OpCase>>& info) {
  std::string name = info.param[0].op;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace tegula
