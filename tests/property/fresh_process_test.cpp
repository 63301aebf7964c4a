// Random graphs, saved here and loaded by another process, which has the files and nothing else: the same bits, gradients, state and kernels.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tegula/tegula.h"
#include "tests/property/generate.h"
#include "tests/property/modes.h"
#include "tests/support/own_tests.h"
#include "tests/support/setting.h"

namespace tegula::property {
namespace {

constexpr const char* kFiles = "TEGULA_FRESH_FILES";  // prefix of the files' names, for the child
constexpr const char* kNumbers = "TEGULA_FRESH_NUMBERS";  // which, as "3 4 7"
constexpr int kCalls = 2;

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

void put(const std::string& path, const std::vector<Tensor>& tensors, const io::Metadata& texts = {}) {
  io::NamedArrays arrays;
  for (std::size_t i = 0; i < tensors.size(); ++i) arrays.emplace_back(std::to_string(i), tensors[i].to_array());
  io::write_safetensors(path, arrays, texts);
}

std::vector<Tensor> get(const std::string& path) {
  const io::Safetensors file = io::read_safetensors(path);
  std::vector<Tensor> out(file.tensors.size());
  for (const auto& [name, array] : file.tensors) out[std::stoul(name)] = from_array(array);
  return out;
}

/// A function's results, then the gradients of the mean square of its first float result by the float inputs that this depends on.
std::vector<Tensor> with_gradients(const Function& f, const std::vector<Tensor>& x) {
  std::vector<Tensor> out = f(x);
  const auto y = std::ranges::find_if(out, [](const Tensor& one) { return is_float(one.dtype()) && one.numel() > 0; });
  if (y == out.end()) return out;
  const Tensor loss = mean(square(cast(*y, f64)));
  for (const Tensor& one : x) {
    if (!is_float(one.dtype())) continue;
    try {
      out.push_back(grad(loss, one));
    } catch (const Error&) {}  // does not depend on it
  }
  return out;
}

/// The results of two calls, the state after them, and the kernels.
struct Seen {
  std::vector<Tensor> values;
  std::string kernels, error;
};
Seen see(const Function& f, const std::vector<Tensor>& x, const Parameters& cells) {
  Seen out;
  try {
    auto compiled = jit([&](const std::vector<Tensor>& in) { return with_gradients(f, in); });
    for (int call = 0; call < kCalls; ++call) {
      const std::vector<Tensor> some = compiled(x);
      for (const Tensor& one : some) eval(one);
      out.values.insert(out.values.end(), some.begin(), some.end());
    }
    for (const Parameter& cell : cells) out.values.push_back(from_array(cell.read().to_array()));
    out.kernels = compiled.print_kernels();
  } catch (const Error& error) { out.error = error.what(); }
  return out;
}

Parameters sorted(Parameters cells) {
  std::erase_if(cells,
                [](const Parameter& one) { return one.name.empty() || one.name[0] != 'v' || one.name.find('.') != std::string::npos; });
  std::ranges::sort(cells, {}, &Parameter::name);
  return cells;
}

TEST(FreshProcess, DISABLED_Loads) {
  prepare_process();
  set_warning_handler([](const std::string&, const std::string&) {});
  const char *const files = std::getenv(kFiles), *numbers = std::getenv(kNumbers);
  ASSERT_TRUE(files && numbers);
  char* end = nullptr;
  for (std::uint64_t k = std::strtoull(numbers, &end, 10); end != numbers; numbers = end, k = std::strtoull(numbers, &end, 10)) {
    const std::string file = files + std::to_string(k);
    const GraphFunction f = load_graph(file + ".graph");
    const Seen seen = see([&](const std::vector<Tensor>& in) { return f(in); }, get(file + ".in"), sorted(f.state()));
    put(file + ".out", seen.values, {{"kernels", seen.kernels}, {"error", seen.error}});
  }
}

bool same(const Tensor& a, const Tensor& b) {
  const HostArray x = a.to_array(), y = b.to_array();
  return x.dtype == y.dtype && x.shape == y.shape && std::memcmp(x.buffer->data(), y.buffer->data(), x.bytes()) == 0;
}

/// TEGULA_FRESH graphs (40), from TEGULA_SEED on; so many in one process.
TEST(FreshProcess, RandomGraphsAreTheSameThere) {
  prepare_process();
  set_warning_handler([](const std::string&, const std::string&) {});
  const std::uint64_t first = test::number_of("TEGULA_SEED", 132000001), count = test::number_of("TEGULA_FRESH", 40), together = 50;
  const std::string files = "fresh-" + std::to_string(getpid()) + "-";
  int compared = 0, with_errors = 0, values = 0;
  for (std::uint64_t begin = first; begin < first + count && !HasFailure(); begin += together) {
    std::vector<std::pair<std::uint64_t, Seen>> mine;
    std::string numbers;
    for (std::uint64_t seed = begin; seed < std::min(begin + together, first + count); ++seed) {
      const Program program = generate(seed);
      const std::string file = files + std::to_string(seed);
      set_current(seed, "fresh process");
      try {
        const SavedFunction one = function_of(program);
        save_graph(file + ".graph", {.names = one.cells}, one.function, one.inputs);
        put(file + ".in", one.inputs);
        mine.emplace_back(seed, see(one.function, one.inputs, sorted(one.cells)));
        numbers += std::to_string(seed) + " ";
      } catch (...) { ++with_errors; }  // a program that means nothing
      Cell::settle_later();
    }
    setenv(kFiles, files.c_str(), 1), setenv(kNumbers, numbers.c_str(), 1);
    test::run_own_tests("FreshProcess.DISABLED_Loads");
    if (HasFailure()) return;
    for (const auto& [seed, seen] : mine) {
      SCOPED_TRACE("TEGULA_SEED=" + std::to_string(seed) + "\n" + to_string(generate(seed)));
      const std::string file = files + std::to_string(seed);
      const io::Metadata texts = io::read_safetensors(file + ".out").metadata;
      const std::vector<Tensor> theirs = get(file + ".out");
      EXPECT_EQ(texts.at("kernels"), seen.kernels);
      EXPECT_EQ(texts.at("error").empty(), seen.error.empty()) << texts.at("error") << seen.error;
      ASSERT_EQ(theirs.size(), seen.values.size());
      for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_TRUE(same(theirs[i], seen.values[i])) << "value " << i;
      values += static_cast<int>(theirs.size());
      ++compared;
      for (const char* end : {".graph", ".in", ".out"}) std::remove((file + end).c_str());
    }
  }
  EXPECT_GT(compared * 2, static_cast<int>(count));
  set_warning_handler({});
  std::printf("%d graphs and %d values compared to the bit with another process, %d that mean nothing\n", compared, values, with_errors);
}

}  // namespace
}  // namespace tegula::property
