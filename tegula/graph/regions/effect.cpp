#include "tegula/graph/regions/effect.h"

#include <algorithm>

#include "tegula/graph/regions/loop_op.h"

namespace tegula {
namespace {

/// Keeps what is computed again in the backward pass from being computed early, and collectives in order.
class BarrierOp final : public ViewOp {
 public:
  std::string_view name() const override { return "barrier"; }
  std::optional<Layout> apply(const Layout& input) const override { return input; }
  bool waits() const override { return true; }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>& wanted) const override {
    std::vector<Tensor> out(wanted.size());
    out[0] = dy;
    return out;
  }
};

}  // namespace

Effect effect_of(const Op& op) {
  if (op.role() != Role::Library) return Effect::None;
  if (const LoopOp* const loop = LoopOp::of(op)) {
    const bool any = std::ranges::any_of(loop->body().nodes(), [](const Ref<Node>& node) { return effect_of(node->op()) != Effect::None; });
    return any ? Effect::Ordered : Effect::None;
  }
  const auto* const has = dynamic_cast<const HasEffect*>(&op);
  return has ? has->effect() : Effect::None;
}

const Ref<const Op>& barrier_op() {
  static const Ref<const Op> op(new BarrierOp);
  return op;
}

}  // namespace tegula
