#include "tegula/io/file_kind.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"

namespace tegula::io {
namespace {

using std::string_view_literals::operator""sv;

struct Magic {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr Magic kMagic[] = {
    {0, "\x93NUMPY"sv, FileKind::Npy},
    {0, "GGUF"sv, FileKind::Gguf},
    {0, "\x89PNG\r\n\x1a\n"sv, FileKind::Png},
    {0, "\xff\xd8\xff"sv, FileKind::Jpeg},
    {0, "\x1f\x8b"sv, FileKind::Gzip},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, FileKind::PyTorch},  // before version 1.6
    {0, "\x89HDF\r\n\x1a\n"sv, FileKind::Hdf5},
    {4, "TFL3"sv, FileKind::TfLite},
    {0, "lmgg"sv, FileKind::Ggml},
    {0, "fmgg"sv, FileKind::Ggml},
    {0, "tjgg"sv, FileKind::Ggml},
    {0, "PAR1"sv, FileKind::Parquet},
    {0, "ARROW1"sv, FileKind::Arrow},
    {0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, FileKind::OldOffice},
    {0, "SQLite format 3\0"sv, FileKind::Sqlite},
    {0, "%PDF-"sv, FileKind::Pdf},
    {0, "version https://git-lfs"sv, FileKind::LfsPointer},
    {257, "ustar"sv, FileKind::Tar},
    {0, "\x28\xb5\x2f\xfd"sv, FileKind::Zstd},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     FileKind::Xz},
    {0, "BZh"sv, FileKind::Bzip2},
    {0, "GIF8"sv, FileKind::Gif},
    {8, "WEBP"sv, FileKind::Webp},
    {0, "II*\0"sv, FileKind::Tiff},
    {0, "MM\0*"sv, FileKind::Tiff},
    {0,
     "\x7f"
     "ELF"sv,
     FileKind::Program},
    {0, "\xff\xfe"sv, FileKind::Utf16},
    {0, "\xfe\xff"sv, FileKind::Utf16},
};

bool has(std::string_view text, std::size_t at, std::string_view bytes) { return text.size() >= at && text.substr(at).starts_with(bytes); }

unsigned byte_at(std::string_view text, std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0x100; }

/// A header of at most 100 MB, which is an object of JSON, behind its length.
bool is_safetensors(std::string_view text) {
  if (text.size() < 9 || text[8] != '{') return false;
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  return length >= 2 && length <= 100'000'000;
}

/// A zip archive by the name of its first member.
FileKind zip_kind(std::string_view text) {
  const std::size_t length = byte_at(text, 26) + 256 * byte_at(text, 27);
  const std::string_view name = text.size() > 30 ? text.substr(30, length) : std::string_view();
  if (name.ends_with(".npy")) return FileKind::Npz;
  if (has(text, 30 + length, "FB")) return FileKind::PyTorch;  // its padding
  for (const std::string_view part : {"/data.pkl"sv, "/.format_version"sv, "/byteorder"sv, "/.data/"sv}) {
    if (name.find(part) != std::string_view::npos) return FileKind::PyTorch;
  }
  if (name == "metadata.json" || name == "config.json" || name == "model.weights.h5") return FileKind::Keras;
  if (name == "[Content_Types].xml" || name.starts_with("_rels/") || name.starts_with("xl/")) return FileKind::Office;
  return FileKind::Zip;
}

/// Protocol buffers have no magic number: their first fields tell.
FileKind protobuf_kind(std::string_view text) {
  const unsigned first = byte_at(text, 1), second = byte_at(text, 2), third = byte_at(text, 3);
  // saved_model_schema_version and meta_graphs; or ir_version and producer, a name, of the first ONNX files.
  if (text.starts_with('\x08') && first == 1 && second == 0x12)
    return std::isalpha(static_cast<int>(byte_at(text, 4))) ? FileKind::Onnx : FileKind::SavedModel;
  if (text.starts_with('\x08') && first >= 2 && first <= 20 && (second == 0x12 || second == 0x3a))
    return FileKind::Onnx;  // ir_version, producer
  if (text.starts_with('\x0a') && second == 0x0a && third + 2 <= first && byte_at(text, 4 + third) == 0x15) return FileKind::SentencePiece;
  return FileKind::Unknown;
}

FileKind text_kind(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && std::strchr(" \t\r\n", text[0])) text.remove_prefix(1);
  std::string begin(text.substr(0, 16));
  std::transform(begin.begin(), begin.end(), begin.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) return FileKind::Html;
  if (begin.starts_with("<?xml")) return FileKind::Xml;
  if (begin.starts_with('{')) return FileKind::Json;
  return FileKind::Unknown;
}

