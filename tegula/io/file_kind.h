#pragma once
// Recognises a file by its first bytes, so that readers say "a PyTorch file" instead of "damaged".

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::io {

enum class FileKind : std::uint8_t {
  Unknown,  // which text is, too
  // what Tegula reads
  Safetensors,
  Npy,
  Npz,
  Gguf,
  Idx,
  Png,
  Jpeg,
  Gzip,
  SentencePiece,
  Json,
  PyTorch,
  Hdf5,
  Keras,
  // kinds that it does not read
  Onnx,
  SavedModel,
  TfLite,
  Pickle,
  Ggml,
  Parquet,
  Arrow,
  Office,
  OldOffice,
  Zip,
  Sqlite,
  Pdf,
  Html,
  Xml,
  LfsPointer,
  Tar,
  Zstd,
  Xz,
  Bzip2,
  Gif,
  Bmp,
  Webp,
  Tiff,
  Program,
  Utf16
};

/// The number of bytes of a file that kind_of looks at, at most.
inline constexpr std::size_t kKindBytes = 512;

/// The first bytes of a file, kKindBytes or all that it has. Throws Error in the name of `op` for one that cannot be read.
std::vector<std::byte> beginning_of(const std::string& path, std::string_view op);
/// The kind by the first bytes of a file (kKindBytes, or all that it has).
FileKind kind_of(std::span<const std::byte> beginning);
/// "a PyTorch file".
std::string_view name_of(FileKind kind);
/// Advice on how to read such a file here; may be empty.
std::string_view advice_for(FileKind kind);

/// Throws Error when the bytes begin as those of a known kind that is none of `wanted`; every reader asks it first. `expected`: "a PNG picture".
void refuse_other_kinds(std::span<const std::byte> bytes, std::initializer_list<FileKind> wanted, std::string_view op,
                        std::string_view name, std::string_view expected);
/// The same for readers of text: HTML, XML and JSON are text.
void refuse_binary_kinds(std::span<const std::byte> bytes, std::string_view op, std::string_view name, std::string_view expected);

}  // namespace tegula::io
