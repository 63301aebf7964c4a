#pragma once
// NumPy's files: .npy holds one array, .npz several under names (NumPy Enhancement Proposal 1; "numpy.lib.format").

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tegula/io/file.h"
#include "tegula/io/safetensors.h"

namespace tegula::io {

/// The array: f64 f32 f16, integers and booleans, of either byte order, in C or Fortran order, rank up to 8. u16 becomes i32; u32 and u64
/// become i64. Throws Error for other dtypes (complex numbers, texts, objects), a u64 beyond 2^63 - 1, and damaged files.
HostArray read_npy(const std::string& path);
/// A file's header. `dtype` is as in the file: '<f4', '|u1'.
struct NpyHeader {
  std::string dtype;
  Shape shape;
  bool fortran_order = false;
  std::size_t begin = 0;        // byte offset of the data
  std::string unreadable = {};  // the kind of elements that are no numbers: texts, objects, records, complex numbers
};
/// Reads the header from a file's first bytes; returns how many bytes it needs: pass 12 first, then that many. Throws Error if no array of
/// `file_bytes` bytes can begin so, before any of the rest is read.
std::size_t npy_header_bytes(std::span<const std::byte> first, std::string_view name);
NpyHeader parse_npy_header(std::span<const std::byte> beginning, std::uint64_t file_bytes, std::string_view name);
/// The same from memory. `name` stands for the file in messages.
HostArray parse_npy(std::span<const std::byte> bytes, std::string_view name);
/// Version 1.0, little-endian, C order. bf16, which NumPy does not know, is an Error.
void write_npy(const std::string& path, const HostArray& array);
Bytes npy_bytes(const HostArray& array, std::string_view name = "npy");

/// The arrays of an .npz archive under their names without ".npy", in the order of the archive: np.savez and np.savez_compressed. A member that is
/// whole and no array of numbers (texts, objects, records) is left out, and a warning names it.
/// Needs libzip. Throws Error without it, and for damaged or empty files and members.
NamedArrays read_npz(const std::string& path);
/// A member of an archive, without its data.
struct NpzMember {
  std::string name;
  NpyHeader header;
};
std::vector<NpzMember> list_npz(const std::string& path);
/// The array of one member; the others are not looked at. Throws Error also when there is none of that name, and for one that is no array of numbers.
HostArray read_npz(const std::string& path, const std::string& member);
NamedArrays parse_npz(std::span<const std::byte> bytes, std::string_view name);
/// An archive that np.load reads, written atomically. Throws Error for a name that is empty or comes twice.
void write_npz(const std::string& path, const NamedArrays& arrays);

}  // namespace tegula::io