/// 0, 0, a code of a dtype, the rank.
bool is_idx(std::string_view text) {
  const unsigned code = byte_at(text, 2), rank = byte_at(text, 3);
  return text.size() > 4 && text[0] == 0 && text[1] == 0 && (code == 8 || code == 9 || (code >= 11 && code <= 14)) && rank >= 1 &&
         rank <= 8;
}

void refuse(FileKind kind, std::string_view op, std::string_view name, std::string_view expected) {
  throw Error({.op = std::string(op),
               .got = printable(name) + ": " + std::string(name_of(kind)),
               .expected = std::string(expected),
               .advice = std::string(advice_for(kind))});
}

}  // namespace

std::vector<std::byte> beginning_of(const std::string& path, std::string_view op) {
  const InputFile file(path, op);
  std::vector<std::byte> out(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kKindBytes)));
  file.read_at(0, out);
  return out;
}

FileKind kind_of(std::span<const std::byte> beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), std::min(beginning.size(), kKindBytes));
  if (is_safetensors(text)) return FileKind::Safetensors;
  for (const Magic& magic : kMagic) {
    if (has(text, magic.at, magic.bytes)) return magic.kind;
  }
  if (text.starts_with("PK\3\4")) return zip_kind(text);
  if (text.starts_with("PK\5\6")) return FileKind::Zip;  // without members
  const bool is_pickle = text.starts_with('\x80') && byte_at(text, 1) >= 2 && byte_at(text, 1) <= 5;
  if (is_pickle && byte_at(text, 2) != 0)
    return FileKind::Pickle;  // behind the protocol is an opcode; 640 as a little-endian number begins so, too
  if (text.starts_with("BM") && byte_at(text, 14) == 40 && byte_at(text, 15) == 0) return FileKind::Bmp;
  if (is_idx(text)) return FileKind::Idx;
  if (const FileKind kind = protobuf_kind(text); kind != FileKind::Unknown) return kind;
  return text_kind(text);
}

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::Unknown: return "a file of an unknown kind";
    case FileKind::Safetensors: return "a safetensors file";
    case FileKind::Npy: return "a .npy file";
    case FileKind::Npz: return "an .npz archive";
    case FileKind::Gguf: return "a GGUF file";
    case FileKind::Idx: return "an idx file";
    case FileKind::Png: return "a PNG picture";
    case FileKind::Jpeg: return "a JPEG picture";
    case FileKind::Gzip: return "a gzip file";
    case FileKind::SentencePiece: return "a SentencePiece model";
    case FileKind::Json: return "JSON";
    case FileKind::PyTorch: return "a PyTorch file";
    case FileKind::Onnx: return "an ONNX file";
    case FileKind::Hdf5: return "an HDF5 file, as Keras writes them";
    case FileKind::Keras: return "a Keras file";
    case FileKind::SavedModel: return "a SavedModel of TensorFlow";
    case FileKind::TfLite: return "a TensorFlow Lite file";
    case FileKind::Pickle: return "a pickle of Python's";
    case FileKind::Ggml: return "a GGML file, as llama.cpp had them before GGUF";
    case FileKind::Parquet: return "a Parquet file";
    case FileKind::Arrow: return "an Arrow file";
    case FileKind::Office: return "an Excel workbook or another Office document";
    case FileKind::OldOffice: return "an old Excel workbook (.xls) or another Office document";
    case FileKind::Zip: return "a zip archive";
    case FileKind::Sqlite: return "an SQLite database";
    case FileKind::Pdf: return "a PDF document";
    case FileKind::Html: return "an HTML page";
    case FileKind::Xml: return "an XML document";
    case FileKind::LfsPointer: return "a pointer of Git LFS instead of the file itself";
    case FileKind::Tar: return "a tar archive";
    case FileKind::Zstd: return "a zstd file";
    case FileKind::Xz: return "an xz file";
    case FileKind::Bzip2: return "a bzip2 file";
    case FileKind::Gif: return "a GIF picture";
    case FileKind::Bmp: return "a BMP picture";
    case FileKind::Webp: return "a WebP picture";
    case FileKind::Tiff: return "a TIFF picture";
    case FileKind::Program: return "a program or library (ELF)";
    case FileKind::Utf16: return "text in UTF-16";
  }
  return "";
}

