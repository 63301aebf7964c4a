#pragma once
// Values on demand. Declared here, defined in compile/: the link goes up, the includes do not.

#include <span>
#include <string>

#include "tegula/graph/variable.h"

namespace tegula {

/// Computes the values of the nodes, and carries out this thread's pending writes of Variables. To spare later gradients a recomputation, it
/// also gives values to the intermediate nodes that handles hold and, when a float scalar (a loss) is requested, to the results of matmuls,
/// convolutions and other library calls. If it fails, nothing stays pending: everything that does not depend on a failed write is computed, and
/// a later read of a Variable that cannot be computed reports why.
/// Inside a trace it is an error at `where`.
void evaluate(std::span<const Ref<Node>> nodes, const Line& where);

/// Carries out this thread's pending writes of Variables, and computes the float scalars that the thread made lately and that are still held:
/// losses, and sums of them. For training loops that never read their loss (optim/optimizer.h).
void evaluate_pending(const Line& where);

/// Compiles what evaluate would run, on an asynchronous device, so that it can begin while other things are compiled.
void prepare_evaluation(std::span<const Ref<Node>> nodes, const Line& where);

/// The name of the device whose number a buffer carries; of the default device for a node without a value.
std::string device_name(const Node& node);
/// Throws when a check (an index out of range) failed of work that has been waited for, on the asynchronous device where this value lies: other threads may
/// work on others, and get what fails there.
void confirm_checks(const Node& value);

/// eval(a, b, …): compute now, together, so that they share work.
template <class... Tensors>
void eval(const Tensor& first, const Tensors&... rest) {
  const Ref<Node> nodes[] = {first.node(), rest.node()...};
  evaluate(nodes, Line::current());
}

/// Called for new nodes that can have values, all parts of an op at once. Nodes that have to be computed though nobody asked are remembered: exchanges, in
/// eager mode all of them, and the newest when more nodes than the bound were made on this thread since anything was computed. They are computed when the op
/// that they belong to has been made (Making), at once where none is being made.
void note_new_nodes(std::span<const Ref<Node>> nodes);
/// Computes them, in program order, each alone. Called by Making, and by reads, runs and exchanges while an op is being made.
void settle_noted();
/// The number of new nodes after which one is computed without a request; default 100 000. Program order decides, never time.
void set_pending_bound(std::size_t nodes);
/// TEGULA_EAGER=1 or set_eager(true): every node is computed when the op that it belongs to has been made, and jit is a plain call.
bool eager();
void set_eager(bool on);

}  // namespace tegula
