#pragma once
// The header of a safetensors file, checked: names, dtypes, shapes and positions of its tensors. For safetensors.cpp.

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

struct StoredType {
  std::string_view text;
  DType dtype;
};
constexpr StoredType kTypes[] = {{"F64", f64}, {"F32", f32}, {"F16", f16}, {"BF16", bf16},    {"I64", i64},
                                 {"I32", i32}, {"I16", i16}, {"I8", i8},   {"U8", u8},        {"BOOL", boolean},
                                 {"U16", u16}, {"U32", u32}, {"U64", u64}, {"F8_E4M3", e4m3}, {"F8_E5M2", e5m2}};

struct Entry {
  std::string name;
  std::string type;  // as written in the header
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  // begin, end; bytes from the start of the data
  const StoredType* stored = nullptr;  // null: a dtype that cannot be read
  std::string unreadable = {};         // why a tensor cannot be read; empty when it can

  Shape dims() const;  // the shape, if readable
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

/// The header's length from the file's first bytes, checked against the file's size. Throws Error for a file that begins as another kind.
std::uint64_t header_length(std::span<const std::byte> beginning, std::uint64_t file_bytes, const Complaint& complain);
/// Throws Error for violations of the format. Tensors whose dtype or rank Tegula does not have are marked.
Header parse_header(std::span<const std::byte> text, std::uint64_t data_bytes, const Complaint& complain);
/// Throws the error of a tensor that cannot be read.
[[noreturn]] void complain_of(const Entry& entry, const Complaint& complain);

}  // namespace tegula::io::safetensors
