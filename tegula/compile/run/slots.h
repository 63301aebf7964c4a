#pragma once
// Addresses that stay the same from call to call, so that a device can replay a recording.

#include <vector>

#include "tegula/graph/node.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The arguments and results of one jit-ed executable on an asynchronous device.
class Slots {
 public:
  Slots();
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  /// Marks the slots as in use for its lifetime, that of a call.
  class Use {
   public:
    explicit Use(Slots& slots);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Slots& slots_;
  };
  /// Frees the memory of all slots that are not in use, except results that are still held. True if there was any. The next call has
  /// other addresses.
  static bool release_idle();

  /// The address of argument `i` at this call. An argument that lies on the device and always at one address is used where it is;
  /// others are copied into a buffer of their own (numbers only when they changed).
  void* argument(std::size_t i, const Node& value, runtime::Device& device);

  /// The buffer into which the last call copied argument `i`; null if it was used in place.
  void* copied(std::size_t i) const { return i < arguments_.size() && arguments_[i].buffer ? arguments_[i].buffer->data() : nullptr; }

  /// The buffer for result `o`, a value like `like`: the same as at the last call. If the last result is still held, its contents first move to
  /// another buffer.
  const Ref<Buffer>& result(std::size_t o, const Node& like, runtime::Device& device);
  /// Records the node that got the buffer of result `o`.
  void given(std::size_t o, Ref<Node> node) { results_[o].node = std::move(node); }

 private:
  struct Argument {
    Ref<Buffer> buffer;  // null while the argument is used where it is
    void* address = nullptr;
    std::vector<std::byte> number;  // the last contents, when they are few bytes of the host
  };
  struct Result {
    Ref<Buffer> buffer;
    Ref<Node> node;
  };
  std::vector<Argument> arguments_;
  std::vector<Result> results_;
  bool used_ = false;
};

}  // namespace tegula::compile
