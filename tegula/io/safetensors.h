#pragma once
// The safetensors format: named tensors in one file (8-byte little-endian header length, JSON header, data).

#include <cstddef>
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

struct Safetensors {
  NamedArrays tensors;  // in the order of the header
  Metadata metadata;    // "__metadata__"; empty when the file has none
};

/// Reads every tensor of a safetensors file: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL (a non-zero byte is true), rank up to 8.
/// Throws Error for what the format forbids (header over 100 MB, bad JSON, duplicate names, unknown fields, offsets that leave
/// gaps, overlap or leave the file, sizes that are not shape times dtype) and for other dtypes and ranks, naming file and tensor.
Safetensors read_safetensors(const std::string& path);

/// The same from memory. `name` stands for the file in messages.
Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view name);

/// Writes the file atomically. The header lists the tensors in the given order; data lie by decreasing element size, so that every
/// tensor is aligned to its elements. Throws Error for duplicate names, the name "__metadata__", text that is not UTF-8, and disk errors.
void write_safetensors(const std::string& path, const NamedArrays& tensors, const Metadata& metadata = {});

}  // namespace tegula::io
