// ONNX's backend suite, v1.22: which cases pass is written down, case by case, in backend_suite.txt.

#include "tests/onnx/suite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/onnx/operators.h"
#include "tests/fuzz/mutate.h"
#include "tests/io/files.h"
#include "tests/support/source_folder.h"

namespace tegula::testing {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

onnx::Value value_of(const fs::path& path, const onnx::ValueType& type) {
  const io::Bytes bytes = io::read_file(path.string());
  const auto usable = [](const onnx::StoredArray& stored) {
    if (!stored.array.buffer)
      throw Error({.op = "suite", .got = "a tensor of " + onnx::name_of(stored.type), .expected = "a type with a dtype"});
    return from_array(stored.array);
  };
  if (type.kind == onnx::ValueType::Kind::Tensor) return usable(onnx::parse_tensor(bytes, path.string()));
  std::vector<Tensor> items;
  for (const auto& one : onnx::parse_sequence(bytes, path.string())) items.push_back(usable(one));
  if (type.kind == onnx::ValueType::Kind::Sequence) return onnx::Value::sequence(items);
  return items.empty() ? onnx::Value() : type.holds_sequence ? onnx::Value::sequence(items) : onnx::Value(items[0]);
}

std::string compare(const onnx::Value& got, const fs::path& path, const onnx::ValueType& type, double absolute) {
  const io::Bytes bytes = io::read_file(path.string());
  if (type.kind == onnx::ValueType::Kind::Tensor) return difference(got.tensor, onnx::parse_tensor(bytes, path.string()), absolute);
  const auto wanted = onnx::parse_sequence(bytes, path.string());
  const std::vector<Tensor> items = got.kind == onnx::Value::Kind::Tensor ? std::vector<Tensor>{got.tensor} : got.items;
  if (items.size() != wanted.size()) return std::to_string(items.size()) + " elements for " + std::to_string(wanted.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    if (std::string text = difference(items[i], wanted[i], absolute); !text.empty()) return text;
  return "";
}

std::string compare_all(const std::vector<onnx::Value>& got, const onnx::Model& model, const fs::path& set, double absolute) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const fs::path path = set / ("output_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return "no " + path.filename().string();
    if (std::string text = compare(got[i], path, model.outputs()[i], absolute); !text.empty())
      return "result " + std::to_string(i) + ": " + text;
  }
  return "";
}

/// Inputs that give sizes and axes, which are constants of a trace.
std::set<std::string> looked_at(const std::string& path) {
  std::set<std::string> out;
  for (const onnx::Node& node : onnx::read_file(path).graph.nodes) {
    const onnx::Operator* op = onnx::find_operator(node.domain, node.type);
    for (std::size_t i = 0; op && i < node.inputs.size() && i < 32; ++i)
      if (op->looked >> i & 1) out.insert(node.inputs[i]);
  }
  return out;
}

/// The results of a jit-ed function of all tensors among the inputs but those that give sizes, called twice: what it replays is compared.
std::vector<onnx::Value> traced(const onnx::Model& model, std::vector<onnx::Value> inputs) {
  std::vector<Tensor> tensors;
  for (const auto& one : inputs) {
    if (one.known) continue;
    if (one.kind == onnx::Value::Kind::Tensor) tensors.push_back(one.tensor);
    tensors.insert(tensors.end(), one.items.begin(), one.items.end());
  }
  std::vector<onnx::Value> form;
  auto f = jit([&](std::vector<Tensor> given) {
    std::vector<onnx::Value> values = inputs;
    std::size_t at = 0;
    for (auto& one : values) {
      if (one.known) continue;
      if (one.kind == onnx::Value::Kind::Tensor) one.tensor = given[at++];
      for (Tensor& item : one.items) item = given[at++];
    }
    form = model.run(values);
    std::vector<Tensor> out;
    for (const auto& one : form) {
      if (one.kind == onnx::Value::Kind::Tensor) out.push_back(one.tensor);
      out.insert(out.end(), one.items.begin(), one.items.end());
    }
    return out;
  });
  f(tensors);
  const std::vector<Tensor> flat = f(tensors);
  std::size_t at = 0;
  for (auto& one : form) {
    if (one.kind == onnx::Value::Kind::Tensor) one.tensor = flat[at++];
    for (Tensor& item : one.items) item = flat[at++];
  }
  return form;
}

/// The same; where an axis or a size is computed from integers among the inputs, these are constants as well, and then scalars.
std::vector<onnx::Value> traced_with_constants(const onnx::Model& model, std::vector<onnx::Value> inputs) {
  const std::set<std::string> looked = looked_at(model.path());
  for (int more = 0;; ++more) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_tensor = inputs[i].kind == onnx::Value::Kind::Tensor;
      const bool is_size = is_tensor && (is_integer(inputs[i].tensor.dtype()) || (more > 1 && inputs[i].tensor.numel() == 1));
      inputs[i].known = is_tensor && (looked.contains(model.inputs()[i].name) || (more > 0 && is_size));
    }
    try {
      return traced(model, inputs);
    } catch (const Error& error) {
      if (more == 2 || std::string(error.what()).find("depends on values") == std::string::npos) throw;
    }
  }
}

