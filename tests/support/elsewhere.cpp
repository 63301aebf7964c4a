#include "tests/support/elsewhere.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tegula/simt/codegen.h"
#include "tegula/tegula.h"
#include "tests/support/own_tests.h"

namespace tegula::test {
namespace {

constexpr const char* kGraph = "other.graph";
constexpr const char* kPlan = "other.plan";
constexpr const char* kArguments = "other-arguments.safetensors";
constexpr const char* kResults = "other-results.safetensors";
constexpr const char* kPlanned = "other-planned.safetensors";
constexpr const char* kChild = "OtherProcess.DISABLED_ThatLoads";

/// The first result, and its gradients: by float arguments and by the weights, in the order of their names.
std::vector<Tensor> with_gradients(const Function& f, const std::vector<Tensor>& x, const Parameters& weights) {
  std::vector<Tensor> out{f(x)[0]};
  std::vector<Wrt> by;
  for (const Tensor& one : x)
    if (is_float(one.dtype())) by.emplace_back(one);
  std::vector<Parameter> sorted(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end(), [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
  for (const Parameter& one : sorted) by.emplace_back(one);
  if (by.empty()) return out;
  const std::vector<Tensor> gradients = grad(mean(square(cast(out[0], f32))), by);
  out.insert(out.end(), gradients.begin(), gradients.end());
  return out;
}

void put(const char* path, const std::vector<Tensor>& tensors, const std::string& kernels = "") {
  io::NamedArrays arrays;
  for (std::size_t i = 0; i < tensors.size(); ++i) arrays.emplace_back(std::to_string(i), tensors[i].to_array());
  io::write_safetensors(path, arrays, {{"kernels", kernels}});
}

std::vector<Tensor> get(const io::Safetensors& file) {
  std::vector<Tensor> out(file.tensors.size());
  for (const auto& [name, array] : file.tensors) out[std::stoul(name)] = from_array(array);
  return out;
}

/// Without the lines of programs that comments name: an equal kernel that this process made before for another line is used again.
std::string code_of(const std::string& kernels) { return gpu::without_comments(kernels); }

}  // namespace

Tensor numbers(const Shape& shape, double seed) { return sin(reshape(cast(arange(numel(shape)), f32), shape) * 0.37 + seed); }

void expect_same_elsewhere(const Function& f, const std::vector<Tensor>& x, const Parameters& weights) {
  save_graph(kGraph, {.names = weights}, f, x);
  save_plan(kPlan, {.names = weights}, f, x);
  std::string names;  // names of the weights: a loaded function may leave more unwritten than its module trains
  for (const Parameter& one : weights) names += "\n" + one.name + "\n";
  put(kArguments, x, names);
  std::remove(kResults);
  run_own_tests(kChild);
  if (testing::Test::HasFailure()) return;
  const io::Safetensors theirs = io::read_safetensors(kResults);
  const std::vector<Tensor> mine = with_gradients(f, x, weights), results = get(theirs);
  ASSERT_EQ(mine.size(), results.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const HostArray a = mine[i].to_array(), b = results[i].to_array();
    ASSERT_EQ(a.shape, b.shape);
    EXPECT_EQ(std::memcmp(a.buffer->data(), b.buffer->data(), a.bytes()), 0) << "result " << i;
  }
  auto compiled = jit(f);
  compiled(x);
  const std::string kernels = code_of(compiled.print_kernels());
  EXPECT_EQ(code_of(theirs.metadata.at("kernels")), kernels);
  // The plan, which the child neither traced nor made.
  const io::Safetensors planned = io::read_safetensors(kPlanned);
  const HostArray mine_first = compiled(x)[0].to_array(), theirs_first = planned.tensors.at(0).second;
  ASSERT_EQ(mine_first.shape, theirs_first.shape);
  EXPECT_EQ(std::memcmp(mine_first.buffer->data(), theirs_first.buffer->data(), mine_first.bytes()), 0);
  EXPECT_EQ(code_of(planned.metadata.at("kernels")), kernels);
}

void load_here() {
  const GraphFunction f = load_graph(kGraph);
  const io::Safetensors arguments = io::read_safetensors(kArguments);
  const std::vector<Tensor> x = get(arguments);
  Parameters weights = parameters(f);
  std::erase_if(weights,
                [&](const Parameter& one) { return arguments.metadata.at("kernels").find("\n" + one.name + "\n") == std::string::npos; });
  auto compiled = jit(f);
  compiled(x);
  put(kResults, with_gradients(f, x, weights), compiled.print_kernels());
  const PlanFunction planned = load_plan(kPlan);
  const std::vector<Tensor> results = planned(x);
  ASSERT_TRUE(planned.from_file());
  ASSERT_EQ(planned.traces(), 0);
  put(kPlanned, results, planned.print_kernels());
}

}  // namespace tegula::test
