#pragma once
// Descriptions of calls as JSON, for plan files.

#include <nlohmann/json.hpp>

#include "tegula/formats/json_reader.h"
#include "tegula/runtime/call_description.h"

namespace tegula::formats {

/// Null for a description that no file holds: an empty one, and the host's turn, which is a function.
nlohmann::json description_json(const runtime::CallDescription& description);
runtime::CallDescription description_from_json(const nlohmann::json& json, const JsonReader& reader);

nlohmann::json layout_json(const Layout& layout);
/// A layout with as many strides as sizes.
Layout layout_from_json(const nlohmann::json& json, const JsonReader& reader);

}  // namespace tegula::formats
