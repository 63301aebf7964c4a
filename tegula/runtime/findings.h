#pragma once
// Slow findings of a device that hold on every machine with the same device and libraries: machine code of kernels, and measured choices
// between algorithms. A plan file carries the findings that its plan needs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tegula::runtime {

class Device;

struct Findings {
  /// The output of one run of the compiler.
  struct Code {
    std::vector<std::string>
        kernels;  // keys: name, architecture, and a hash of all that the code was compiled from but the compiler's version
    std::vector<char> image;
  };
  /// A choice, as the tuning file has it (runtime/tuning.h).
  struct Choice {
    std::string section, key, choice;
    double microseconds = 0;
  };
  std::vector<Code> code;
  std::vector<Choice> choices;
  std::map<std::string, std::string> versions;  // versions of the libraries that were used, by name
};

/// The findings of one device. May be used from several threads.
class DeviceFindings {
 public:
  virtual ~DeviceFindings() = default;
  /// Now, as since() counts.
  virtual std::uint64_t moment() = 0;
  /// The findings that any thread requested since `moment`, new ones and known ones. Waits for the compiler; throws Error if the compilation fails.
  virtual Findings since(std::uint64_t moment) = 0;
  /// From now on these are found without work, in this process alone: nothing of them is written to a disk. Choices of other cards are left out.
  virtual void take(Findings findings) = 0;
  /// The version of that library here where findings of another `version` do not hold; "" stands for a library that is missing. Nothing where
  /// they hold. May open the library.
  virtual std::optional<std::string> other_version(const std::string& library, const std::string& version) = 0;
};

/// Null for a device that finds out nothing of that kind.
DeviceFindings* findings_of(Device& device);

}  // namespace tegula::runtime
