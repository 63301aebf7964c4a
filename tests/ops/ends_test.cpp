// Every declared case at the ends of f32: 0, denormals, the smallest and the largest numbers, infinities and NaN, in one element, in all of them (which
// are ties then), and as a scale of ordinary numbers. Value and gradient in f32 must be those in f64, where such numbers are ordinary. Exceptions, such as a
// NaN made of numbers, are listed in ends.txt.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "tegula/ops/case.h"
#include "tegula/tegula.h"
#include "tests/support/op_check.h"
#include "tests/support/source_folder.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

struct End {
  std::string name;
  double value;
};
const std::vector<End>& ends() {
  constexpr float least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  constexpr double inf = std::numeric_limits<double>::infinity();
  static const std::vector<End> list{{"0", 0},         {"-0", -0.0},       {"denormal", 1e-42},  {"-denormal", -1e-42},
                                     {"least", least}, {"-least", -least}, {"1e-30", 1e-30},     {"-1e-30", -1e-30},
                                     {"1e30", 1e30},   {"-1e30", -1e30},   {"most", most},       {"-most", -most},
                                     {"inf", inf},     {"-inf", -inf},     {"nan", std::nan("")}};
  return list;
}

/// The way of an end into an input.
enum class Way { All, One, Times };
const char* name_of(Way way) { return way == Way::All ? "all" : way == Way::One ? "one" : "times"; }

struct Place {
  std::size_t input;
  Way way;
  End end;
};

/// In f32, as in f64: the same numbers. The inputs that the case fixes to a dtype of their own stay as they are.
std::vector<Values> values_of(const OpCase& one, const Place& place) {
  std::mt19937_64 random(4711);
  std::vector<Values> all;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const CaseInput& input = one.inputs[i];
    const bool whole = input.dtype && !is_float(*input.dtype);
    Values values(static_cast<std::size_t>(numel(input.shape)));
    for (double& v : values) {
      const double low = whole ? std::ceil(input.low) : input.low, high = whole ? std::floor(input.high) + 1 : input.high;
      v = std::uniform_real_distribution<double>(low, high)(random);
      v = whole ? std::floor(v) : static_cast<float>(v);
    }
    if (i == place.input) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (place.way == Way::All || (place.way == Way::One && k == values.size() / 2)) values[k] = static_cast<float>(place.end.value);
        if (place.way == Way::Times) values[k] = static_cast<float>(values[k] * place.end.value);
      }
    }
    all.push_back(std::move(values));
  }
  return all;
}

struct Outcome {
  bool refused = false;
  Values value, gradient;  // the gradient of a weighted sum of the results by the input with the end
};

Outcome outcome(const OpCase& one, const std::vector<Values>& values, std::size_t input, DType dtype) {
  Outcome out;
  try {
    std::vector<Tensor> x;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::optional<DType> own = one.inputs[i].dtype;
      x.push_back(leaf_of(values[i], one.inputs[i].shape, own && !is_float(*own) ? *own : dtype));
    }
    const Tensor y = one.function(x);
    if (!is_float(y.dtype())) return out;
    std::vector<Tensor> wanted{y};
    if (one.gradient && one.inputs[input].differentiable) {
      try {
        Values weights(static_cast<std::size_t>(y.numel()));
        for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = 0.25 * static_cast<double>(1 + k * 7 % 5);
        wanted.push_back(vjp({y}, {leaf_of(weights, y.shape(), y.dtype())}, {x[input]})[0]);
      } catch (const Error&) {}  // does not depend on it
    }
    if (wanted.size() > 1) eval(y, wanted[1]);
    out.value = y.to_host<double>();
    if (wanted.size() > 1) out.gradient = wanted[1].to_host<double>();
  } catch (const Error&) { out.refused = true; }
  return out;
}

/// The fault in f32's numbers, given those of f64; empty: none. `made`: made of numbers alone.
std::string wrong(const Values& got, const Values& truth, bool made) {
  double scale = 0;
  for (const double t : truth)
    if (std::isfinite(t)) scale = std::max(scale, std::fabs(t));
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double t = truth[i], v = got[i];
    std::ostringstream text;
    text << v << " for " << t;
    if (std::isnan(t)) {
      if (!std::isnan(v)) return text.str();
      if (made) return "nan";
      continue;
    }
    const double rounded = static_cast<float>(t);
    if (std::isinf(rounded)) {
      if (v != rounded && std::fabs(v) < 1e38) return text.str();
      continue;
    }
    // A value negligible beside the largest result may be rounded away.
    const double slack = std::max(1e-5 * scale, 1e-44);
    if (!(std::fabs(v - t) <= 1e-3 * std::fabs(t) + slack)) return text.str();
  }
  return "";
}

