#include "tegula/formats/json_reader.h"

#include <algorithm>
#include <stdexcept>

#include "tegula/core/json.h"
#include "tegula/formats/attribute_json.h"

namespace tegula::formats {

void JsonReader::refuse(const std::string& got, const std::string& expected) const {
  complain_(got, expected);
  throw std::logic_error("a complaint returned");
}

const nlohmann::json& JsonReader::at(const json& object, const char* key) const {
  if (!object.is_object()) refuse(shown(object), "an object that has \"" + std::string(key) + "\"");
  const auto found = object.find(key);
  if (found == object.end()) refuse("no \"" + std::string(key) + "\" in " + shown(object), "an object that has it");
  return *found;
}

const nlohmann::json& JsonReader::list(const json& given) const {
  if (!given.is_array()) refuse(shown(given), "a list");
  return given;
}

const nlohmann::json& JsonReader::list(const json& given, std::size_t count) const {
  if (list(given).size() != count) refuse(shown(given), "a list of " + std::to_string(count));
  return given;
}

std::string JsonReader::text(const json& given) const {
  if (!given.is_string()) refuse(shown(given), "a text");
  return given.get<std::string>();
}

bool JsonReader::flag(const json& given) const {
  if (!given.is_boolean()) refuse(shown(given), "true or false");
  return given.get<bool>();
}

bool JsonReader::flag_at(const json& object, const char* key) const {
  const auto found = object.find(key);
  return found != object.end() && flag(*found);
}

std::int64_t JsonReader::whole(const json& given) const {
  const bool fits = given.is_number_integer() && !(given.is_number_unsigned() && given.get<std::uint64_t>() >> 63 != 0);
  if (!fits) refuse(shown(given), "a whole number");
  return given.get<std::int64_t>();
}

std::int64_t JsonReader::whole(const json& given, std::int64_t least, std::int64_t most) const {
  const std::int64_t number = whole(given);
  if (number < least || number > most)
    refuse(std::to_string(number), "a number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

int JsonReader::index(const json& given, std::size_t count, int least) const {
  const std::int64_t number = whole(given);
  if (number < least || number >= static_cast<std::int64_t>(count))
    refuse("the number " + std::to_string(number), "that of one of " + std::to_string(count));
  return static_cast<int>(number);
}

std::uint64_t JsonReader::word(const json& given) const {
  if (!given.is_number_integer()) refuse(shown(given), "a word");
  return given.is_number_unsigned() ? given.get<std::uint64_t>() : static_cast<std::uint64_t>(given.get<std::int64_t>());
}

double JsonReader::real(const json& given) const {
  const auto number = number_from_json(given);
  if (!number) refuse(shown(given), "a number");
  return number->real();
}

DType JsonReader::dtype(const json& given) const {
  if (!given.is_string()) refuse(shown(given), "a dtype");
  const auto& said = given.get_ref<const std::string&>();
  const auto found = std::ranges::find_if(kAllDTypes, [&](DType one) { return name(one) == said; });
  if (found == std::end(kAllDTypes)) refuse("the dtype " + shown(given), "one of Tegula's");
  return *found;
}

Dims JsonReader::dims(const json& given) const {
  if (list(given).size() > static_cast<std::size_t>(kMaxRank)) refuse(shown(given), "at most eight numbers");
  Dims out;
  for (const json& one : given) out.push_back(whole(one));
  return out;
}

Shape JsonReader::shape(const json& given) const {
  const Shape out = dims(given);
  for (const std::int64_t size : out)
    if (size < 0) refuse("the shape " + shown(given), "sizes of at least 0");
  if (!countable(out)) refuse("the shape " + to_string(out), "fewer than 2^60 elements");
  return out;
}

std::vector<int> JsonReader::indices(const json& given, std::size_t count, int least) const {
  std::vector<int> out;
  out.reserve(list(given).size());
  for (const json& one : given) out.push_back(index(one, count, least));
  return out;
}

}  // namespace tegula::formats
