#pragma once
// Machine code that another process compiled, from plan files; and which libraries' versions and kernels' code were asked for, so that plan files can carry it.

#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/runtime/tuning.h"

namespace tegula::gpu {

/// A cubin, once it is compiled.
using Code = std::shared_future<std::vector<char>>;

using runtime::next_moment;

/// The key of brought code: the kernel's name, "sm_90", and a hash of the text and of the rule for a * b + c. Independent of the compiler's version.
std::string code_key(std::string_view kernel, std::string_view source, int architecture, Products products);

/// Code that is not compiled here but lies in `code`, from now on.
void bring(runtime::Findings::Code code);
/// Not valid() where nothing was brought. The image stays where it is as long as the process lives.
Code brought(const std::string& key);

/// The code that was requested, each with the moment of the latest request.
class AskedCode {
 public:
  void note(std::string key, const Code& code);
  /// The code since that moment, by image; waits for the compiler.
  std::vector<runtime::Findings::Code> since(std::uint64_t moment) const;

 private:
  struct Asked {
    Code code;
    std::uint64_t when = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Asked> all_;
};

/// To be called by the user of a library whenever its answers become part of a call or kernel.
void note_version(const std::string& library, const std::string& version);
std::map<std::string, std::string> versions_since(std::uint64_t moment);

}  // namespace tegula::gpu
