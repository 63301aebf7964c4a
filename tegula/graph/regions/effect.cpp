#include "tegula/graph/regions/effect.h"

#include "tegula/graph/tensor.h"

namespace tegula {
namespace {

/// Keeps what is computed again in the backward pass from being computed early, and chunks and collectives in order.
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

const Ref<const Op>& barrier_op() {
  static const Ref<const Op> op(new BarrierOp);
  return op;
}

}  // namespace tegula
