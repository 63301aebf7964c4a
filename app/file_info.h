#pragma once
// The contents of a file: kind, tensors, metadata, columns, tokens.

#include <cstdint>
#include <string>

namespace tegula::app {

/// A description of a file, or of a folder of pictures, in lines; at most `most` tensors, columns or entries of each list. Throws Error for a file that cannot be
/// read. A file of a kind that Tegula does not read is named, with advice.
std::string describe_file(const std::string& path, std::int64_t most);

}  // namespace tegula::app
