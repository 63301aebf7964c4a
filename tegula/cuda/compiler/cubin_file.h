#pragma once
// Compiled kernels in the cache on disk.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tegula/runtime/cache_file.h"

namespace tegula::gpu {

using runtime::cache_folder;

/// A compiled unit under the key of its source; an entry under another key counts as none.
std::optional<std::vector<char>> read_cubin(const std::filesystem::path& path, const std::string& key);
void write_cubin(const std::filesystem::path& path, const std::string& key, const std::vector<char>& cubin);

}  // namespace tegula::gpu
