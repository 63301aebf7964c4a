#pragma once
// Bad files for the programs in this folder, which each run in a working directory of their own.

#include <fstream>
#include <string>

namespace errors {

/// A file with these contents; its path.
inline std::string file_of(const std::string& bytes) {
  std::ofstream("file", std::ios::binary) << bytes;
  return "file";
}

/// A safetensors file with this header and 4 bytes of data; its path.
inline std::string safetensors_of(const std::string& header) {
  std::string size(8, '\0');
  size[0] = static_cast<char>(header.size());
  return file_of(size + header + std::string(4, '\0'));
}

}  // namespace errors
