// Products whose terms the blocks of a cluster share.

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;

/// Each block takes as many iterations, one behind the other.
void Lowering::share_iterations(Id loop, simt::For& iterations) {
  const std::int64_t blocks = decided_.products.blocks;
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

/// The other blocks leave their sums in the ring of the first one, which nobody needs any more; it adds them, in the order of the blocks, and goes on alone.
void Lowering::gather_sums(Id loop) {
  const Id sum = at(loop).regions[0].parameters[1];
  const TileRingPlan& ring = decided_.products.rings.at(loop);
  const Name sums = variable(sum);
  const DType dtype = a_.type(sum).dtype;
  const std::int64_t vectors = grid_.column_steps_of(a_.type(sum).shape), threads = grid_.threads(), bytes = 2 * sizeof(float);
  const auto place = [&](const Expression& which) {
    const Expression vector = simt::group(which * (grid_.row_steps * vectors) + Expression("r") * vectors + "c");
    const Expression begin = Expression("tiles") + ring.place;
    return simt::reinterpret(simt::pointer_to(simt::stored(dtype)), begin + vector * (threads * bytes) + simt::thread_index() * bytes);
  };
  const auto each = [&](const char* counter, std::int64_t end, int unroll, const Body& body) {
    add(simt::Loop{.name = counter, .end = end, .unroll = unroll, .body = block_of(body)});
  };
  const auto each_vector = [&](const Body& body) { each("r", grid_.row_steps, 0, [&] { each("c", vectors, 0, body); }); };
  const Expression other = Expression(0) < Expression("block");
  add(simt::Barrier{.kind = simt::Barrier::Kind::Cluster});  // nobody reads the first one's ring any more
  within(other, [&] {
    each_vector([&] {
      const Expression to = place(simt::group(Expression("block") - 1));
      add(simt::SendWide{.count = 2, .place = to, .block = 0, .source = simt::element(sums, "r", "c")});
    });
  });
  add(simt::Barrier{.kind = simt::Barrier::Kind::Cluster});
  add({simt::Leave{}, other});
  each("other", decided_.products.blocks - 1, 1, [&] {
    each_vector([&] {
      declare("x", simt::computed(dtype), {2});
      add(simt::LoadWide{.wide = 2, .count = 2, .pointer = place("other"), .target = "x", .limited = {}});
      for (int k = 0; k < 2; ++k)
        add(simt::Assign{.target = simt::element(sums, "r", "c", k), .value = simt::element("x", k), .adds = true});
    });
  });
}

}  // namespace tegula::gpu
