#pragma once
// Kernels in the tile language, drawn at random. Their floats are whole numbers from -64 to 64 (sums of which are exact in any order), so that every way of
// running a kernel must give the same numbers. A statement draws from a seed of its own: one may be left out, and a body that runs several times draws the same.

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/simt/random_words.h"

namespace drawn {

/// Says the words of a recipe.
class Writer : Words {
 public:
  Writer(Recipe& recipe, std::vector<Tile> inputs, std::vector<Tile> own, std::vector<Tile> shared, const Tile& n)
      : Words(std::move(inputs), n),
        recipe_(recipe),
        own_(std::move(own)),
        shared_(std::move(shared)) {}

  void write(const Tile& reals, const Tile& wholes) {
    Block body{.path = 1};
    body.tiles.push_back(program_id(0));
    body.tiles.push_back(n_);
    body.tiles.push_back(reshape(arange(0, 24), {4, 6}));
    statements(body, recipe_.statements);
    int shown = 0;
    for (const Tile& x : body.tiles) {
      if (shown == kShown) break;
      const Tile to = (program_id(0) * kShown + shown++) * kMost + arange(0, numel(x.shape()));
      if (is_float(x.dtype())) store(reals + to, ravel(x));
      else store(wholes + to, ravel(x.dtype() == tegula::u64 ? bitcast<std::int64_t>(x) : x));
    }
  }

 private:
  // ---- Statements.
  void statements(Block& block, int count) {
    for (int k = 0; k < count; ++k) {
      const std::uint64_t path = block.path * 16 + static_cast<std::uint64_t>(k);
      recipe_.said.insert(path);
      if (recipe_.without.contains(path)) continue;
      Draw draw(recipe_.seed * 1'000'003 + path);
      statement(block, draw, path);
    }
  }
  void statement(Block& block, Draw& d, std::uint64_t path) {
    const auto keep = [&](const Tile& x) { block.tiles.push_back(x); };
    switch (d.below(26)) {
      case 0: return keep(loaded(block, d, static_cast<int>(d.below(4)), any_shape(d)));
      case 1:
      case 2: return keep(computed_float(block, d));
      case 3:
      case 4: return keep(computed_integer(block, d));
      case 5: return keep(compared(block, d));
      case 6: return keep(converted(block, d));
      case 7: return keep(wide_number(block, d));
      case 8:
      case 9: return keep(moved(block, d));
      case 10: return keep(reduced(block, d));
      case 11: return keep(scanned(block, d));
      case 12: return keep(ordered(block, d));
      case 13: return keep(counted(block, d));
      case 14: return keep(multiplied(block, d));
      case 15: return keep(kept_in_memory(block, d));
      case 16: return atomic(block, d, path);
      case 17: return keep(special(block, d));
      case 18: return keep(assembled(block, d));
      case 19: return keep(hinted(block, d));
      case 20: return keep(described(block, d));
      case 21: return keep(walked(block, d));
      case 22: return block.depth < 2 ? loop(block, d, path) : keep(moved(block, d));
      case 23: return block.depth < 2 ? loop_while(block, d, path) : keep(reduced(block, d));
      case 24: return block.depth < 2 ? branch(block, d, path) : keep(scanned(block, d));
      default: return keep(random_words(block, d));
    }
  }

