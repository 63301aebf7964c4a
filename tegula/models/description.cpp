#include "tegula/models/description.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tegula/core/error.h"

namespace tegula::models {
namespace {
constexpr const char* kAdvice = "was the file written by tegula train or models::save?";
}

const std::string& Description::text(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found != metadata_.end()) return found->second;
  throw Error({.op = "models::load", .got = path_ + ": no entry " + key, .expected = "one", .advice = kAdvice});
}

double Description::number(const std::string& key) const {
  const auto found = metadata_.find(key);
  double value = 0;
  if (found != metadata_.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  throw Error({.op = "models::load",
               .got = path_ + ": " + (found == metadata_.end() ? "no entry " + key : key + " \"" + found->second + "\""),
               .expected = "a number",
               .advice = kAdvice});
}

std::int64_t Description::whole_number(const std::string& key, double most, double least) const {
  const double value = number(key);
  if (value >= least && value <= most && value == std::floor(value)) return static_cast<std::int64_t>(value);
  throw Error({.op = "models::load",
               .got = path_ + ": " + key + " " + number_text(value),
               .expected = "a whole number from " + number_text(least) + " to " + number_text(most),
               .advice = kAdvice});
}

void require_tensor(std::string_view op, const StateDict& state, const std::string& name, const Shape& shape, const std::string& path) {
  const auto found = std::find_if(state.begin(), state.end(), [&](const NamedTensor& one) { return one.name == name; });
  const auto refuse = [&](std::string got, std::string expected) {
    throw Error({.op = std::string(op), .got = path + " beside " + std::move(got), .expected = std::move(expected)});
  };
  if (found == state.end()) refuse("weights without " + name, "the weights of this model");
  if (found->value.shape() != shape) refuse(name + " " + to_string(found->value.shape()), to_string(shape) + ", as the sizes say");
}

StateDict model_state(const io::Safetensors& file) {
  StateDict state;
  for (const auto& [tensor, array] : file.tensors) {
    if (tensor.find('/') == std::string::npos) state.push_back({tensor, from_array(array)});
  }
  return state;
}

}  // namespace tegula::models
