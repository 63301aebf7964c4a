// A graph file or a plan file gives back the saved function: every declared case and random graphs, to the bit, with their gradients and the names of
// their kernels; from a plan file in a process that has the file alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "tegula/formats/known_ops.h"
#include "tegula/tegula.h"
#include "tests/property/generate.h"
#include "tests/property/modes.h"
#include "tests/property/ops.h"
#include "tests/support/op_check.h"
#include "tests/support/own_tests.h"
#include "tests/support/setting.h"

namespace tegula::property {
namespace {

std::string path_of(const char* which) { return "saved-" + std::to_string(getpid()) + "-" + which + ".graph"; }

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

/// y, and Σ y² by each operand, and by each again.
std::vector<Tensor> with_gradients(const OpCase& one, const std::vector<Tensor>& x,
                                   const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  std::vector<Tensor> out{f(x)};
  std::vector<Wrt> by;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (one.gradient && one.inputs[i].differentiable && is_float(x[i].dtype())) by.emplace_back(x[i]);
  if (by.empty() || !is_float(out[0].dtype()) || out[0].numel() == 0) return out;
  const std::vector<Tensor> first = grad(sum(square(cast(out[0], f64))), by);
  out.insert(out.end(), first.begin(), first.end());
  if (!one.second) return out;
  Tensor total;
  for (const Tensor& part : first) {
    const Tensor term = sum(square(cast(part, f64)));
    total = total.defined() ? total + term : term;
  }
  const std::vector<Tensor> second = grad(total, by);
  out.insert(out.end(), second.begin(), second.end());
  return out;
}

std::string text_of(const std::string& path) { return load_metadata(path).at(std::string(kGraphKey)); }

/// Adds the names of ops in the text of a graph.
void collect_ops(const std::string& text, std::set<std::string>& ops) {
  constexpr std::string_view kBefore = "\"op\":\"";
  for (std::size_t at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at)) {
    at += kBefore.size();
    ops.insert(text.substr(at, text.find('"', at) - at));
  }
}

/// The subject of a comparison, for its failure.
std::string title_of(const OpCase& one, DType dtype, const std::vector<Shape>& shapes) {
  std::string text = one.op + " " + std::string(name(dtype));
  for (const Shape& shape : shapes) text += " " + to_string(shape);
  return text;
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].shape(), b[i].shape()) << i;
    EXPECT_EQ(a[i].dtype(), b[i].dtype()) << i;
    EXPECT_TRUE(same_bits(a[i].to_host<double>(), b[i].to_host<double>())) << "result " << i << "\n"
                                                                           << a[i].print() << "\n"
                                                                           << b[i].print();
  }
}

/// True if there was something to compare.
bool check_case(const OpCase& one, DType dtype, const std::vector<Shape>& shapes, std::set<std::string>& met) {
  SCOPED_TRACE(title_of(one, dtype, shapes));
  const std::vector<Tensor> x = operands_of(one, dtype, shapes);
  const std::string path = path_of("first"), again = path_of("again");
  const auto forward = [&](const std::vector<Tensor>& in) { return one.function(in); };
  const auto all = [&](const std::vector<Tensor>& in) { return with_gradients(one, in, forward); };
  std::vector<Tensor> expected;
  try {
    expected = all(x);
  } catch (const Error&) { return false; }  // the case's own test says so
  // The forward pass, differentiated after it was loaded; its file is what its graph says, all of it.
  save_graph(path, forward, x);
  const GraphFunction loaded = load_graph(path);
  save_graph(again, {.names = loaded.state()}, loaded, x);
  EXPECT_EQ(text_of(path), text_of(again));
  expect_same(with_gradients(one, x, [&](const std::vector<Tensor>& in) { return loaded(in)[0]; }), expected);
  // With its gradients in the file, and compiled.
  save_graph(path, all, x);
  collect_ops(text_of(path), met);
  auto compiled = jit(load_graph(path));
  auto original = jit(all);
  expect_same(compiled(x), original(x));
  EXPECT_EQ(compiled.print_kernels(), original.print_kernels());
  std::remove(path.c_str());
  std::remove(again.c_str());
  return true;
}

/// `check` of each declared case twice: in f64 mostly, then in the narrowest dtype and other shapes. Counts those that it compared.
int check_cases(std::set<std::string>& ops, const std::function<bool(const OpCase&, DType, const std::vector<Shape>&)>& check) {
  int cases = 0;
  for (const OpCase& one : declared_cases()) {
    if (one.draws || one.inputs.empty()) continue;  // no trace may make a generator
    std::vector<std::vector<Shape>> shapes{{}};
    for (const CaseInput& input : one.inputs) shapes[0].push_back(input.shape);
    shapes.insert(shapes.end(), one.more_shapes.begin(), one.more_shapes.end());
    for (std::size_t k = 0; k < shapes.size() && k < 2; ++k) {
      const DType dtype = one.dtypes[k * (one.dtypes.size() - 1)];
      const bool compared = check(one, dtype, shapes[k]);
      cases += compared;
      if (!compared) std::printf("%s has an error of its own\n", title_of(one, dtype, shapes[k]).c_str());
    }
    ops.insert(one.op);
    if (testing::Test::HasFailure() && cases > 50) break;
  }
  return cases;
}

