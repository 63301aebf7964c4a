#include "tegula/formats/findings_json.h"

#include <algorithm>
#include <cstring>

#include "tegula/formats/attribute_json.h"

namespace tegula::formats {

using nlohmann::json;

std::uint64_t digest(std::string_view bytes) {
  std::uint64_t hash = bytes.size() + 0x9E3779B97F4A7C15u;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
  }
  return hash;
}

HostArray bytes_array(std::string_view bytes) {
  HostArray out = HostArray::empty(u8, {static_cast<std::int64_t>(bytes.size())});
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(out.buffer->data()));
  return out;
}

std::string_view bytes_of(const HostArray& array) { return {static_cast<const char*>(array.buffer->data()), array.bytes()}; }

StoredFindings findings_json(const runtime::Findings& findings) {
  StoredFindings out{{{"choices", json::array()}, {"code", json::array()}}, {}};
  for (const auto& one : findings.choices)
    out.json["choices"].push_back({one.section, one.key, one.choice, number_json(Number(one.microseconds))});
  for (const auto& one : findings.code) {
    const std::string_view image(one.image.data(), one.image.size());
    out.json["code"].push_back({{"kernels", one.kernels}, {"digest", digest(image)}});
    out.images.push_back(bytes_array(image));
  }
  return out;
}

runtime::Findings findings_from_json(const json& given, const JsonReader& reader, const std::function<HostArray(std::size_t)>& image) {
  runtime::Findings out;
  for (const json& one : reader.list_at(given, "choices")) {
    const json& parts = reader.list(one, 4);
    out.choices.push_back({reader.text(parts[0]), reader.text(parts[1]), reader.text(parts[2]), reader.real(parts[3])});
  }
  for (const json& one : reader.list_at(given, "code")) {
    runtime::Findings::Code code;
    for (const json& key : reader.list_at(one, "kernels")) code.kernels.push_back(reader.text(key));
    const HostArray array = image(out.code.size());
    const std::string_view bytes = bytes_of(array);
    if (digest(bytes) != reader.word(reader.at(one, "digest")))
      reader.refuse("machine code that is not as it was written", "its digest to fit");
    code.image.assign(bytes.begin(), bytes.end());
    out.code.push_back(std::move(code));
  }
  return out;
}

}  // namespace tegula::formats
