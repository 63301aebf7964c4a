// Round trips through ONNX files: every declared case and random graphs, written as a model and read again, agree with the function that was written, or are refused
// by name.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tests/onnx/round_trip.h"
#include "tests/property/generate.h"
#include "tests/property/modes.h"
#include "tests/property/ops.h"
#include "tests/support/setting.h"

namespace tegula::property {
namespace {

/// The greatest difference, each relative to max(1, |expected|); infinite where one of them is no number and the other is.
double greatest_difference(const Tensor& got, const Tensor& expected) {
  const auto a = got.to_host<double>(), b = expected.to_host<double>();
  double most = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double off = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    most = std::isfinite(off) ? std::max(most, off) : HUGE_VAL;
  }
  return most;
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case f64: return 0x1p-52;
    case f16: return 0x1p-10;
    case bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}

std::string title_of(const OpCase& one, DType dtype, const std::vector<Shape>& shapes) {
  std::string text = one.op + " " + std::string(name(dtype));
  for (const Shape& shape : shapes) text += " " + to_string(shape);
  return text;
}

/// The op of an Error of onnx::save: "the op lgamma".
std::string refused_op(const Error& error) {
  const std::string& got = error.report().got;
  return got.substr(0, got.find(','));
}

TEST(OnnxFiles, EveryDeclaredCaseComesBack) {
  std::map<std::string, std::set<std::string>> refused;  // by the op that is named
  int compared = 0;
  for (const std::int64_t opset : {17, 21, 24}) {
    for (const OpCase& one : declared_cases()) {
      if (one.draws || one.inputs.empty()) continue;
      std::vector<std::vector<Shape>> shapes{{}};
      for (const CaseInput& input : one.inputs) shapes[0].push_back(input.shape);
      shapes.insert(shapes.end(), one.more_shapes.begin(), one.more_shapes.end());
      for (std::size_t k = 0; k < shapes.size() && k < 2; ++k) {
        for (const DType dtype : {one.dtypes[0], one.dtypes.size() > 1 ? one.dtypes[1] : one.dtypes[0], one.dtypes.back()}) {
          SCOPED_TRACE(title_of(one, dtype, shapes[k]) + ", operator set " + std::to_string(opset));
          const std::vector<Tensor> x = operands_of(one, dtype, shapes[k]);
          Tensor expected;
          try {
            expected = one.function(x);
            eval(expected);
          } catch (const Error&) { continue; }  // the case's own test says so
          onnx::File file;
          try {
            file = onnx::to_file("case.onnx", {.opset = opset}, [&](const std::vector<Tensor>& in) { return one.function(in); }, x);
          } catch (const Error& error) {
            refused[refused_op(error)].insert(one.op + " " + std::string(name(dtype)) + " " + std::to_string(opset));
            continue;
          }
          if (opset == 21) {
            std::string folder = "case-" + std::to_string(compared) + "-" + one.op + "-" + std::string(name(dtype));
            std::ranges::replace_if(folder, [](unsigned char c) { return !std::isalnum(c); }, '-');
            test::hand_out(folder, file, x, {expected});
          }
          const onnx::File again = test::read_again(file);
          for (const onnx::Finding& finding : onnx::check(again)) ADD_FAILURE() << finding.node << ": " << finding.problem;
          try {
            const onnx::Model model(again);
            const Tensor got = model(x).at(0);
            ASSERT_EQ(got.shape(), expected.shape());
            ASSERT_EQ(got.dtype(), expected.dtype());
            EXPECT_LE(greatest_difference(got, expected), one.tolerance * 2 * epsilon_of(dtype)) << got.print() << "\n" << expected.print();
          } catch (const Error& error) { ADD_FAILURE() << error.what(); }
          ++compared;
        }
      }
    }
  }
  // Ops without an operator in ONNX that are not composed of such; words of bits in operator set 17; ops that a device's choice makes of a convolution.
  const std::set<std::string> expected_refusals{"avg_pool",  // with a dilation, before operator set 19
                                                "bitwise_and",
                                                "bitwise_or",
                                                "bitwise_xor",
                                                "bitwise_not",
                                                "right_shift",
                                                "digamma",
                                                "erfinv",
                                                "lgamma",
                                                "e4m3_factor",
                                                "fourier",
                                                "convolution_direct",
                                                "convolution_implicit_gemm",
                                                "convolution_tiled",
                                                "convolution_unrolled"};
  std::set<std::string> ops;
  for (const auto& [op, cases] : refused) {
    ops.insert(op.substr(std::string_view("the op ").size()));
    std::string list;
    for (const std::string& one : cases) list += one + "; ";
    std::printf("%s: %s\n", op.c_str(), list.c_str());
  }
  EXPECT_EQ(ops, expected_refusals);
  std::printf("%d compared\n", compared);
  EXPECT_GT(compared, 6000);
}

/// The values of a program's function, or its error.
std::vector<Tensor> values_of(const SavedFunction& f, std::string& error) {
  try {
    std::vector<Tensor> out = f.function(f.inputs);
    for (const Tensor& one : out) eval(one);
    return out;
  } catch (const Error& caught) {
    error = caught.what();
    return {};
  }
}

/// The epsilon of the coarsest float that the model holds or casts to.
double coarsest_epsilon(const onnx::File& file) {
  double out = 0x1p-52;
  const auto see = [&](onnx::Type type) {
    if (onnx::has_dtype(type) && is_float(onnx::dtype_of(type))) out = std::max(out, epsilon_of(onnx::dtype_of(type)));
  };
  for (const auto& one : file.graph.inputs) see(one.element);
  for (const auto& one : file.graph.initializers) see(one.type);
  for (const onnx::Node& node : file.graph.nodes)
    if (node.type == "Cast") see(static_cast<onnx::Type>(node.find("to")->integer));
  return out;
}

/// To half of the digits: a graph may have ops that make much of a last digit (acos near 1).
TEST(OnnxFiles, RandomGraphsComeBackOrAreRefusedByName) {
  prepare_process();
  const std::uint64_t first = test::number_of("TEGULA_SEED", 1), count = test::number_of("TEGULA_GRAPHS", 200);
  std::map<std::string, int> refused;
  int compared = 0, values = 0;
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    const Program program = generate(seed);
    SCOPED_TRACE("TEGULA_SEED=" + std::to_string(seed) + "\n" + to_string(program));
    set_current(seed, "onnx");
    onnx::File file;
    std::optional<SavedFunction> f;
    try {
      f = function_of(program);
      file = onnx::to_file("graph.onnx", {.opset = 21, .names = f->cells}, f->function, f->inputs);
    } catch (const Error& error) {
      ++refused[error.report().op == "onnx::save" ? refused_op(error) : "an error of its own"];
      continue;
    }
    std::string error;
    const std::vector<Tensor> expected = values_of(*f, error);
    if (!error.empty()) {
      ++refused["an error of its own"];
      continue;
    }
    test::hand_out("graph-" + std::to_string(seed), file, f->inputs, expected);
    const onnx::Model model(test::read_again(file));
    const std::vector<Tensor> got = model(f->inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), expected[i].shape());
      ASSERT_EQ(got[i].dtype(), expected[i].dtype());
      // In halves each operator rounds its own result, and a graph may make anything of that: the cases above hold those, op by op.
      if (coarsest_epsilon(file) > 0x1p-23) continue;
      EXPECT_LE(greatest_difference(got[i], expected[i]), 4 * std::sqrt(coarsest_epsilon(file))) << "result " << i;
      ++values;
    }
    ++compared;
  }
  for (const auto& [op, cases] : refused) std::printf("%d: %s\n", cases, op.c_str());
  std::printf("%d graphs compared, %d values\n", compared, values);
  EXPECT_GT(values, static_cast<int>(count));
  EXPECT_GT(compared * 5, static_cast<int>(count) * 2);  // many write Variables
}

}  // namespace
}  // namespace tegula::property
