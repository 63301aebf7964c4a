#pragma once
// HDF5 files read as data (format specification 3.0): groups, dense arrays of numbers and attributes of texts, as h5py and Keras write them. A reader
// of our own: the HDF Group's library links curl, ssl and Kerberos in Debian, and promises nothing for a hostile file.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/io/contents.h"

namespace tegula::io {

/// A group or an array of a file.
struct Hdf5Object {
  std::string path;  // "model_weights/dense/kernel:0"; empty: the root
  std::map<std::string, std::vector<std::string>> texts = {};  // attributes that hold texts: one, or a list
  bool is_array = false;
  std::string type = {};  // "f32", or words for one that is not read: "texts"
  std::vector<std::uint64_t> shape = {};
  HostArray array = {};  // of arrays of numbers that were asked for
};

/// All objects of a file, the root first, groups before their members, these in the order of the file (by name, or by creation where the file keeps it).
/// - Numbers: f64, f32, f16, bf16, and integers of 8 to 64 bits of either byte order; booleans as h5py writes them. Arrays of other types are listed without values.
/// - Storage: contiguous, compact, and in chunks by every index of HDF5 1.0 to 1.14, behind the filters shuffle, deflate and fletcher32.
/// - Links to other files and symbolic links are left out: no other file is opened.
/// Throws Error for a truncated or damaged file, and for parts of the format that are not read, which it names. Memory stays within the file's size, for compressed
/// arrays within 1,040 times that.
std::vector<Hdf5Object> read_hdf5(const std::string& path, Contents contents = Contents::Arrays);
/// The same from memory. `name` stands for the file in messages.
std::vector<Hdf5Object> parse_hdf5(std::span<const std::byte> bytes, std::string_view name, Contents contents = Contents::Arrays);

}  // namespace tegula::io