struct Named {
  std::string name;
  OpCase one;
  bool elementwise;  // its results are not sums: only here the largest number is an end
};

std::vector<Named> all_cases() {
  std::vector<Named> out;
  std::map<std::string, int> seen;
  int families = 0;
  constexpr auto kFamilies = std::to_array<std::vector<OpCase> (*)()>(
      {arithmetic_cases, math_cases,        compare_cases,       logic_cases,       activation_cases, loss_cases,
       class_loss_cases, softmax_cases,     normalization_cases, reduce_cases,      scan_cases,       sort_cases,
       search_cases,     distance_cases,    pooling_cases,       shape_cases,       join_cases,       index_cases,
       matmul_cases,     einsum_cases,      interpolate_cases,   grid_sample_cases, unfold_cases,     linear_cross_entropy_cases,
       attention_cases,  convolution_cases, unpool_cases,        int4_cases});
  for (auto* family : kFamilies) {
    const bool elementwise = ++families <= 5;
    for (OpCase& one : family()) {
      const bool f32_too = std::ranges::find(one.dtypes, f32) != one.dtypes.end();
      const std::string name = one.op + "#" + std::to_string(++seen[one.op]);
      if (f32_too && !one.draws && !one.jumps) out.push_back({name, std::move(one), elementwise});
    }
  }
  return out;
}

bool on_cpu() { return default_device().number() == 0; }

/// ends.txt: "op part ends…  # reason"; part is value or gradient, an end one of "all:inf", "one:-0", "times:1e30". A line for GPUs alone has "op@gpu".
using Table = std::map<std::string, std::set<std::string>>;
Table read_table() {
  Table table;
  std::ifstream file(source_folder() + "/tests/ops/ends.txt");
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text.substr(0, text.find('#')));
    std::string op, part, end;
    line >> op >> part;
    if (const auto at = op.find("@gpu"); at != std::string::npos) {
      if (on_cpu()) continue;
      op.resize(at);
    }
    while (line >> end) table[op + " " + part].insert(end);
  }
  return table;
}

TEST(Ends, OfEveryDeclaredCaseAreThoseOfWiderNumbers) {
  const Table allowed = read_table();
  Table found;
  std::map<std::string, std::string> example;
  int tried = 0;
  for (const auto& [name, one, elementwise] : all_cases()) {
    std::string key = one.op;
    std::ranges::replace(key, ' ', '_');
    for (std::size_t input = 0; input < one.inputs.size(); ++input) {
      const std::optional<DType> own = one.inputs[input].dtype;
      if (own && !is_float(*own)) continue;
      std::vector<Place> places;
      for (const End& end : ends()) {
        if (!elementwise && end.name.ends_with("most")) continue;
        places.push_back({input, Way::All, end});
        places.push_back({input, Way::One, end});
        if (end.name == "1e30" || end.name == "1e-30") places.push_back({input, Way::Times, end});
      }
      for (const Place& place : places) {
        const auto values = values_of(one, place);
        const Outcome narrow = outcome(one, values, input, f32), wide = outcome(one, values, input, f64);
        ++tried;
        const bool made = !std::isnan(place.end.value);
        const auto note = [&](const std::string& part, const std::string& what) {
          if (what.empty()) return;
          const std::string row = key + " " + part, end = std::string(name_of(place.way)) + ":" + place.end.name;
          found[row].insert(end);
          if (!allowed.contains(row) || !allowed.at(row).contains(end))
            example.try_emplace(row + " " + end, name + " of input " + std::to_string(input) + ": " + what);
        };
        if (narrow.refused != wide.refused) note("value", "refused in one dtype");
        else if (!narrow.refused) {
          note("value", wrong(narrow.value, wide.value, made));
          note("gradient", wrong(narrow.gradient, wide.gradient, made));
        }
      }
    }
  }
  EXPECT_GT(tried, 5000);
  for (const auto& [key, text] : example) ADD_FAILURE() << key << "  (" << text << ")";
  // The table is that of the CPU's plans; those of the ladder of sizes and of a GPU add up in another order, and may do better.
  const Table needed = std::getenv("TEGULA_SIZES") || !on_cpu() ? Table{} : allowed;
  for (const auto& [row, tokens] : needed) {
    for (const std::string& end : tokens) {
      EXPECT_TRUE(found.contains(row) && found.at(row).contains(end)) << "no longer so, to be removed from ends.txt: " << row << " " << end;
    }
  }
  if (std::getenv("TEGULA_ENDS")) {  // prints the lines of ends.txt
    for (const auto& [row, tokens] : found) {
      std::cout << row;
      for (const std::string& end : tokens) std::cout << " " << end;
      std::cout << "\n";
    }
  }
}

}  // namespace
}  // namespace tegula
