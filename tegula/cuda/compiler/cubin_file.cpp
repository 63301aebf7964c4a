#include "tegula/cuda/compiler/cubin_file.h"

#include <cstdio>
#include <string_view>

#include "tegula/simt/text_hash.h"

namespace tegula::gpu {
namespace {

/// A line of magic, a hash of the unit's source and options, and a checksum; then the cubin.
std::string header_of(const std::string& key, std::string_view image) {
  char text[120];
  std::snprintf(text, sizeof text, "tegula cubin 3 %016llx%016llx %016llx%016llx\n", static_cast<unsigned long long>(text_hash(key)),
                static_cast<unsigned long long>(text_hash(key, kTextHashSeed + 1)), static_cast<unsigned long long>(text_hash(image)),
                static_cast<unsigned long long>(image.size()));
  return text;
}

}  // namespace

std::optional<std::vector<char>> read_cubin(const std::filesystem::path& path, const std::string& key) {
  const auto contents = runtime::read_cache_file(path, runtime::Trust::Owner);
  const std::size_t end = contents ? contents->find('\n') : std::string::npos;
  if (end == std::string::npos) return {};
  const std::string_view image = std::string_view(*contents).substr(end + 1);
  if (contents->compare(0, end + 1, header_of(key, image)) != 0) return {};
  return std::vector<char>(image.begin(), image.end());
}

void write_cubin(const std::filesystem::path& path, const std::string& key, const std::vector<char>& cubin) {
  const std::string_view image(cubin.data(), cubin.size());
  runtime::write_cache_file(path, header_of(key, image).append(image));
}

}  // namespace tegula::gpu
