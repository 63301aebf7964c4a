#include "tegula/models/model_file.h"

#include <charconv>
#include <cmath>

#include "tegula/core/error.h"

namespace tegula::models {
namespace {

constexpr const char* kKind = "tegula.model";
constexpr std::string_view kNumber = "tegula.number.", kText = "tegula.text.";

std::string spelled(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

[[noreturn]] void refuse(const std::string& path, const std::string& got, const std::string& expected) {
  throw Error({.op = "read_model_file",
               .got = path + ": " + got,
               .expected = expected,
               .advice = "was the file written by tegula train, and for this command?"});
}

}  // namespace

double ModelDescription::number(const std::string& name, double least, double most, const std::string& path) const {
  const auto found = numbers.find(name);
  if (found == numbers.end()) refuse(path, "no number \"" + name + "\" in its metadata", "a model of kind " + kind);
  if (!(found->second >= least && found->second <= most))
    refuse(path, name + " = " + spelled(found->second), spelled(least) + " to " + spelled(most));
  return found->second;
}

std::int64_t ModelDescription::whole(const std::string& name, std::int64_t least, std::int64_t most, const std::string& path) const {
  const double value = number(name, static_cast<double>(least), static_cast<double>(most), path);
  if (value != std::floor(value)) refuse(path, name + " = " + spelled(value), "a whole number");
  return static_cast<std::int64_t>(value);
}

const std::string& ModelDescription::text(const std::string& name, const std::string& path) const {
  const auto found = texts.find(name);
  if (found == texts.end()) refuse(path, "no text \"" + name + "\" in its metadata", "a model of kind " + kind);
  return found->second;
}

io::Metadata metadata_of(const ModelDescription& description) {
  io::Metadata out{{kKind, description.kind}};
  for (const auto& [name, value] : description.numbers) out[std::string(kNumber) + name] = spelled(value);
  for (const auto& [name, value] : description.texts) out[std::string(kText) + name] = value;
  return out;
}

void write_model_file(const std::string& path, const ModelDescription& description, const StateDict& state) {
  io::NamedArrays arrays;
  for (const auto& [name, value] : state) arrays.emplace_back(name, value.to_array());
  io::write_safetensors(path, arrays, metadata_of(description));
}

ModelFile read_model_file(const std::string& path) {
  const io::Safetensors file = io::read_safetensors(path);
  ModelFile out;
  for (const auto& [key, value] : file.metadata) {
    if (key == kKind) out.description.kind = value;
    if (key.starts_with(kText)) out.description.texts[key.substr(kText.size())] = value;
    if (!key.starts_with(kNumber)) continue;
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) refuse(path, key + " \"" + value.substr(0, 40) + "\"", "a number");
    out.description.numbers[key.substr(kNumber.size())] = number;
  }
  if (out.description.kind.empty())
    refuse(path, std::string("no entry ") + kKind + " in its metadata", "a file that says which model it holds");
  for (const auto& [name, array] : file.tensors) {
    if (name.find('/') == std::string::npos) out.state.push_back({name, from_array(array)});  // a checkpoint has more: optimizer/…
  }
  return out;
}

}  // namespace tegula::models