/// Light models have no inputs in files: n elements are 0, 1/n, 2/n, …
std::vector<onnx::Value> light_inputs(const onnx::Model& model) {
  Shape shape;
  for (const std::int64_t size : model.inputs().at(0).sizes) shape.push_back(std::max<std::int64_t>(size, 1));
  std::vector<float> values(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(values.size()));
  return {tensor(values, shape)};
}

}  // namespace

std::string difference(const Tensor& got, const onnx::StoredArray& want, double absolute) {
  if (!want.array.buffer) return "wants " + onnx::name_of(want.type);
  if (!got.defined()) return "nothing";
  const HostArray have = got.to_array();
  if (have.dtype != want.array.dtype) return std::string(name(have.dtype)) + " for " + std::string(name(want.array.dtype));
  if (have.shape != want.array.shape) return "shape " + to_string(have.shape) + " for " + to_string(want.array.shape);
  std::string text;
  visit(have.dtype, [&](auto zero) {
    const auto a = have.values<decltype(zero)>(), b = want.array.values<decltype(zero)>();
    for (std::size_t i = 0; i < a.size() && text.empty(); ++i) {
      const double x = as_double(a[i]), y = as_double(b[i]);
      const bool is_same = x == y || (std::isnan(x) && std::isnan(y));
      if (!is_same && !(std::abs(x - y) <= absolute + 1e-3 * std::abs(y)))
        text = std::to_string(x) + " for " + std::to_string(y) + " at " + std::to_string(i);
    }
  });
  return text;
}

std::vector<fs::path> suite_cases(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "model.onnx")) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

SuiteOutcome run_case(const fs::path& folder, double absolute) {
  SuiteOutcome out;
  const auto attempt = [](auto f) -> std::string {
    try {
      return f();
    } catch (const Error& error) { return first_line(error.what()); }
  };
  const std::string path = (folder / "model.onnx").string();
  out.eager = out.traced = attempt([&]() -> std::string {
    const auto findings = onnx::check(path);
    if (findings.empty()) return "";
    return findings[0].problem;
  });
  if (!out.eager.empty()) return out;
  const auto run = [&](bool is_traced) {
    return attempt([&]() -> std::string {
      const onnx::Model model = onnx::load(path);
      bool has_sets = false;
      for (const auto& entry : fs::directory_iterator(folder)) {
        if (!entry.is_directory() || !entry.path().filename().string().starts_with("test_data_set_")) continue;
        has_sets = true;
        std::vector<onnx::Value> inputs;
        for (std::size_t i = 0; i < model.inputs().size(); ++i) {
          const fs::path file = entry.path() / ("input_" + std::to_string(i) + ".pb");
          inputs.push_back(fs::exists(file) ? value_of(file, model.inputs()[i]) : onnx::Value());
        }
        const auto got = is_traced ? traced_with_constants(model, inputs) : model.run(inputs);
        if (std::string text = compare_all(got, model, entry.path(), absolute); !text.empty()) return text;
      }
      if (has_sets) return "";
      return "no data";
    });
  };
  out.eager = run(false);
  out.traced = run(true);
  return out;
}

namespace {

/// The suite, unpacked; empty where it is not there.
fs::path suite_folder() {
  const std::string data = shared_data();
  const std::string archive = data + "/onnx-backend-tests/onnx-backend-test-data-v1.22.0.tar.xz";
  if (data.empty() || !fs::exists(archive)) return {};
  static const fs::path folder = [&] {
    const fs::path to = fs::temp_directory_path() / ("tegula-onnx-suite-" + std::to_string(getpid()));
    fs::create_directories(to);
    if (std::system(("tar xf '" + archive + "' -C '" + to.string() + "'").c_str()) != 0) return fs::path();
    return to / "onnx-backend-test-data";
  }();
  return folder;
}

class Suite : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    if (const fs::path folder = suite_folder(); !folder.empty()) fs::remove_all(folder.parent_path());
  }

  /// Cases that do not pass, with the reason, as backend_suite.txt has them.
  static std::map<std::string, std::string> listed(const std::string& kind) {
    std::ifstream file(source_folder() + "/tests/onnx/backend_suite.txt");
    std::map<std::string, std::string> out;
    for (std::string line; std::getline(file, line);) {
      const std::size_t end = line.find(' ');
      if (line.starts_with(kind + "/")) out[line.substr(0, end)] = end == std::string::npos ? "" : line.substr(end + 1);
    }
    return out;
  }

  static void run_all(const std::string& kind) {
    const fs::path folder = suite_folder();
    if (folder.empty()) GTEST_SKIP() << "skipped: no ../shared/data/onnx-backend-tests";
    const auto known = listed(kind);
    const char* report = std::getenv("TEGULA_ONNX_REPORT");  // a file for the cases that fail, as backend_suite.txt has them
    std::ofstream failed;
    if (report) failed.open(report, std::ios::app);
    int passed = 0, passed_traced = 0, count = 0;
    for (const fs::path& one : suite_cases(folder / kind)) {
      const std::string name = kind + "/" + one.filename().string();
      const SuiteOutcome outcome = run_case(one);
      ++count, passed += outcome.eager.empty(), passed_traced += outcome.traced.empty();
      if (report && !outcome.eager.empty()) failed << name << ' ' << outcome.eager << std::endl;
      if (report && outcome.eager.empty() && !outcome.traced.empty()) failed << name << " in jit: " << outcome.traced << std::endl;
      if (outcome.eager.empty()) {
        const bool in_jit = known.contains(name) && known.at(name).starts_with("in jit: ");
        EXPECT_TRUE(outcome.traced.empty() || in_jit) << name << " in a jit-ed function: " << outcome.traced;
        const bool is_random = known.contains(name) && known.at(name).starts_with("draws random numbers");
        EXPECT_TRUE(in_jit || is_random || !known.contains(name)) << name << " passes: take it out of backend_suite.txt";
      } else {
        EXPECT_TRUE(known.contains(name)) << name << ": " << outcome.eager;
      }
    }
    std::printf("%s: %d of %d pass, %d in a jit-ed function\n", kind.c_str(), passed, count, passed_traced);
    EXPECT_GT(count, 0);
  }
};