TEST(Saved, EveryDeclaredCaseComesBack) {
  std::set<std::string> ops, met;
  const int cases = check_cases(
      ops, [&](const OpCase& one, DType dtype, const std::vector<Shape>& shapes) { return check_case(one, dtype, shapes, met); });
  EXPECT_GT(cases, 300);
  EXPECT_GT(ops.size(), 150u);
  // All ops of the table, but for those that have no cases here: tests/formats has them, and tests/linalg.
  const std::set<std::string> elsewhere{
      "random_bits", "uniform",  "normal",  "multinomial", "debug_print", "checkpoint",       "checkpoints",    "scan",
      "cuda_kernel", "variable", "keep",    "e4m3_encode", "e4m3_decode", "e8m0_encode",      "e8m0_decode",    "lu",
      "cholesky",    "qr",       "eigh",    "eig",         "svd",         "triangular_solve", "check_matrices", "grouped_sum",
      "grouped_max", "line",     "term_sum"};
  for (const std::string& name : known_ops().names()) EXPECT_NE(met.contains(name), elsewhere.contains(name)) << name;
}

/// Random graphs in the mode, against a jit.
void check_graphs(const std::string& way) {
  prepare_process();
  set_warning_handler([](const std::string&, const std::string&) {});
  const std::uint64_t first = test::number_of("TEGULA_SEED", 1), count = test::number_of("TEGULA_GRAPHS", 200);
  int compared = 0, with_errors = 0;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    const Program program = generate(seed);
    SCOPED_TRACE("TEGULA_SEED=" + std::to_string(seed) + "\n" + to_string(program));
    set_current(seed, "jit");
    const auto expected = run(program, mode("jit"), 2);
    set_current(seed, way);
    const auto got = run(program, mode(way), 2);
    if (!expected[0].second.error.empty()) {
      ++with_errors;
      EXPECT_FALSE(got[0].second.error.empty());
      continue;
    }
    ASSERT_EQ(got.size(), expected.size()) << got[0].second.error;
    for (std::size_t call = 0; call < got.size(); ++call) {
      const Outcome &a = expected[call].second, &b = got[call].second;
      EXPECT_EQ(a.error, b.error);
      ASSERT_EQ(a.values.size(), b.values.size());
      for (std::size_t i = 0; i < a.values.size(); ++i)
        EXPECT_TRUE(same_bits(a.values[i].elements, b.values[i].elements)) << "call " << call << ", value " << i;
    }
    ++compared;
  }
  EXPECT_GT(compared * 2, static_cast<int>(count));
  set_warning_handler({});
  std::printf("%d graphs compared to the bit, %d that mean nothing\n", compared, with_errors);
}

TEST(Saved, RandomGraphsComeBackToTheBit) { check_graphs("saved"); }

// A plan file runs in a process that has not made it: the first child makes those that are not in the folder, the second one finds all.
TEST(Saved, DISABLED_EveryDeclaredCaseAsAPlan) {
  const std::string folder = std::getenv("TEGULA_PLANS");
  std::set<std::string> ops;
  int number = 0;
  const int cases = check_cases(ops, [&](const OpCase& one, DType dtype, const std::vector<Shape>& shapes) {
    SCOPED_TRACE(title_of(one, dtype, shapes));
    const std::vector<Tensor> x = operands_of(one, dtype, shapes);
    const auto all = [&](const std::vector<Tensor>& in) {
      return with_gradients(one, in, [&](const std::vector<Tensor>& again) { return one.function(again); });
    };
    auto original = jit(all);
    std::vector<Tensor> expected;
    try {
      expected = original(x);
    } catch (const Error&) { return false; }  // the case's own test says so
    const std::string path = folder + "/case-" + std::to_string(number++) + ".plan";
    if (!std::filesystem::exists(path)) save_plan(path, all, x);
    const PlanFunction loaded = load_plan(path);
    expect_same(loaded(x), expected);
    EXPECT_TRUE(loaded.from_file());
    EXPECT_EQ(loaded.traces(), 0);
    EXPECT_EQ(loaded.print_kernels(), original.print_kernels());
    return true;
  });
  EXPECT_GT(cases, 300);
  EXPECT_GT(ops.size(), 150u);
}

TEST(Saved, DISABLED_RandomGraphsAsPlans) { check_graphs("planned"); }

TEST(Saved, PlansRunInAProcessThatHasNotMadeThem) {
  const std::string folder = "plans-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  ::setenv("TEGULA_PLANS", folder.c_str(), 1);
  for (const char* which : {"makes them", "has them"}) {
    SCOPED_TRACE(which);
    test::run_own_tests("Saved.DISABLED_*");
  }
  ::unsetenv("TEGULA_PLANS");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tegula::property
