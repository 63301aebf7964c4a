#pragma once
// Findings of a device for a plan (runtime/findings.h), as JSON and the arrays of bytes beside it. For plan_file.cpp.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/formats/json_reader.h"
#include "tegula/runtime/findings.h"

namespace tegula::formats {

/// The digest tells damaged bytes from the written ones. An attacker can make bytes with the digest of others.
std::uint64_t digest(std::string_view bytes);

HostArray bytes_array(std::string_view bytes);
/// The bytes of a u8 array.
std::string_view bytes_of(const HostArray& array);

/// An array for each of `findings.code`; versions are left out.
struct StoredFindings {
  nlohmann::json json;
  std::vector<HostArray> images;
};
StoredFindings findings_json(const runtime::Findings& findings);

/// Asks `image(i)` for the i-th array, which has been checked to be u8. Complains of images that differ from the written ones.
runtime::Findings findings_from_json(const nlohmann::json& json, const JsonReader& reader,
                                     const std::function<HostArray(std::size_t)>& image);

}  // namespace tegula::formats
