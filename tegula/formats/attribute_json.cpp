#include "tegula/formats/attribute_json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "tegula/core/json.h"

namespace tegula::formats {
namespace {

constexpr std::string_view kNan = "nan:";

std::optional<std::vector<std::int64_t>> integers(const nlohmann::json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const auto& one : json) {
    if (!one.is_number_integer() || (one.is_number_unsigned() && !std::in_range<std::int64_t>(one.get<std::uint64_t>())))
      return std::nullopt;
    out.push_back(one.get<std::int64_t>());
  }
  return out;
}

}  // namespace

nlohmann::json number_json(const Number& number) {
  if (number.whole()) return number.integer();
  const double value = number.real();
  if (number.bits(u64) != Number(value).bits(u64)) return number.bits(u64);  // a whole number beyond i64
  if (std::isfinite(value)) return value;
  if (!std::isnan(value)) return value > 0 ? "inf" : "-inf";
  char bits[17];
  std::snprintf(bits, sizeof bits, "%016llx", static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  return std::string(kNan) + bits;
}

std::optional<Number> number_from_json(const nlohmann::json& json) {
  if (json.is_number_float()) return Number(json.get<double>());
  if (json.is_number_unsigned()) return Number(json.get<std::uint64_t>());
  if (json.is_number_integer()) return Number(json.get<std::int64_t>());
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  if (text == "inf") return Number(HUGE_VAL);
  if (text == "-inf") return Number(-HUGE_VAL);
  if (!text.starts_with(kNan)) return std::nullopt;
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + kNan.size(), end, bits, 16);
  const auto value = std::bit_cast<double>(bits);
  return error == std::errc() && stop == end && std::isnan(value) ? std::optional(Number(value)) : std::nullopt;
}

void AttributeWriter::dims(std::string_view name, Dims& value) { put(name, std::vector<std::int64_t>(value.begin(), value.end())); }
void AttributeWriter::one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) {
  put(name, std::string(names[index]));
}
void AttributeWriter::region(std::string_view name, Ref<const Region>&) { put(name, body_); }
void AttributeWriter::options(std::string_view name, NamedOptions& values) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, value] : values) {
    all[key] = std::visit(
        [](const auto& held) -> nlohmann::json {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, double>) return number_json(Number(held));
          else return held;
        },
        value);
  }
  put(name, all);
}

void AttributeReader::refuse(std::string_view name, const std::string& expected) const {
  const auto found = json_.find(std::string(name));
  complain_(found == json_.end() ? "no " + std::string(name) : std::string(name) + " " + shown(*found), expected);
  throw std::logic_error("a complaint returned");
}

void AttributeReader::require(bool holds, std::string_view attribute) const {
  if (!holds) refuse(attribute, "what fits the node's operands and results");
}

void AttributeReader::require_all_read() const {
  for (const auto& entry : json_.items())
    if (!read_.contains(entry.key())) refuse(entry.key(), "an attribute that the op has");
}

const nlohmann::json& AttributeReader::at(std::string_view name) {
  read_.emplace(name);
  const auto found = json_.find(std::string(name));
  if (found == json_.end()) refuse(name, "the attribute");
  return *found;
}

bool AttributeReader::presence(std::string_view name, bool) { return json_.contains(std::string(name)); }
void AttributeReader::flag(std::string_view name, bool& value) {
  const auto& json = at(name);
  if (!json.is_boolean()) refuse(name, "true or false");
  value = json.get<bool>();
}
void AttributeReader::integer(std::string_view name, std::int64_t& value) {
  const auto number = number_from_json(at(name));
  if (!number || !number->whole()) refuse(name, "a whole number");
  value = number->integer();
}
void AttributeReader::number(std::string_view name, Number& value) {
  const auto number = number_from_json(at(name));
  if (!number) refuse(name, "a number");
  value = *number;
}
void AttributeReader::dims(std::string_view name, Dims& value) {
  const auto numbers = integers(at(name));
  if (!numbers || numbers->size() > static_cast<std::size_t>(kMaxRank)) refuse(name, "at most eight whole numbers");
  value = Dims(std::span<const std::int64_t>(*numbers));
}
void AttributeReader::list(std::string_view name, std::vector<std::int64_t>& value) {
  auto numbers = integers(at(name));
  if (!numbers) refuse(name, "a list of whole numbers");
  value = std::move(*numbers);
}
void AttributeReader::text(std::string_view name, std::string& value) {
  const auto& json = at(name);
  if (!json.is_string()) refuse(name, "a text");
  value = json.get<std::string>();
}
void AttributeReader::one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) {
  std::string value;
  text(name, value);
  const auto found = std::ranges::find(names, value);
  if (found == names.end()) {
    std::string all;
    for (const std::string_view one : names) all += (all.empty() ? "" : ", ") + std::string(one);
    refuse(name, "one of " + all);
  }
  index = static_cast<std::size_t>(found - names.begin());
}
void AttributeReader::region(std::string_view name, Ref<const Region>& value) { value = read_region_(at(name)); }
void AttributeReader::options(std::string_view name, NamedOptions& values) {
  values.clear();
  const auto& json = at(name);
  if (!json.is_object()) refuse(name, "named values");
  for (const auto& entry : json.items()) {
    const auto& value = entry.value();
    const auto add = [&](auto held) { values.push_back({entry.key(), std::move(held)}); };
    if (value.is_boolean()) add(value.get<bool>());
    else if (const auto list = integers(value)) add(*list);
    else if (const auto number = number_from_json(value); number && number->whole()) add(number->integer());
    else if (number) add(number->real());
    else if (value.is_string()) add(value.get<std::string>());
    else refuse(name, "truth values, numbers, texts and lists of whole numbers");
  }
}

}  // namespace tegula::formats
