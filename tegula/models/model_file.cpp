#include "tegula/models/model_file.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/models/description.h"

namespace tegula::models {
namespace {

constexpr std::string_view kNumber = "tegula.number.", kText = "tegula.text.";

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
    refuse(path, name + " = " + number_text(found->second), number_text(least) + " to " + number_text(most));
  return found->second;
}

std::int64_t ModelDescription::whole(const std::string& name, std::int64_t least, std::int64_t most, const std::string& path) const {
  const double value = number(name, static_cast<double>(least), static_cast<double>(most), path);
  if (value != std::floor(value)) refuse(path, name + " = " + number_text(value), "a whole number");
  return static_cast<std::int64_t>(value);
}

const std::string& ModelDescription::text(const std::string& name, const std::string& path) const {
  const auto found = texts.find(name);
  if (found == texts.end()) refuse(path, "no text \"" + name + "\" in its metadata", "a model of kind " + kind);
  return found->second;
}

io::Metadata metadata_of(const ModelDescription& description) {
  io::Metadata out{{kModelKey, description.kind}};
  for (const auto& [name, value] : description.numbers) out[std::string(kNumber) + name] = number_text(value);
  for (const auto& [name, value] : description.texts) out[std::string(kText) + name] = value;
  return out;
}

void write_model_file(const std::string& path, const ModelDescription& description, const StateDict& state) {
  save_safetensors(state, path, metadata_of(description));
}

ModelFile read_model_file(const std::string& path) {
  const io::Safetensors file = io::read_safetensors(path);
  const Description said(file.metadata, path);
  ModelFile out{.description = {}, .state = model_state(file)};
  for (const auto& [key, value] : file.metadata) {
    if (key == kModelKey) out.description.kind = value;
    if (key.starts_with(kText)) out.description.texts[key.substr(kText.size())] = value;
    if (key.starts_with(kNumber)) out.description.numbers[key.substr(kNumber.size())] = said.number(key);
  }
  if (out.description.kind.empty())
    refuse(path, std::string("no entry ") + kModelKey + " in its metadata", "a file that says which model it holds");
  return out;
}

ModelFile read_model_file(const std::string& path, const WantedModel& wanted) {
  ModelFile file = read_model_file(path);
  if (file.description.kind != wanted.kind)
    throw Error({.op = wanted.op,
                 .got = path + ": the model " + file.description.kind.substr(0, 80),
                 .expected = wanted.words,
                 .advice = wanted.command + " writes such files"});
  return file;
}

}  // namespace tegula::models
