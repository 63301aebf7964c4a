#pragma once
// Collectives as ops: nodes of the graph with gradients, in plain code, eager and jit-ed.
//
// Every rank of a group calls the same ones in the same order, with tensors of one dtype and shape; where two differ all of them throw an Error that
// names both lines. Outside of jit a collective happens on the line that calls it; within, in the order of the lines.
//
// Gradients are those of Σ over the ranks of each rank's loss: the effect of a rank's tensor on the losses of the others comes back to it.

#include <span>

#include "tegula/dist/exchange/exchange.h"
#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// When a jit-ed function does an exchange.
enum class Turn : std::uint8_t {
  OfItsLine,
  AmongLayers,  // or at another place among others like it (compile/passes/exchanges.h): where all ranks of the group run one and the same function, as
  // those of tensor parallel layers do
};

/// The sum (mean, maximum) over the ranks, element by element, with the same bits on all of them. x (…) of any dtype; booleans allow Max alone, and Mean needs
/// floats. Sums of halves are made in f32 and rounded once. The gradient of equal maxima is shared among them.
Tensor all_reduce(Arg x, const Group& group = world(), Reduction reduction = Reduction::Sum, Turn turn = Turn::OfItsLine);
/// x (…, n·k, …) -> (…, k, …): rank r gets the r-th of the reduction's n parts along `axis`.
Tensor reduce_scatter(Arg x, const Group& group = world(), Reduction reduction = Reduction::Sum, int axis = 0, Turn turn = Turn::OfItsLine);
/// x (…, k, …) -> (…, n·k, …): everybody's, joined along `axis` in the order of ranks.
Tensor all_gather(Arg x, const Group& group = world(), int axis = 0, Turn turn = Turn::OfItsLine);
/// all_gather along axis 0 for data that can be gathered again: between uses that are far apart, such as a layer's forward and backward pass, a compiled graph does
/// not hold its memory, but repeats the gather (compile/passes/exchanges.h). ZeRO's stage 3 reads parameters with it.
/// `gradient`: the format in which the gradient travels (narrow_exchange.h), Precision::bf16; without one, it travels as it is.
Tensor all_gather_anew(Arg x, const Group& group = world(), std::optional<Precision> gradient = {});
/// The root's x, of which the others give the dtype and shape.
Tensor broadcast(Arg x, int root = 0, const Group& group = world());
/// The root gets the sum (mean, maximum), the others zeros.
Tensor reduce(Arg x, int root = 0, const Group& group = world(), Reduction reduction = Reduction::Sum);
/// x (…, n·k, …) of the same shape: the r-th part along `axis` goes to rank r, and received parts lie in the order of ranks.
Tensor all_to_all(Arg x, const Group& group = world(), int axis = 0);

/// Sends x to a rank of the group, which receives it. Returns an empty tensor (0): a tensor computed from it (added to a loss: sum(token)) waits for
/// the gradient of x, which comes back from that rank. In a jit-ed function it happens even if the result is not read.
Tensor send(Arg x, int to, const Group& group = world());
/// The tensor that rank `from` sends. `after`: a tensor of shape (0) and the same dtype on which the result depends as far as gradients are concerned, such as
/// the result of send(): taking its gradient, which is empty, sends the received tensor's gradient back.
Tensor receive(const Shape& shape, DType dtype, int from, const Group& group = world(), const Tensor& after = {},
               Line where = Line::current());
/// Returns when all have come. In a jit-ed function: when it runs.
void barrier(const Group& group = world(), Line where = Line::current());

}  // namespace tegula::dist
