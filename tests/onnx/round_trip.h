#pragma once
// A function of tensors, written as an ONNX model and read again: the same values, the same gradients. $TEGULA_ONNX_SAVED is a folder that takes the models with
// arguments and results, for scripts/differential_onnx_saved.py.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tegula/io/npy.h"
#include "tegula/onnx.h"

namespace tegula::test {

/// The greatest difference, relative to the greatest value; infinite where one of them is no number and the other is.
inline double difference(const Tensor& got, const Tensor& expected) {
  const auto a = got.to_host<double>(), b = expected.to_host<double>();
  double most = 0, scale = 1e-3;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::isfinite(b[i])) scale = std::max(scale, std::abs(b[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    most = std::isfinite(a[i] - b[i]) ? std::max(most, std::abs(a[i] - b[i])) : HUGE_VAL;
  }
  return most / scale;
}

inline onnx::File read_again(const onnx::File& file) {
  const std::string bytes = onnx::bytes_of(file);
  return onnx::parse_file(std::as_bytes(std::span(bytes)), file.path);
}

/// A folder with the model, what it is called with and what it gives, if somebody asks for it.
inline void hand_out(const std::string& name, const onnx::File& file, const std::vector<Tensor>& x, const std::vector<Tensor>& y) {
  const char* const folder = std::getenv("TEGULA_ONNX_SAVED");
  const auto is_unknown = [](const Tensor& t) { return t.dtype() == bf16 || is_float8(t.dtype()); };  // to NumPy
  if (!folder || std::ranges::any_of(x, is_unknown) || std::ranges::any_of(y, is_unknown)) return;
  const std::filesystem::path place = std::filesystem::path(folder) / name;
  std::filesystem::create_directories(place);
  onnx::write_file(file, place / "model.onnx");
  const auto write = [&](const char* stem, std::size_t i, const Tensor& t) {
    io::write_npy(place / (stem + std::to_string(i) + ".npy"), t.to_array());
  };
  for (std::size_t i = 0; i < x.size(); ++i) write("input", i, x[i]);
  for (std::size_t i = 0; i < y.size(); ++i) write("output", i, y[i]);
}

struct RoundTrip {
  double tolerance = 1e-6;  // of values
  double gradient_tolerance = 1e-5;  // of gradients by parameters and arguments
  bool gradients = true;
  std::vector<onnx::OpenAxis> open = {};
};

/// A number that depends on each element of the results in a way of its own: the squares behind a norm always have the same sum.
inline Tensor objective(const std::vector<Tensor>& y) {
  Tensor total;
  for (const Tensor& one : y) {
    if (!is_float(one.dtype())) continue;
    const Tensor term = sum(tanh(one) * reshape(cos(arange(static_cast<double>(one.numel()))), one.shape()));
    total = total.defined() ? total + term : term;
  }
  return total;
}

/// f over a list of tensors, whose Variables are `names`.
inline void check_round_trip(const std::string& name, const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                             const Parameters& names, const std::vector<Tensor>& x, const RoundTrip& options = {}) {
  const std::vector<Tensor> expected = f(x);
  for (const std::int64_t opset : {17, 21, 23}) {
    SCOPED_TRACE(name + ", operator set " + std::to_string(opset));
    const onnx::File file = onnx::to_file(name + ".onnx", {.opset = opset, .open = options.open, .names = names}, f, x);
    hand_out(name + "-" + std::to_string(opset), file, x, expected);
    const onnx::File again = read_again(file);
    for (const onnx::Finding& finding : onnx::check(again)) ADD_FAILURE() << finding.node << ": " << finding.problem;
    if (::testing::Test::HasFailure()) return;
    onnx::Model model(again);
    const std::vector<Tensor> got = model(x), compiled = jit([&](const std::vector<Tensor>& in) { return model(in); })(x);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), expected[i].shape()) << "result " << i;
      ASSERT_EQ(got[i].dtype(), expected[i].dtype()) << "result " << i;
      EXPECT_LE(difference(got[i], expected[i]), options.tolerance) << "result " << i;
      EXPECT_LE(difference(compiled[i], expected[i]), options.tolerance) << "result " << i << " of a jit-ed function";
    }
    if (!options.gradients || !objective(expected).defined()) continue;
    std::vector<Wrt> ours, theirs;
    std::vector<std::string> which;
    for (const Parameter& parameter : parameters(model)) {
      const auto found = std::ranges::find(names, parameter.name, &Parameter::name);
      if (found == names.end()) {
        ADD_FAILURE() << "a parameter " << parameter.name << " that the function has not";
        continue;
      }
      ours.emplace_back(*found), theirs.emplace_back(parameter), which.push_back(parameter.name);
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      if (is_float(x[i].dtype())) ours.emplace_back(x[i]), theirs.emplace_back(x[i]), which.push_back("argument " + std::to_string(i));
    const std::vector<Tensor> want = grad(objective(f(x)), ours), have = grad(objective(model(x)), theirs);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_LE(difference(have[i], want[i]), options.gradient_tolerance) << which[i];
  }
}

/// A module with one result.
template <class Net, class... X>
void check_module(const std::string& name, Net& net, const RoundTrip& options, const X&... x) {
  eval(net);
  check_round_trip(
      name,
      [&](const std::vector<Tensor>& in) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
          return std::vector<Tensor>{net(in[I]...)};
        }(std::index_sequence_for<X...>());
      },
      nn::state(net), {x...}, options);
}

}  // namespace tegula::test