TEST_F(Suite, NodesGiveTheirResults) { run_all("node"); }
TEST_F(Suite, SimpleModelsGiveTheirResults) { run_all("simple"); }
TEST_F(Suite, ConvertedModulesGiveTheirResults) { run_all("pytorch-converted"); }
TEST_F(Suite, ConvertedOperatorsGiveTheirResults) { run_all("pytorch-operator"); }

/// Nets of 2012 to 2017, whose weights are all one number.
TEST_F(Suite, LightModelsGiveTheirResults) {
  const fs::path folder = suite_folder();
  if (folder.empty()) GTEST_SKIP() << "skipped: no ../shared/data/onnx-backend-tests";
  int passed = 0;
  for (const auto& entry : fs::directory_iterator(folder / "light")) {
    if (entry.path().extension() != ".onnx") continue;
    const onnx::Model model = onnx::load(entry.path().string());
    const auto got = model.run(light_inputs(model));
    const fs::path want = folder / "light" / (entry.path().stem().string() + "_output_0.pb");
    const std::string text = difference(got.at(0).tensor, onnx::parse_tensor(io::read_file(want.string()), want.string()));
    EXPECT_EQ(text, "") << entry.path();
    passed += text.empty();
  }
  std::printf("light: %d of 9 pass\n", passed);
  EXPECT_EQ(passed, 9);
}

/// Files of which some bytes are others: whatever comes of them is a result or an Error.
TEST_F(Suite, DamagedModelsAreErrorsOrModels) {
  const fs::path folder = suite_folder();
  if (folder.empty()) GTEST_SKIP() << "skipped: no ../shared/data/onnx-backend-tests";
  constexpr std::int64_t kMost = 1 << 20;  // elements that are computed
  int built = 0, refused = 0;
  std::uint64_t index = 0;
  for (const fs::path& one : suite_cases(folder / "node")) {
    const std::string text = text_of(io::read_file((one / "model.onnx").string()));
    for (int copy = 0; copy < 3; ++copy) {
      try {
        const std::string damaged = mutate(text, index++);
        const onnx::Model model(onnx::parse_file(std::as_bytes(std::span(damaged)), "damaged.onnx"));
        std::vector<onnx::Value> inputs;
        for (std::size_t i = 0; i < model.inputs().size(); ++i) {
          const fs::path file = one / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
          inputs.push_back(fs::exists(file) ? value_of(file, model.inputs()[i]) : onnx::Value());
        }
        for (const onnx::Value& result : model.run(inputs))
          if (result.kind == onnx::Value::Kind::Tensor && result.tensor.numel() <= kMost) static_cast<void>(result.tensor.to_array());
        ++built;
      } catch (const Error& error) {
        EXPECT_FALSE(error.report().op.empty()) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(built, 100);
  EXPECT_GT(refused, 100);
}

/// Cases that scripts/differential_onnx.py wrote.
TEST_F(Suite, CasesOfAFolderGiveTheirResults) {
  const char* folder = std::getenv("TEGULA_ONNX_CASES");
  if (!folder) GTEST_SKIP() << "skipped: no TEGULA_ONNX_CASES";
  int passed = 0, count = 0;
  for (const fs::path& one : suite_cases(folder)) {
    const SuiteOutcome outcome = run_case(one, 1e-5);  // sums of both are rounded
    EXPECT_EQ(outcome.eager, "") << one.filename();
    EXPECT_EQ(outcome.traced, "") << one.filename() << " in a jit-ed function";
    ++count, passed += outcome.eager.empty() && outcome.traced.empty();
  }
  std::printf("%d of %d models as onnxruntime has them\n", passed, count);
}

}  // namespace
}  // namespace tegula::testing
