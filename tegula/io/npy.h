#pragma once
// NumPy's files: .npy holds one array, .npz several under names (NumPy Enhancement Proposal 1; "numpy.lib.format").

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tegula/io/file.h"
#include "tegula/io/safetensors.h"

namespace tegula::io {

/// The array: f64 f32 f16, integers and booleans, of either byte order, in C or Fortran order, rank up to 8. u16 becomes i32; u32 and u64
/// become i64. Throws Error for other dtypes (complex numbers, texts, objects), a u64 beyond 2^63 - 1, and damaged files.
HostArray read_npy(const std::string& path);
/// The same from memory. `name` stands for the file in messages.
HostArray parse_npy(std::span<const std::byte> bytes, std::string_view name);
/// Version 1.0, little-endian, C order. bf16, which NumPy does not know, is an Error.
void write_npy(const std::string& path, const HostArray& array);
Bytes npy_bytes(const HostArray& array, std::string_view name = "npy");

/// The arrays of an .npz archive under their names without ".npy", in the order of the archive: np.savez and np.savez_compressed.
/// Needs libzip. Throws Error without it, for damaged files, and what parse_npy throws.
NamedArrays read_npz(const std::string& path);
NamedArrays parse_npz(std::span<const std::byte> bytes, std::string_view name);
/// An archive that np.load reads, written atomically. Throws Error for a name that is empty or comes twice.
void write_npz(const std::string& path, const NamedArrays& arrays);

}  // namespace tegula::io
