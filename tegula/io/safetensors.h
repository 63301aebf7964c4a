#pragma once
// The safetensors format: named tensors in one file (8-byte little-endian header length, JSON header, data).

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/core/host_array.h"

namespace tegula::io {

using NamedArrays = std::vector<std::pair<std::string, HostArray>>;
using Metadata = std::map<std::string, std::string>;

/// A list of texts as one text for metadata, JSON: ["cat","dog"]. Throws Error for a text that is no UTF-8.
std::string list_text(const std::vector<std::string>& texts);
/// The list that list_text wrote as the entry `key`. Throws Error when there is no such entry, or it is no list of texts; `name` stands for the file in messages.
std::vector<std::string> listed_texts(const Metadata& metadata, const std::string& key, std::string_view name = "metadata");

struct Safetensors {
  NamedArrays tensors;  // in the order of the header
  Metadata metadata;  // "__metadata__"; empty when the file has none
};

/// Reads the tensors of a safetensors file: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U64 U32 U16 U8 BOOL (a non-zero byte is
/// true), rank up to 8. A tensor of another dtype or rank is left out, and a warning names it.
/// Throws Error for violations of the format (header over 100 MB, bad JSON, duplicate names, unknown fields, offsets that leave
/// gaps, overlap or leave the file, sizes that are not shape times dtype), naming file and tensor.
Safetensors read_safetensors(const std::string& path);
/// The same, but large tensors are pages of the file, read at first access: the file must not be overwritten while they exist (it may be
/// replaced by another one, as Tegula's own writers do). Writes to them stay in this process.
Safetensors map_safetensors(const std::string& path);
/// One tensor of the file; nothing else is read. Throws Error also when it is not there, or of a dtype or rank that cannot be read.
HostArray read_safetensors(const std::string& path, const std::string& tensor);

/// A tensor as described in a file's header.
struct StoredTensor {
  std::string name, type;  // "BF16"
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;
};
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in the order of the header
  Metadata metadata;
};
/// The header alone, in milliseconds whatever the file's size. Throws Error for violations of the format.
SafetensorsHeader read_safetensors_header(const std::string& path);

/// The same from memory. `name` stands for the file in messages.
Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view name);

/// Writes the file atomically. The header lists the tensors in the given order; first come the data of those whose bytes are a multiple of 64, then the others by
/// decreasing element size, so that every tensor is aligned to its elements. Throws Error for duplicate names, the name "__metadata__", text that is not UTF-8, and disk errors.
void write_safetensors(const std::string& path, const NamedArrays& tensors, const Metadata& metadata = {});

}  // namespace tegula::io
