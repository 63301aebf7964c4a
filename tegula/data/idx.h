#pragma once
// The idx format of the MNIST files: a big-endian array with a small header (http://yann.lecun.com/exdb/mnist).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tegula/core/host_array.h"

namespace tegula::data {

/// The array in an idx file, plain or gzip (told by contents, not by name): u8 i8 i16 i32 f32 f64, rank 1 to 8, in the machine's
/// byte order. Throws Error for a missing file, a wrong magic, another dtype or rank, and sizes that do not fill the file
/// exactly; of a compressed file no more is decompressed than its header promises.
HostArray read_idx(const std::string& path);

/// The same from memory. `name` stands for the file in messages.
HostArray parse_idx(std::span<const std::byte> bytes, std::string_view name);

}  // namespace tegula::data
