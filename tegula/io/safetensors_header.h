#pragma once
// The header of a safetensors file, checked: names, dtypes, shapes and places of its tensors. For safetensors.cpp.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/io/safetensors.h"

namespace tegula::io::safetensors {

inline constexpr std::uint64_t kLengthBytes = 8;
inline constexpr std::uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
inline constexpr std::string_view kMetadataKey = "__metadata__";

/// How elements lie in the file, and what they become in memory: itself, or the next wider dtype that Tegula has, which holds all of their numbers.
struct StoredType {
  std::string_view text;
  std::size_t bytes;  // an element in the file
  DType dtype;        // in memory
};
constexpr StoredType kTypes[] = {{"F64", 8, f64}, {"F32", 4, f32}, {"F16", 2, f16}, {"BF16", 2, bf16},   {"I64", 8, i64},
                                 {"I32", 4, i32}, {"I16", 2, i16}, {"I8", 1, i8},   {"U8", 1, u8},       {"BOOL", 1, boolean},
                                 {"U16", 2, i32}, {"U32", 4, i64}, {"U64", 8, i64}, {"F8_E4M3", 1, f16}, {"F8_E5M2", 1, f16}};

struct Entry {
  std::string name;
  std::string type;  // as written in the header
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  // begin, end; bytes from the start of the data
  const StoredType* stored = nullptr;  // null: a dtype that cannot be read
  std::string unreadable = {};         // why a tensor cannot be read; empty when it can

  Shape dims() const;  // of a readable one
};

struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
};

/// Throws the errors of one file.
struct Complaint {
  std::string file;
  [[noreturn]] void operator()(const std::string& got, std::string expected,
                               std::string advice = "the file is damaged, or is no safetensors file") const;
};

/// Tensor names come from the file: shown whole they could fill the screen.
std::string in_quotes(const std::string& text);

/// The header's length out of the file's first bytes, checked against the file's size. Throws for what begins as another kind of file.
std::uint64_t header_length(std::span<const std::byte> beginning, std::uint64_t file_bytes, const Complaint& complain);
/// Throws for what the format forbids. Tensors whose dtype or rank Tegula does not have are marked.
Header parse_header(std::span<const std::byte> text, std::uint64_t data_bytes, const Complaint& complain);
/// Throws the error of a tensor that cannot be read.
[[noreturn]] void complain_of(const Entry& entry, const Complaint& complain);

}  // namespace tegula::io::safetensors
