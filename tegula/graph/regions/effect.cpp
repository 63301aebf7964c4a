#include "tegula/graph/regions/effect.h"

namespace tegula {

const Ref<const Op>& barrier_op() {
  static const Ref<const Op> op(new BarrierOp);
  return op;
}

}  // namespace tegula
