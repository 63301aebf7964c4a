#pragma once
// A proof, for each plan, that its steps find what they read: independent of the planner, from the arguments of launches and calls alone.
//
// The plan is walked once with what each place in memory holds, from "the leaves hold themselves" on. Proved is that
//  - every launch and call reads whole values, from places that hold them, at offsets where their views begin;
//  - what it writes meets nothing else it touches, unless the program loads each element where and before it stores it (program_access.h);
//  - Step::reads, writes, scratch and checks say what the arguments and the program do;
//  - results and Variables' new values are where they are looked for at the end, copies at the end included;
//  - nothing is written to a Variable before the last check, or, where failures are not waited for, by a step that is not guarded;
//  - steps that a recording may run side by side do not meet, nor do an exchange and the steps of a walk it goes on beside (overlap.h), and a run repeated in one recording begins when the one before is over;
//  - a turn of a loop writes nothing that it reads, and what is said here holds for the plan of its body;
//  - pieces that are stored within a join lie side by side there, in its order, and are all of it; a join is whole when all of them have been written;
//  - what a value of a fused group is combined with inside the program lies under it: its views move no element (the places of fuse.h).
// Not proved: what an op's program computes, that its strides follow the shape, that two instances never store one element, or that the sets of
// an op's launch write different parts of its value; loads and stores count as touching the whole value. Random graphs, run in every mode, are
// what tests those.

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// Throws an Error that names the step, the value and the place. After plan_memory.
void check_plan(const Plan& plan, bool asynchronous);

/// The part about steps side by side: `after` as dependencies() or order_of_walk() gives it. For tests; check_plan does it.
void check_order(const Plan& plan, const std::vector<std::vector<int>>& after);

/// The part about fused groups, which needs no steps: places of items, and what is combined inside their programs. `places` are the checker's own.
void check_places(const Graph& graph, std::span<const Place> places, const Fusion& fusion);

/// The part about joins: each piece that is stored within one lies where the join has it, and nothing else is said to lie there.
void check_joins(const Graph& graph, std::span<const Place> places);

/// That what `once` computes is what the last leaves of `plan` are, and that `plan` does not write what `once` reads.
void check_kept(const Plan& plan, const Graph& once);

}  // namespace tegula::compile
