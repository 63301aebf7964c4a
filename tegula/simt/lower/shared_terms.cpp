// Products whose terms the blocks of a cluster share.

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;

/// Calls f in loops over the rows' vectors, of so many columns.
template <class F>
void Lowering::each_vector(std::int64_t columns, F&& f) {
  const auto each = [&](const char* counter, std::int64_t end, const Body& body) {
    add(simt::Loop{.name = counter, .end = end, .unroll = 0, .body = block_of(body)});
  };
  each("r", grid_.row_steps, [&] { each("c", columns / (std::int64_t{grid_.column_threads} * grid_.vector), f); });
}

/// Declares the sums of the own part, and in a scope of its own, which gather_sums closes, those of all of the tile, which hide them there.
void Lowering::begin_shared_sums(Id loop) {
  const Id sum = at(loop).regions[0].parameters[1];
  const Shape& shape = a_.type(sum).shape;
  const simt::Type type = simt::type_of(a_.type(sum));
  declare(sum);
  open_.emplace_back();
  declare(variable(sum), type, {grid_.row_steps, shape[1] / (std::int64_t{grid_.column_threads} * grid_.vector), grid_.vector});
  each_vector(shape[1], [&] {
    for (int k = 0; k < grid_.vector; ++k) assign(simt::element(variable(sum), "r", "c", k), simt::zero(type.dtype));
  });
}

/// Each block takes as many iterations, one behind the other.
void Lowering::share_iterations(Id loop, simt::For& iterations) {
  const std::int64_t blocks = grid_.parts();
  const simt::Type whole = iterations.type;
  const Name share("share", loop), from("from", loop), until("until", loop);
  const Expression step = simt::group(iterations.step), all = simt::group(step * blocks);
  const Expression length = simt::group(iterations.end - simt::group(iterations.begin));
  let(whole, share, simt::group(length + all - 1) / all * step);
  let(whole, from, iterations.begin + Expression("block") * Expression(share));
  const Expression end = simt::group(Expression(from) + Expression(share));
  let(whole, until, simt::choose(end < iterations.end, end, iterations.end));
  iterations.begin = from, iterations.end = until;
}

/// Each block leaves the sums of another one's part in that one's ring, which nobody needs any more, and its own in its own; then each adds up the sums of its part,
/// in the order of the blocks.
void Lowering::gather_sums(Id loop) {
  const Id sum = at(loop).regions[0].parameters[1];
  const TileRingPlan& ring = decided_.products.rings.at(loop);
  const Name sums = variable(sum);
  const DType dtype = a_.type(sum).dtype;
  const std::int64_t columns = grid_.columns_of_part(), threads = grid_.threads(), bytes = 2 * sizeof(float);
  const std::int64_t vectors = columns / (std::int64_t{grid_.column_threads} * grid_.vector);
  const auto place = [&](const Expression& which) {
    const Expression vector = simt::group(which * (grid_.row_steps * vectors) + Expression("r") * vectors + "c");
    const Expression begin = Expression("tiles") + ring.place;
    return simt::reinterpret(simt::pointer_to(simt::stored(dtype)), begin + vector * (threads * bytes) + simt::thread_index() * bytes);
  };
  const auto each_block = [&](std::int64_t begin, const Body& body) {
    add(simt::Loop{.name = "other", .begin = begin, .end = grid_.parts(), .unroll = 0, .body = block_of(body)});
  };
  add(simt::Barrier{.kind = simt::Barrier::Kind::Cluster});  // nobody reads the rings any more
  each_block(0, [&] {
    each_vector(columns, [&] {
      add(simt::SendWide{
          .count = 2, .place = place("block"), .block = "other", .source = simt::element(sums, "r", Expression("other") * vectors + "c")});
    });
  });
  simt::Block whole = std::move(open_.back());
  open_.pop_back();
  add(simt::Scope{std::move(whole)});
  add(simt::Barrier{.kind = simt::Barrier::Kind::Cluster});
  const auto take = [&](const Expression& which, bool adds) {
    each_vector(columns, [&] {
      declare("x", simt::computed(dtype), {2});
      add(simt::LoadWide{.wide = 2, .count = 2, .pointer = place(which), .target = "x", .limited = {}});
      for (int k = 0; k < 2; ++k)
        add(simt::Assign{.target = simt::element(sums, "r", "c", k), .value = simt::element("x", k), .adds = adds});
    });
  };
  take(0, false);
  each_block(1, [&] { take("other", true); });
}

}  // namespace tegula::gpu