  /// Stored, and loaded in another layout.
  Tile kept_in_memory(Block& block, Draw& d) {
    const auto which = static_cast<std::size_t>(d.below(3));
    const Tile base = own_[which] + program_id(0) * kOwn;
    const Tile x = in(pick(block, d, Kind::Any), own_[which].dtype());
    const Tile to = base + places(block, d, x.shape(), kOwn, true);
    if (d.chance(50)) store(to, x);
    else store(to, x, picked(block, d, Kind::Bool, x.shape()), hints(d));
    if (d.chance(15)) debug_barrier();
    return load(base + places(block, d, any_shape(d), kOwn, false), hints(d));
  }
  /// Adds an atomic word. A region's words are of one kind, and each element is one instance's own, or old values are left alone if their order is open.
  void atomic(Block& block, Draw& d, std::uint64_t path) {
    const auto which = static_cast<std::size_t>(d.below(3));
    const DType dtype = shared_[which].dtype();
    const std::int64_t region = d.below(kRegions);
    const bool own = region % 2 == 0, in_order = is_float(dtype) || size_of(dtype) <= 2;
    const int kind = static_cast<int>(region / 2) % (is_float(dtype) ? 4 : own || in_order ? 8 : 6);
    Tile x = in(pick(block, d, Kind::Number), dtype);
    if (numel(x.shape()) > kRegion / 4) x = fit(x, {kRegion / 4}, d);
    const Tile at =
        own ? program_id(0) * (kRegion / 4) + places(block, d, x.shape(), kRegion / 4, true) : places(block, d, x.shape(), kRegion, false);
    const Tile p = shared_[which] + region * kRegion + at;
    const Tile mask = d.chance(60) ? picked(block, d, Kind::Bool, x.shape()) : broadcast_to(Tile(true), x.shape());
    constexpr Sem kSems[] = {Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel};
    constexpr Scope kScopes[] = {Scope::Cta, Scope::Gpu, Scope::Sys};
    const AtomicOptions options{.sem = d.one_of(kSems), .scope = d.one_of(kScopes)};
    const auto change = [&]() -> Tile {
      if (is_float(dtype)) {  // add, max, min, xchg
        switch (kind) {
          case 0: return atomic_add(p, x, mask, options);
          case 1: return atomic_max(p, x, mask, options);
          case 2: return atomic_min(p, x, mask, options);
          default: return atomic_xchg(p, x, mask, options);
        }
      }
      switch (kind) {
        case 0: return atomic_add(p, x, mask, options);
        case 1: return atomic_max(p, x, mask, options);
        case 2: return atomic_min(p, x, mask, options);
        case 3: return atomic_and(p, x, mask, options);
        case 4: return atomic_or(p, x, mask, options);
        case 5: return atomic_xor(p, x, mask, options);
        case 6: return atomic_xchg(p, x, mask, options);
        default: return atomic_cas(p, 3, x, options);
      }
    };
    const Tile old = change();
    if ((own || in_order) && d.chance(70)) block.tiles.push_back(bounded(old));
    (void)path;
  }
  Tile hinted(Block& block, Draw& d) {
    const auto which = d.below(4);
    if (which == 0) return multiple_of(in(pick(block, d, Kind::Integer), tegula::i64) * 8, 8);
    if (which == 1) device_assert(pick(block, d, Kind::Integer) * 0 == 0, "zero");
    if (which == 2 && block.depth == 0) assume(n_ >= 0);
    const Tile at = max_contiguous(multiple_of(arange(0, 64) + program_id(0) * 64 % 512, 16), 16);
    return load(inputs_[static_cast<std::size_t>(d.below(3))] + at, max_constancy(arange(0, 64) / 4, 4) < d.from(0, 16), hints(d));
  }
  /// By a descriptor, over an input of 20 rows of 30.
  Tile described(Block& block, Draw& d) {
    const std::int64_t rows = d.from(1, 8), columns = d.from(1, 16);
    const Tile m = within(scalar(block, d, Kind::Integer), 30) - 5, n = within(scalar(block, d, Kind::Integer), 40) - 5;
    const auto input = static_cast<std::size_t>(d.below(3));
    const Tile x = make_tensor_descriptor(inputs_[input], {20, 30}, {30, 1}, {rows, columns}).load({m, n});
    const auto which = static_cast<std::size_t>(d.below(3));
    const auto to = make_tensor_descriptor(own_[which] + program_id(0) * kOwn, {30, 34}, {34, 1}, {columns, rows});
    to.store({n, m}, in(trans(x), own_[which].dtype()));
    return to.load({n - 1, m + 1});
  }
  /// A loop with a pointer that moves along, and a sum.
  Tile walked(Block& block, Draw& d) {
    const auto input = static_cast<std::size_t>(d.below(3));
    const std::int64_t width = d.from(1, 70), by = d.from(1, 90);
    Tile at = arange(0, width) + 0, p = inputs_[input] + arange(0, width);
    Tile total = d.chance(50) ? zeros<float>({width}) : zeros<std::int32_t>({width});
    for (auto i : range(d.below(3), within(scalar(block, d, Kind::Integer), 7), d.chance(20) ? -1 : d.from(1, 3))) {
      const Tile x = load(p, at < kInput, 1);
      total += in(x, total.dtype()) * (i % 2);
      at += by, p += by;
    }
    return bounded(total);
  }
  // ---- Loops and branches.
  static Block inner(Block& outer, std::uint64_t path) { return {.outer = &outer, .tiles = {}, .path = path, .depth = outer.depth + 1}; }
  /// Assigns to a tile from outside.
  void assign(Block& block, Draw& d) {
    std::vector<Tile*> targets;
    for (Block* b = block.outer; b; b = b->outer)
      for (Tile& x : b->tiles) targets.push_back(&x);
    Tile& to = *targets[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(targets.size())))];
    to = in(picked(block, d,
                   d.chance(70) ? (is(to, Kind::Bool)    ? Kind::Bool
                                   : is(to, Kind::Float) ? Kind::Float
                                                         : Kind::Integer)
                                : Kind::Any,
                   to.shape()),
            to.dtype());
  }
  /// Adds the statements of a body. `draw` is of its own, as the body may run several times.
  void body(Block& block, std::uint64_t seed) {
    Draw d(seed);
    const int count = static_cast<int>(d.from(1, 3));
    if (d.chance(40)) assign(block, d);
    statements(block, count);
    for (int k = static_cast<int>(d.from(1, 2)); k > 0; --k) assign(block, d);
  }
  void loop(Block& block, Draw& d, std::uint64_t path) {
    const Tile end = d.chance(50) ? Tile(d.below(4)) : within(scalar(block, d, Kind::Integer), 4);
    const std::uint64_t seed = d.word();
    const int stages = static_cast<int>(d.below(3));
    const bool down = d.chance(30);
    for (auto k : range(down ? TileArg(end) : TileArg(d.below(2)), down ? TileArg(d.below(2) - 1) : TileArg(end), down ? -1 : d.from(1, 2),
                        {.num_stages = stages})) {
      Block within_loop = inner(block, path);
      within_loop.tiles.push_back(k);
      body(within_loop, seed);
    }
  }
  void loop_while(Block& block, Draw& d, std::uint64_t path) {
    const std::uint64_t seed = d.word();
    if (d.chance(50)) {  // until a tile has become small
      Tile x = in(pick(block, d, Kind::Integer), tegula::i32);
      const std::int64_t limit = d.from(3, 100);
      while_([&] { return any(ravel(abs(x / 2) > limit), 0); },
             [&] {
               Block within_loop = inner(block, path);
               body(within_loop, seed);
               x = x / 2;
             },
             40);
      block.tiles.push_back(x);
      return;
    }
    Tile left = within(scalar(block, d, Kind::Integer), 4);
    while_([&] { return left > 0; },
           [&] {
             Block within_loop = inner(block, path);
             within_loop.tiles.push_back(left);
             body(within_loop, seed);
             left -= 1;
           });
  }
  void branch(Block& block, Draw& d, std::uint64_t path) {
    const std::uint64_t seed = d.word();
    const Tile condition = scalar(block, d, Kind::Bool);
    const bool gives = d.chance(40), other = d.chance(60);
    const Shape shape = any_shape(d);
    const DType dtype = d.chance(50) ? tegula::f32 : tegula::i32;
    Tile given;
    const auto side = [&](std::uint64_t number) {
      Block within_branch = inner(block, path * 4 + number);
      body(within_branch, seed + number);
      Draw own(seed ^ number);
      if (gives) given = in(picked(within_branch, own, Kind::Number, shape), dtype);
    };
    if (gives || other) if_(condition, [&] { side(1); }, [&] { side(2); });
    else if_(condition, [&] { side(1); });
    if (gives) block.tiles.push_back(given);
  }

  Recipe& recipe_;
  std::vector<Tile> own_, shared_;
};

inline const auto kernel =
    jit("drawn", [](Ptr<Any> x0, Ptr<Any> x1, Ptr<Any> x2, Ptr<Any> x3, Out<Any> own0, Out<Any> own1, Out<Any> own2, Out<Any> shared0,
                    Out<Any> shared1, Out<Any> shared2, Out<double> reals, Out<std::int64_t> wholes, Int n, Const<int> which) {
      Writer(recipes()[static_cast<std::size_t>(which.value)], {x0, x1, x2, x3}, {own0, own1, own2}, {shared0, shared1, shared2}, n)
          .write(reals, wholes);
    });

}  // namespace drawn
