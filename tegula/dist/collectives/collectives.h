#pragma once
// Collectives as ops: nodes of the graph with gradients, in plain code, eager and jit-ed.
//
// Every rank of a group calls the same ones in the same order, with tensors of one dtype and shape; where two differ all of them throw an Error that
// names both lines. Outside of jit a collective happens on the line that calls it; within, in the order of the lines.
//
// Gradients are those of Σ over the ranks of each rank's loss: what a rank's tensor does to the losses of the others comes back to it.

#include <span>

#include "tegula/dist/exchange/exchange.h"
#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// When a jit-ed function does an exchange.
enum class Turn : std::uint8_t {
  OfItsLine,
  AmongLayers,  // or at another place among others like it (compile/passes/stagger_exchanges.h): where all ranks of the group run one and the same function, as
  // those of tensor parallel layers do
};

/// The sum (mean, maximum) over the ranks, element by element, on all of them with the same bits. x (…) of any dtype; booleans know Max alone, Mean is for
/// floats. Sums of halves are made in f32 and rounded once. Of equal maxima each gets its share of the gradient.
Tensor all_reduce(Arg x, const Group& group = world(), Reduction reduction = Reduction::Sum, Turn turn = Turn::OfItsLine);
/// x (…, n·k, …) -> (…, k, …): rank r gets the r-th of the reduction's n parts along `axis`.
Tensor reduce_scatter(Arg x, const Group& group = world(), Reduction reduction = Reduction::Sum, int axis = 0, Turn turn = Turn::OfItsLine);
/// x (…, k, …) -> (…, n·k, …): everybody's, joined along `axis` in the order of ranks.
Tensor all_gather(Arg x, const Group& group = world(), int axis = 0, Turn turn = Turn::OfItsLine);
/// all_gather along axis 0 of what can be had again: between uses that lie far apart, as a layer's forward and backward pass do, a compiled graph does not
/// hold its memory, but gathers anew (compile/passes/gather_anew.h). What ZeRO's stage 3 reads parameters by.
/// `gradient`: as what that travels (narrow_exchange.h), Precision::bf16 or, without one, as it is.
Tensor all_gather_anew(Arg x, const Group& group = world(), std::optional<Precision> gradient = {});
/// The root's x, of which the others give the dtype and shape.
Tensor broadcast(Arg x, int root = 0, const Group& group = world());
/// The root gets the sum (mean, maximum), the others zeros.
Tensor reduce(Arg x, int root = 0, const Group& group = world(), Reduction reduction = Reduction::Sum);
/// x (…, n·k, …) of the same shape: the r-th part along `axis` goes to rank r, and those that come lie in the order of ranks.
Tensor all_to_all(Arg x, const Group& group = world(), int axis = 0);

/// Sends x to a rank of the group, which receives it. Returns an empty tensor (0): what is computed from it (added to a loss: sum(token)) waits for
/// the gradient of x, which comes back from there. In a jit-ed function it happens whether or not that is read.
Tensor send(Arg x, int to, const Group& group = world());
/// What that rank sends. `after`: a tensor of shape (0) and the same dtype that this one follows from as far as gradients are concerned, such as what
/// send() gave: taking its gradient, which is empty, sends that of what was received back.
Tensor receive(const Shape& shape, DType dtype, int from, const Group& group = world(), const Tensor& after = {},
               Line where = Line::current());
/// Returns when all have come. In a jit-ed function: when it runs.
void barrier(const Group& group = world(), Line where = Line::current());

}  // namespace tegula::dist
