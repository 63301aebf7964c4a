#pragma once
// Library ops whose calls tile programs compute, too: where a device has no such call, and where they are faster.

#include <span>
#include <string>
#include <vector>

#include "tegula/graph/op.h"
#include "tegula/runtime/call_description.h"
#include "tegula/tile/kernel_context.h"

namespace tegula {

/// A KernelOp that computes what a call does, over the call's own buffers.
struct TileWay {
  std::string text;  // tells it from the other ways of the call: the tuning file has it
  Ref<const Op> op;
  std::vector<KernelContext::Operand> inputs, outputs;  // of the op: the call's, perhaps by other shapes. Numbered as the call's
};

/// Base of a LibraryOp beside LibraryOp, which gives it as in_tiles().
class InTiles {
 public:
  virtual ~InTiles() = default;
  /// The operands of a call as they lie; operands that its epilogue reads come behind the op's own.
  struct Operands {
    std::span<const KernelContext::Operand> inputs, outputs;
    const std::vector<bool>& wanted;  // of the outputs
  };
  /// The programs that compute this call, the best by the op's own tables first; none where they do not take these operands.
  virtual std::vector<TileWay> ways_in_tiles(const runtime::CallDescription& call, const Operands& operands,
                                             const tile::TilePreference& tiles) const = 0;
};

}  // namespace tegula
