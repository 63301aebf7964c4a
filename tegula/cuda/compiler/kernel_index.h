#pragma once
// Facts about kernels without their texts, kept on disk: a start that finds a kernel here, and its code in the cache, neither lowers nor prints it.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tegula/simt/codegen.h"
#include "tegula/tile/ir.h"

namespace tegula::gpu {

/// 32 hexadecimal digits that stand for everything a kernel's text depends on, but for the generator itself.
std::string kernel_id(const tile::Program& program, const Specialisation& variant, int architecture);

/// A kernel, but for its text: Generated::source is empty.
struct KnownKernel {
  Generated generated;
  std::string key;  // code_key
  std::size_t characters = 0;  // of the text that is compiled
};

/// A file of lines, one a kernel, that processes only append to. Each line ends with a checksum that knows the generator's build, so that a line that is
/// torn, altered, or of another build is as good as none; of several with one id the last counts. Thread-safe.
class KernelIndex {
 public:
  /// `build` names the generator. Without a path nothing is kept.
  KernelIndex(std::optional<std::filesystem::path> path, std::string_view build);
  std::optional<KnownKernel> find(const std::string& id);
  /// Stored by flush().
  void note(const std::string& id, const KnownKernel& kernel);
  /// Failures do not matter: texts are made again.
  void flush();

 private:
  std::string checksum(std::string_view line) const;
  void load();

  std::optional<std::filesystem::path> path_;
  std::uint64_t seed_;
  std::mutex mutex_;
  bool loaded_ = false;
  std::string contents_;
  std::unordered_map<std::string_view, std::string_view> lines_;  // by id, both parts of contents_
  std::string noted_;
};

/// The index of this library: cache_folder()/<build>.kernels. The build is the linker's hash of the library's contents; without one nothing is kept.
KernelIndex& kernel_index();

}  // namespace tegula::gpu
