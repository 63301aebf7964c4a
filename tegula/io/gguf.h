#pragma once
// GGUF files (llama.cpp): names, sizes, vocabularies, and tensors, of which most are packed in blocks.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tegula/io/safetensors.h"

namespace tegula::io {

using GgufValue = std::variant<std::int64_t, std::uint64_t, double, bool, std::string, std::vector<std::string>, std::vector<double>,
                               std::vector<std::int64_t>, std::vector<bool>>;

struct GgufMetadata {
  std::uint32_t version = 0;
  std::uint64_t tensors = 0;  // how many follow in the file
  std::map<std::string, GgufValue, std::less<>> values;
  std::string file;           // for messages

  bool contains(std::string_view key) const { return values.contains(key); }
  /// Throws Error when the key is missing or holds another type. Whole numbers of any width are i64.
  const std::string& text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  bool truth(std::string_view key) const;
  const std::vector<std::string>& texts(std::string_view key) const;
  const std::vector<double>& numbers(std::string_view key) const;
  const std::vector<std::int64_t>& integers(std::string_view key) const;
};

/// A tensor that the file holds.
struct GgufTensor {
  std::string name, type;            // "Q4_K", "F16"; of types that came later their number
  std::vector<std::uint64_t> shape;  // the first axis is the fastest
  std::uint64_t place = 0;           // byte of the file where its numbers begin
};
/// Names, types and shapes of the tensors, in the order of the file.
std::vector<GgufTensor> read_gguf_tensors(const std::string& path);
std::vector<GgufTensor> parse_gguf_tensors(std::span<const std::byte> bytes, std::string_view name);

/// The tensors' numbers, under their names and with the slowest axis first: F32, F64, F16, BF16 and integers as they are; Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
/// Q2_K to Q6_K, Q8_K, IQ4_NL and IQ4_XS as f32, block by block as llama.cpp unpacks them. Throws Error for a damaged file, and for tensors of other types, which it names.
NamedArrays read_gguf(const std::string& path);
/// The same from memory. `name` stands for the file in messages.
NamedArrays parse_gguf(std::span<const std::byte> bytes, std::string_view name);

/// Reads the keys of a little-endian file of version 2 or 3; tensors are not looked at. Throws Error for anything else and for a truncated file.
GgufMetadata read_gguf_metadata(const std::string& path);
/// The same from memory. `name` stands for the file in messages.
GgufMetadata parse_gguf_metadata(std::span<const std::byte> bytes, std::string_view name);

}  // namespace tegula::io
