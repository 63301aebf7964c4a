#pragma once
// The costs of work on a device: one table of measured numbers, on which all choices by time depend.

#include <span>
#include <string>
#include <string_view>

#include "tegula/runtime/call_description.h"

namespace tegula::runtime {

/// A number with where it was measured. 0: not known, or without a meaning on this device.
struct Measured {
  constexpr Measured(double value = 0, std::string_view where = {}) : value(value), where(where) {}
  constexpr operator double() const { return value; }
  double value;
  std::string_view where;
};

/// The table of a device. Its numbers decide which way is taken, what goes first and on how many threads; no value computed depends on them.
struct Costs {
  // Steps of a plan, roughly
  Measured launch_seconds;  // s, of a step on a device that queues
  Measured bytes_per_second;  // B/s, that one thread moves; of a card, all of it
  Measured tile_operations_per_second;  // 1/s, elementwise ones of a tile program
  Measured call_operations_per_second;  // 1/s, floating-point ones of a call
  Measured short_launch_seconds;  // s, launches up to here on average gain from beginning before the one ahead has ended
  Measured loop_nodes;  // nodes of all steps together, up to which a loop is compiled written out: its steps fuse with each other

  // Steps on a device whose steps share threads
  Measured threads_seconds;  // s, a shorter step is not worth waking other threads for …
  Measured awake_seconds;  // s, … nor a shorter one than this where they are awake
  Measured streaming_bytes;  // B, results of a step from here on leave the caches anyway
  Measured transposed_per_second;  // 1/s, elements that one thread copies into another order of axes; 0: too many to count

  // Calls
  Measured call_seconds;  // s, what starting a library's product takes
  Measured own_call_seconds;  // s, the same of a kernel of our own in its place
  Measured tf32_per_second;  // 1/s, operations of small products of f32 rounded to tf32
  Measured halves_per_second;  // 1/s, the same of bf16 and f16
  Measured call_bytes_per_second;  // B/s, that calls read and write
  Measured unaligned_factor;  // times as long takes a product in halves of which no row begins at a multiple of 16 bytes
  Measured packed_element_seconds;  // s, an element of a transposed second operand that a product copies anew
  Measured epilogue_seconds;  // s, what starting a kernel for a convolution's bias, addend or activation takes
  Measured share_of_peak;  // share of the memory's rate (DeviceProperties) that tile programs reach

  // Work from which a question is worth asking
  Measured library_operations;  // operations of a product, below which the library's call is slower than our own
  Measured measured_product;  // operations, from which the algorithm of a product is measured
  Measured measured_convolution;  // the same of a convolution
  Measured measured_gradient;  // the same of a product with a derivative behind it
  Measured own_product;  // operations, up to which kernels of our own are tried in a product's place
  Measured opening_seconds;  // s, that these may take longer than a library that is not open yet
  Measured few_terms_product;  // terms of all results, up to which a product of at most 128 terms each is a sum in a tile program
  Measured many_terms_product;  // the same of more terms
  Measured attention_scores;  // scores of a head, from which a call is better than plain ops
  Measured sent_bytes;  // B, up to which ranks that see each other's memory exchange by a kernel of our own
  Measured copied_bytes;  // B, of the box for copies between two such ranks, if they fit
};

/// A row of the table as text has it.
struct CostField {
  std::string_view name, unit;
  Measured Costs::* member;
};
/// All rows, in the order of the struct.
std::span<const CostField> cost_fields();
/// The rows that are known: name, value, unit, where it was measured.
std::string to_string(const Costs& costs);

/// The amount of work in a call, whichever implementation computes it.
struct Work {
  double operations = 0;  // floating-point ones
  double bytes = 0;  // bytes of operands and results, each once
};
/// The work of a call; nothing for the host's turn, and for an empty description.
Work work_of(const CallDescription& description);

/// Operations by this rate or bytes by that, whichever takes longer.
double seconds_at(const Work& work, double operations_per_second, double bytes_per_second);
/// The time of a call by the table: to start it, and for its operations or its bytes, whichever takes longer. 0 if the table has no rates.
double seconds_of(const CallDescription& description, const Costs& costs);

}  // namespace tegula::runtime
