// A reader of one kind of file names the kind of another one that it is given.

#include "tegula/io/file_kind.h"

#include <gtest/gtest.h>

#include <set>

#include "tegula/data/idx.h"
#include "tegula/io/csv.h"
#include "tegula/io/gguf.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/npy.h"
#include "tegula/io/png.h"
#include "tegula/io/safetensors.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

using std::string_literals::operator""s;
using testing::bytes_of;

std::string zip_with(const std::string& name) {
  return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(name.size()) + "\0\0\0"s + name;
}

const std::string kPyTorch = zip_with("archive/data.pkl"), kHdf5 = "\x89HDF\r\n\x1a\n\0\0\0\0"s, kOnnx = "\x08\x08\x12\x07pytorch"s;

TEST(FileKind, IsToldByTheFirstBytes) {
  const std::pair<std::string, FileKind> cases[] = {
      {"", FileKind::Unknown},
      {"the 0.1 0.2", FileKind::Unknown},
      {"a,b\n1,2\n", FileKind::Unknown},
      {"\x0a\0\0\0\0\0\0\0{\"a\":{}}  "s, FileKind::Safetensors},
      {"\x93NUMPY\1\0"s, FileKind::Npy},
      {zip_with("weights.npy"), FileKind::Npz},
      {zip_with("photo.jpg"), FileKind::Zip},
      {"PK\5\6"s, FileKind::Zip},
      {kPyTorch, FileKind::PyTorch},
      {zip_with("net/data/0"s) + "FB\x1a\0"s, FileKind::PyTorch},
      {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", FileKind::PyTorch},
      {"\x80\x04\x95", FileKind::Pickle},
      {"\x80\x02\0\0\x20\x03\0\0"s, FileKind::Unknown},  // 640, 800: a checkpoint of llama2.c
      {zip_with("metadata.json"), FileKind::Keras},
      {zip_with("[Content_Types].xml"), FileKind::Office},
      {kOnnx, FileKind::Onnx},
      {"\x08\x01\x12\x07pytorch"s, FileKind::Onnx},
      {"\x08\x01\x12\xff\x01", FileKind::SavedModel},
      {"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02"s, FileKind::SentencePiece},
      {kHdf5, FileKind::Hdf5},
      {"GGUF\3\0\0\0"s, FileKind::Gguf},
      {"\0\0\x08\x03\0\0\xea\x60"s, FileKind::Idx},
      {"\x89PNG\r\n\x1a\n", FileKind::Png},
      {"\xff\xd8\xff\xe0", FileKind::Jpeg},
      {"\x1f\x8b\x08", FileKind::Gzip},
      {"version https://git-lfs.github.com/spec/v1\n", FileKind::LfsPointer},
      {" \n<!DOCTYPE HTML><html>", FileKind::Html},
      {" {\"a\": 1}", FileKind::Json},
      {"\xff\xfe"
       "a\0b\0"s,
       FileKind::Utf16},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(name_of(kind_of(bytes_of(text))), name_of(kind)) << ::testing::PrintToString(text);
}

TEST(FileKind, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(FileKind::Utf16); ++kind)
    EXPECT_TRUE(names.insert(name_of(static_cast<FileKind>(kind))).second) << kind;
}

TEST(FileKind, EveryReaderSaysWhatItWasGiven) {
  EXPECT_ERROR(parse_safetensors(bytes_of(kPyTorch), "x.pt"), "safetensors: got x.pt: a PyTorch file, expected a safetensors file");
  EXPECT_ERROR(parse_safetensors(bytes_of(kOnnx), "x.onnx"), "x.onnx: an ONNX file");
  EXPECT_ERROR(parse_safetensors(bytes_of(kHdf5), "x.h5"), "x.h5: an HDF5 file, as Keras writes them");
  EXPECT_ERROR(parse_safetensors(bytes_of("GGUF\3\0\0\0"s), "x.gguf"), "x.gguf: a GGUF file");
  EXPECT_ERROR(parse_npy(bytes_of(kPyTorch), "x"), "npy: got x: a PyTorch file, expected a .npy file");
  EXPECT_ERROR(parse_npz(bytes_of(kPyTorch), "x"), "npz: got x: a PyTorch file, expected an .npz archive");
  EXPECT_ERROR(parse_png(bytes_of("GIF89a"), "x.png"), "png: got x.png: a GIF picture, expected a PNG picture");
  EXPECT_ERROR(parse_jpeg(bytes_of("RIFF1234WEBP"), "x.jpg"), "jpeg: got x.jpg: a WebP picture, expected a JPEG picture");
  EXPECT_ERROR(parse_gguf_metadata(bytes_of("tjgg"), "x"), "gguf: got x: a GGML file");
  EXPECT_ERROR(data::parse_idx(bytes_of("\x89PNG\r\n\x1a\n"), "x"), "idx: got x: a PNG picture, expected an idx file");
  const testing::TemporaryFolder folder;
  write_atomically(folder / "x.csv", bytes_of(zip_with("[Content_Types].xml")));
  EXPECT_ERROR(read_csv(folder / "x.csv"), "x.csv: an Excel workbook or another Office document, expected a table of text");
  write_atomically(folder / "x", bytes_of("%PDF-1.4"));
  EXPECT_ERROR(read_picture(folder / "x"), "read_picture: got " + (folder / "x") + ": a PDF document, expected a PNG or JPEG picture");
}

}  // namespace
}  // namespace tegula::io
