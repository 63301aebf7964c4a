#pragma once
// A call as several steps: copies into the layout that a library takes, the library's own kernel, and a kernel after it for the rest. A plan has them as steps of
// its own, with their temporaries in its memory.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tegula/runtime/call.h"

namespace tegula::runtime {

/// The access of a step to one of its buffers.
enum class Access : std::uint8_t { Reads, Writes, Updates /* reads and writes in place */ };

/// A buffer of a step: one of the call's, or a temporary that only the call's steps see.
struct StepOperand {
  enum class Kind : std::uint8_t { Buffer, Temporary } kind = Kind::Buffer;
  int index = 0;
  Access access = Access::Reads;
  bool operator==(const StepOperand&) const = default;

  static StepOperand reads(int buffer) { return {Kind::Buffer, buffer, Access::Reads}; }
  static StepOperand writes(int buffer) { return {Kind::Buffer, buffer, Access::Writes}; }
  static StepOperand updates(int buffer) { return {Kind::Buffer, buffer, Access::Updates}; }
  static StepOperand temporary(int index, Access access) { return {Kind::Temporary, index, access}; }
};

struct CallStep {
  std::string name;  // for people: "copy of the input"; empty: the described arithmetic itself
  std::shared_ptr<const Call> call;
  std::vector<StepOperand> operands;  // the buffers of `call`
};

/// In sequence they have the effect of the call. Every temporary is written before it is read.
struct CallSteps {
  std::vector<std::size_t> temporaries;  // bytes
  std::vector<CallStep> steps;
};

/// The call of these steps: the only one, where it has the call's buffers as they are, or a call that runs them with temporaries in its scratch memory. `buffers`: how many
/// the call has.
std::unique_ptr<Call> call_of(CallSteps steps, std::size_t buffers);

}  // namespace tegula::runtime