std::string_view advice_for(FileKind kind) {
  switch (kind) {
    case FileKind::PyTorch: return "load_state(path) and io::read_pytorch(path) read it";
    case FileKind::Onnx: return "tegula/onnx.h reads it: onnx::load(path) is the whole model, and state_dict of it the weights";
    case FileKind::Keras:
    case FileKind::Hdf5: return "load_state(path) and io::read_keras(path) read the weights of Keras, io::read_hdf5(path) any arrays";
    case FileKind::SavedModel: return "load_state(FOLDER) reads the variables of the SavedModel's folder";
    case FileKind::TfLite: return "in Python: numpy.savez(\"weights.npz\", ...) with the model's variables";
    case FileKind::Pickle: return "in Python: pickle.load it, and save arrays with numpy.savez or torch.save";
    case FileKind::Ggml: return "convert it to GGUF with llama.cpp";
    case FileKind::Parquet:
    case FileKind::Arrow: return "in Python: pandas.read_parquet(path).to_csv(\"table.csv\", index=False)";
    case FileKind::Office:
    case FileKind::OldOffice: return "save the sheet as CSV";
    case FileKind::Sqlite: return "sqlite3 -header -csv FILE \"select * from TABLE\" > table.csv";
    case FileKind::Html: return "the download gave a page, of an error perhaps: look at it, and fetch the file again";
    case FileKind::LfsPointer: return "git lfs pull fetches the file";
    case FileKind::Zip:
    case FileKind::Tar: return "unpack it first";
    case FileKind::Gzip:
    case FileKind::Zstd:
    case FileKind::Xz:
    case FileKind::Bzip2: return "decompress it first";
    case FileKind::Gif:
    case FileKind::Bmp:
    case FileKind::Webp:
    case FileKind::Tiff: return "convert it to PNG or JPEG";
    case FileKind::Utf16: return "iconv -f utf16 -t utf8";
    case FileKind::Safetensors: return "io::read_safetensors, load and load_state read such files";
    case FileKind::Npy: return "io::read_npy reads such files";
    case FileKind::Npz: return "io::read_npz reads such files";
    case FileKind::Gguf: return "load_state(path) and io::read_gguf(path) read it, and tegula generate writes text with such a model";
    case FileKind::Idx: return "data::read_idx reads such files";
    case FileKind::Png:
    case FileKind::Jpeg: return "io::read_picture reads such files";
    default: return "name the file that was meant";
  }
}

void refuse_other_kinds(std::span<const std::byte> bytes, std::initializer_list<FileKind> wanted, std::string_view op,
                        std::string_view name, std::string_view expected) {
  const FileKind kind = kind_of(bytes);
  if (kind != FileKind::Unknown && std::find(wanted.begin(), wanted.end(), kind) == wanted.end()) refuse(kind, op, name, expected);
}

void refuse_binary_kinds(std::span<const std::byte> bytes, std::string_view op, std::string_view name, std::string_view expected) {
  refuse_other_kinds(bytes, {FileKind::Html, FileKind::Xml, FileKind::Json}, op, name, expected);
}

}  // namespace tegula::io
