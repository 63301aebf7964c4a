// Reductions and order across threads, step by step as the prelude has them (prelude_across.cuh): what differs from a GPU's threads is seen.

#include <algorithm>
#include <cstring>

#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

namespace {

// Names that no kernel has.
const char* const kParts = "(parts)";

Expression lane() { return thread_index() % 32; }
Expression warp() { return group(thread_index() / 32); }
Expression equals(Expression a, Expression b) { return binary(std::move(a), "==", std::move(b)); }
Type type_for(const Operation& operation) { return operation.placed ? placed(operation.dtype) : computed(operation.dtype); }
/// Lanes that share so many parts.
int lanes_for(std::int64_t parts) { return parts > 16 ? 32 : parts > 8 ? 16 : parts > 4 ? 8 : parts > 2 ? 4 : 2; }
std::string array_name(std::size_t i) { return "(x" + std::to_string(i) + ")"; }

}  // namespace

void Translator::operator()(const Shuffle& shuffle) {
  const std::int64_t top = top_;
  const Value source = lanes(shuffle.source), distances = lanes(shuffle.distance, Number::I32);
  assign(shuffle.target, exchanged(source, 0, distances.slot));
  top_ = top;
}

Translator::Value Translator::exchanged(const Value& value, int distance, const std::optional<Slot>& distances) {
  const Value result = temporary(value.type);
  const auto part = [&](std::int64_t at, std::int64_t bytes) {
    native([=, from = value.slot, out = result.slot, this_at = at](Cluster& cluster, Warp& warp) {
      const std::size_t i = warp.at(from) + static_cast<std::size_t>(this_at), o = warp.at(out) + static_cast<std::size_t>(this_at);
      if (warp.mask != warp.alive) {
        static const std::string place = "an exchange between lanes";
        cluster.memory().find(Finding::Kind::Apart, {.block = warp.block, .first_thread = warp.first_thread, .said = &place}, 0);
      }
      std::uint32_t defined = 0;
      const std::int32_t* const each = distances ? warp.lanes<std::int32_t>(*distances) : nullptr;
      for (int lane = 0; lane < kLanes; ++lane) {
        const int other = (lane ^ (each ? each[lane] : distance)) % kLanes;
        std::memcpy(warp.lanes(o) + lane * bytes, warp.lanes(i) + other * bytes, static_cast<std::size_t>(bytes));
        defined |= ((warp.defined[i] & warp.alive) >> other & 1) << lane;
      }
      warp.defined[o] = defined;
    });
  };
  if (value.type.kind == Type::Kind::Placed && value.type.pointers == 0) {
    const std::int64_t first = width(computed(value.type.dtype));
    part(0, 4 * first), part(first, 4);
  } else {
    part(0, 4 * width(value.type));
  }
  return result;
}

/// x = op(x, that of the other lane), from one distance down to another.
void Translator::across_warp(const Operation& operation, const Expression& x, int from, int to) {
  for (int distance = from; distance >= to && distance > 0; distance /= 2) {
    const std::int64_t top = top_;
    const Value own = lanes(x);
    assign(x, folded(operation, own, exchanged(own, distance)));
    top_ = top;
  }
}

void Translator::let_parts(const Combine& combine) {
  const Type pointer = pointer_to(type_for(combine.operation));
  Expression begin = "shared";
  if (combine.place == Combine::Place::Ring) begin = "ring";
  else if (combine.place == Combine::Place::Parts) begin = Expression("shared") + "parts" + combine.offset;
  else if (combine.place == Combine::Place::None) begin = "nullptr";
  const Value place{pointer, allocate(2)};
  move(place, lanes(begin));
  declare(kParts, place);
}

void Translator::operator()(const Combine& combine) {
  scopes_.emplace_back();
  for (std::size_t i = 0; i < combine.registers.size(); ++i) {
    Value x = registers(combine.registers[i]);
    x.sizes = {combine.held};
    declare(array_name(i), x);
  }
  let_parts(combine);
  switch (combine.how) {
    case Combine::How::Columns: combine_columns(combine); break;
    case Combine::How::Rows: combine_rows(combine); break;
    case Combine::How::RowsAlike: combine_rows_alike(combine); break;
    case Combine::How::RowsForFirst: combine_rows_for_first(combine); break;
  }
  scopes_.pop_back();
}

// ---- Columns.

void Translator::combine_columns(const Combine& combine) {
  const Operation& op = combine.operation;
  const int columns = combine.column_threads, of_warp = std::min(columns, kLanes), warps = columns / of_warp;
  const std::int64_t count = combine.held;
  const std::string x = array_name(0);
  const std::size_t bytes = bytes_of(type_for(op));
  if (count == 2 && warps > 1 && warps <= 8 && combine.cluster == 1 && bytes <= 8) return combine_pair(combine);
  const bool is_counted = combine.cluster > 1 && !combine.again && columns >= kLanes && bytes >= 4;
  for (std::int64_t i = 0; i < count; ++i) across_warp(op, simt::element(x, i), of_warp / 2, 1);
  if (is_counted) return combine_counted(combine);
  if (warps > 1) {
    const int among = lanes_for(warps);
    const Expression first = group(thread_index() / columns) * warps;
    if (combine.again) meet();
    where(equals(lane(), 0), [&] {
      for (std::int64_t i = 0; i < count; ++i) assign(simt::element(kParts, warp() * count + i), simt::element(x, i));
    });
    meet();
    for (std::int64_t i = 0; i < count; ++i) {
      const Expression mine = lane() % among;
      assign(simt::element(x, i), choose(mine < warps, simt::element(kParts, group(first + mine) * count + i), nothing(op)));
      across_warp(op, simt::element(x, i), among / 2, 1);
    }
  }
  if (combine.cluster == 1) return;
  // Every block writes its part into all of them.
  const Expression totals = Expression(combine.row_threads * warps * count);
  const Expression row = group(thread_index() / columns), column = thread_index() % columns;
  if (combine.again) add({.what = Instruction::What::MeetCluster});
  where(column < combine.cluster, [&] {
    for (std::int64_t i = 0; i < count; ++i)
      write_to(Expression(kParts) + group(totals + group(row * combine.cluster + "block") * count + i), column, lanes(simt::element(x, i)),
               0);
  });
  add({.what = Instruction::What::MeetCluster});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto part = [&](int block) { return simt::element(kParts, totals + group(row * combine.cluster + block) * count + i); };
    assign(simt::element(x, i), part(0));
    for (int block = 1; block < combine.cluster; ++block) assign(simt::element(x, i), fold(op, simt::element(x, i), part(block)));
  }
}

/// Each half of a warp brings one of two values together, and every thread reads the parts of all warps.
void Translator::combine_pair(const Combine& combine) {
  const Operation& op = combine.operation;
  const int warps = combine.column_threads / kLanes;
  const std::string x = array_name(0);
  if (combine.again) meet();
  const Expression begin = group(thread_index() / combine.column_threads) * (warps * 2);
  const auto second = [] { return binary(lane(), ">=", 16); };
  declare("(mine)", temporary(type_for(op)));
  const Value first = lanes(simt::element(x, 0)), other = lanes(simt::element(x, 1)), is_second = lanes(second());
  const Value kept = selected(is_second, other, first), given = selected(is_second, first, other);
  assign("(mine)", folded(op, kept, exchanged(given, 16)));
  across_warp(op, "(mine)", 8, 1);
  where(equals(lane() % 16, 0),
        [&] { assign(simt::element(kParts, begin + group(warp() % warps) * 2 + lane() / 16), Expression("(mine)")); });
  meet();
  Value all{type_for(op), allocate(width(type_for(op)) * 2 * warps), {2 * warps}};
  declare("(all)", all);
  for (int i = 0; i < 2 * warps; ++i) assign(simt::element("(all)", i), simt::element(kParts, begin + i));
  for (int reach = 1; reach < warps; reach *= 2) {
    for (int w = 0; w + reach < warps; w += 2 * reach) {
      for (const int k : {0, 1})
        assign(simt::element("(all)", 2 * w + k), fold(op, simt::element("(all)", 2 * w + k), simt::element("(all)", 2 * (w + reach) + k)));
    }
  }
  for (const int k : {0, 1}) assign(simt::element(x, k), simt::element("(all)", k));
}

/// Every warp of every block tells all blocks, which count what has come.
void Translator::combine_counted(const Combine& combine) {
  const Operation& op = combine.operation;
  const int warps = combine.column_threads / kLanes, parts = combine.cluster * warps, among = lanes_for(parts);
  const std::int64_t count = combine.held, bytes = static_cast<std::int64_t>(bytes_of(type_for(op)));
  const std::string x = array_name(0);
  const std::size_t offset = combine.counter.value();
  code_.exchanges.push_back(offset);
  const int exchange = static_cast<int>(code_.exchanges.size());
  where(equals("threadIdx.x", 0), [&] {
    native([exchange, all = combine.row_threads * parts * count * bytes](Cluster& cluster, Warp& warp) {
      cluster.expect(warp.block, exchange, all);
    });
  });
  const Expression begin = group(warp() / warps) * (parts * count);
  where(lane() < combine.cluster, [&] {
    for (std::int64_t i = 0; i < count; ++i)
      write_to(Expression(kParts) + group(begin + group(Expression("block") * warps + warp() % warps) * count + i), lane(),
               lanes(simt::element(x, i)), exchange);
  });
  native([exchange](Cluster&, Warp& one) { one.wait = Warp::Wait::Counter, one.counter = exchange; });
  for (std::int64_t i = 0; i < count; ++i) {
    assign(simt::element(x, i), nothing_of(op));
    for (int first = 0; first < parts; first += among) {
      const Expression part = lane() % among + first;
      where(part < parts,
            [&] { assign(simt::element(x, i), fold(op, simt::element(x, i), simt::element(kParts, begin + group(part) * count + i))); });
    }
  }
  for (std::int64_t i = 0; i < count; ++i) across_warp(op, simt::element(x, i), among / 2, 1);
}

void Translator::operator()(const SendWide& send) {
  const Value source = registers(send.source);
  for (int k = 0; k < send.count; ++k) write_to(group(send.place) + k, send.block, {computed(source.type.dtype), source.slot + k}, 0);
}

/// Into the same place of the shared memory of block `rank`.
void Translator::write_to(const Expression& place, const Expression& rank, const Value& value, int exchange) {
  const Value address = lanes(place), block = lanes(rank, Number::I32);
  const bool with_place = value.type.kind == Type::Kind::Placed;
  const Type first = computed(value.type.dtype);
  const auto part = [&](const Type& type, std::int64_t granule, std::size_t offset) {
    native([=, to = address.slot, there = block.slot, from = value.slot, store = storing(type), bytes = bytes_of(type),
            sentence = said(text(place))](Cluster& cluster, Warp& warp) {
      const std::size_t source = warp.at(from) + static_cast<std::size_t>(granule);
      for (int lane = 0; lane < kLanes; ++lane) {
        if ((warp.mask >> lane & 1) == 0) continue;
        std::uint64_t addresses[kLanes];
        addresses[lane] = warp.lanes<std::uint64_t>(to)[lane] + offset;
        const int target = warp.lanes<std::int32_t>(there)[lane];
        cluster.memory().write_to({.block = warp.block,
                                   .first_thread = warp.first_thread,
                                   .addresses = addresses,
                                   .mask = 1u << lane,
                                   .bytes = bytes,
                                   .element = bytes,
                                   .said = sentence},
                                  target, warp.defined[source], exchange);
        addresses[lane] += static_cast<std::uint64_t>(cluster.memory().shared(target) - cluster.memory().shared(warp.block));
        store(warp.lanes(source), addresses, 1u << lane, 0);
        if (exchange > 0) cluster.tell(target, exchange, static_cast<std::int64_t>(bytes));
      }
    });
  };
  part(first, 0, 0);
  if (with_place) part(computed(DType::i32), width(first), bytes_of(value.type) / 2);
}

// ---- Rows.

void Translator::combine_rows_of_warp(const Combine& combine, const std::string& x, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) across_warp(combine.operation, simt::element(x, i), 16, combine.column_threads);
}

/// Combines, for a warp, the elements at the beginnings of the lines into "(total)".
void Translator::combine_lines(const Combine& combine, const Expression& parts, std::int64_t lines, std::int64_t pitch) {
  assign("(total)", choose(lane() < lines, simt::element(kParts, parts + lane() * Expression(pitch)), nothing(combine.operation)));
  across_warp(combine.operation, "(total)", 16, 1);
}

void Translator::combine_rows(const Combine& combine) {
  const Operation& op = combine.operation;
  const std::int64_t rows = combine.row_threads, columns = combine.column_threads, count = combine.held;
  const std::int64_t at_once = combine.at_once > 0 ? combine.at_once : std::min<std::int64_t>(count, 8);
  const std::int64_t warp_rows = columns < 32 ? 32 / columns : 1, lines = rows < warp_rows ? 1 : rows / warp_rows;
  const bool shares = lines > 1 && columns <= 16 && at_once % 2 == 0 && count % at_once == 0;
  const std::string x = array_name(0);
  if (!shares) combine_rows_of_warp(combine, x, 0, count);
  if (lines <= 1) return;
  const std::int64_t places = at_once * columns, warps = rows * columns / 32;
  const bool by_lanes = lines >= 16 && lines <= 32 && places <= 4 * warps, each_warp = places <= 4;
  const std::int64_t pitch = places + (by_lanes ? 1 : 0);
  const Expression row = group(thread_index() / columns), column = thread_index() % columns;
  declare("(total)", temporary(type_for(op)));
  for (std::int64_t first = 0; first < count; first += at_once) {
    if (shares) {
      // At each step a thread gives away half of what it keeps.
      std::int64_t kept = at_once, idle = 0;
      declare("(held)", temporary(computed(DType::i32)));
      assign("(held)", Expression(0));
      for (std::int64_t distance = 16; distance >= columns; distance /= 2) {
        const bool halves = kept % 2 == 0;
        const std::int64_t half = halves ? kept / 2 : kept, other = halves ? half : 0;
        if (!halves) idle |= distance;
        const Value is_second = lanes(halves ? binary(group(binary(thread_index(), "&", distance)), "!=", 0) : Expression("false"));
        for (std::int64_t i = 0; i < half; ++i) {
          const Value a = lanes(simt::element(x, first + i)), b = lanes(simt::element(x, first + other + i));
          const Value given = selected(is_second, a, b), stays = selected(is_second, b, a);
          assign(simt::element(x, first + i), folded(op, stays, exchanged(given, static_cast<int>(distance))));
        }
        assign("(held)", called(operators(), "+", {lanes("(held)"), selected(is_second, integer(half), integer(0))}));
        kept = half;
      }
      meet();
      where(equals(group(binary(thread_index(), "&", idle)), 0), [&] {
        for (std::int64_t i = 0; i < kept; ++i)
          assign(simt::element(kParts, row / warp_rows * pitch + group(Expression("(held)") + i) * Expression(columns) + column),
                 simt::element(x, first + i));
      });
    } else {
      meet();
      where(equals(row % warp_rows, 0), [&] {
        for (std::int64_t i = 0; i < at_once && first + i < count; ++i)
          assign(simt::element(kParts, row / warp_rows * pitch + i * columns + column), simt::element(x, first + i));
      });
    }
    meet();
    if (by_lanes && each_warp) {
      for (std::int64_t place = 0; place < places; ++place) {
        combine_lines(combine, place, lines, pitch);
        if (first + place / columns < count)
          where(equals(column, place % columns), [&] { assign(simt::element(x, first + place / columns), Expression("(total)")); });
      }
      continue;
    }
    if (by_lanes) {
      for (std::int64_t turn = 0; turn * warps < places; ++turn) {
        const Expression place = warp() + turn * warps;
        where(place < places, [&] {
          combine_lines(combine, place, lines, pitch);
          where(equals(lane(), 0), [&] { assign(simt::element(kParts, place), Expression("(total)")); });
        });
      }
      meet();
    }
    for (std::int64_t i = 0; i < at_once && first + i < count; ++i) {
      assign("(total)", simt::element(kParts, i * columns + column));
      for (std::int64_t line = 1; line < lines && !by_lanes; ++line)
        assign("(total)", fold(op, "(total)", simt::element(kParts, line * pitch + i * columns + column)));
      assign(simt::element(x, first + i), Expression("(total)"));
    }
  }
}

void Translator::combine_rows_alike(const Combine& combine) {
  const std::int64_t warp_rows = 32 / combine.column_threads, lines = combine.row_threads < warp_rows ? 1 : combine.row_threads / warp_rows;
  const std::string x = array_name(0);
  combine_rows_of_warp(combine, x, 0, combine.held);
  if (lines <= 1) return;
  declare("(total)", temporary(type_for(combine.operation)));
  meet();
  where(equals(lane(), 0), [&] {
    for (std::int64_t i = 0; i < combine.held; ++i) assign(simt::element(kParts, warp() * combine.held + i), simt::element(x, i));
  });
  meet();
  for (std::int64_t i = 0; i < combine.held; ++i) {
    combine_lines(combine, i, lines, combine.held);
    assign(simt::element(x, i), Expression("(total)"));
  }
}

/// Several arrays at once, of which only the first row of threads gets the result.
void Translator::combine_rows_for_first(const Combine& combine) {
  const Operation& op = combine.operation;
  const std::int64_t columns = combine.column_threads, count = combine.held, arrays = static_cast<std::int64_t>(combine.registers.size());
  const std::int64_t most = 16 / static_cast<std::int64_t>(bytes_of(type_for(op))), wide = count % most == 0 ? most : 1,
                     places = count / wide * columns;
  const std::int64_t warp_rows = columns < 32 ? 32 / columns : 1, lines = combine.row_threads / warp_rows;
  const Expression row = group(thread_index() / columns), column = thread_index() % columns;
  for (std::int64_t array = 0; array < arrays; ++array)
    combine_rows_of_warp(combine, array_name(static_cast<std::size_t>(array)), 0, count);
  const auto each = [&](auto&& f) {
    for (std::int64_t array = 0; array < arrays; ++array)
      for (std::int64_t i = 0; i < count; ++i) f(array, i, simt::element(array_name(static_cast<std::size_t>(array)), i));
  };
  meet();
  where(equals(row % warp_rows, 0), [&] {
    each([&](std::int64_t array, std::int64_t i, const Expression& x) {
      assign(simt::element(kParts, group(group(row / warp_rows * arrays + array) * places + i / wide * columns + column) * wide + i % wide),
             x);
    });
  });
  meet();
  const std::int64_t threads = combine.row_threads * columns;
  For share{.type = computed(DType::i32),
            .name = "(place)",
            .begin = thread_index(),
            .end = arrays * places,
            .step = threads,
            .body = {},
            .program = {}};
  for (std::int64_t k = 0; k < wide; ++k) {
    Expression total = simt::element(kParts, "(place)" * Expression(wide) + k);
    for (std::int64_t line = 1; line < lines; ++line)
      total = fold(op, std::move(total), simt::element(kParts, group(Expression(line * arrays * places) + "(place)") * wide + k));
    share.body.push_back(Assign{.target = simt::element(kParts, "(place)" * Expression(wide) + k), .value = std::move(total)});
  }
  (*this)(share);
  meet();
  where(row < 1, [&] {
    each([&](std::int64_t array, std::int64_t i, const Expression& x) {
      assign(x, simt::element(kParts, group(Expression(array * places + i / wide * columns) + column) * wide + i % wide));
    });
  });
}

// ---- Tiles in shared memory, row-major; lines of `length` elements at distance `stride`.

/// "(one)" and "(two)": pointers to so many elements from `first` on and to as many behind them, which change places from step to step.
void Translator::declare_two(const char* first, std::int64_t count) {
  const Type pointer = variable(first).value.type;
  const Value one{pointer, allocate(2)}, two{pointer, allocate(2)};
  move(one, lanes(first));
  move(two, lanes(Expression(first) + count));
  declare("(one)", one), declare("(two)", two);
}

void Translator::operator()(const Scan& scan) {
  declare_two("tile", scan.count);
  const char *from = "(one)", *to = "(two)";
  for (std::int64_t reach = 1; reach < scan.length; reach *= 2) {
    const Expression position = group("(i)" / Expression(scan.stride)) % scan.length;
    const auto at = [&](Expression index) { return simt::element(from, std::move(index)); };
    For all{.type = computed(DType::i32),
            .name = "(i)",
            .begin = thread_index(),
            .end = scan.count,
            .step = k_.threads(),
            .body = {},
            .program = {}};
    all.body.push_back(Assign{.target = simt::element(to, "(i)"),
                              .value = choose(binary(position, ">=", reach),
                                              fold(scan.operation, at(Expression("(i)") - reach * scan.stride), at("(i)")), at("(i)"))});
    (*this)(all);
    meet();
    std::swap(from, to);
  }
  declare(scan.name, variable(from).value);
}

/// Sorts by merging ever longer runs: an element's place is its own plus its rank in the run beside it.
void Translator::operator()(const Sort& sort) {
  declare_two("order", sort.count);
  const char *from = "(one)", *to = "(two)";
  const std::int64_t length = sort.length, stride = sort.stride;
  const Type integer = computed(DType::i32), truth = computed(DType::boolean);
  const Type key = [&] {
    Type type = variable("tile").value.type;
    --type.pointers;
    return type;
  }();
  const auto each = [&](Block body) {
    For all{.type = integer,
            .name = "(i)",
            .begin = thread_index(),
            .end = sort.count,
            .step = k_.threads(),
            .body = std::move(body),
            .program = {}};
    (*this)(all);
    meet();
  };
  const auto let = [](Block& block, Type type, const char* name, Expression value) {
    block.push_back(Declare{.what = {name, type, {}}, .value = std::move(value)});
  };
  const Expression position = group("(i)" / Expression(stride)) % length;
  each({Assign{.target = simt::element(from, "(i)"), .value = position}});
  for (std::int64_t run = 1; run < length; run *= 2) {
    const auto key_at = [&](Expression index) { return simt::element("tile", Expression("line") + std::move(index) * Expression(stride)); };
    const auto least = [&](Expression a, Expression b) { return call("smaller", std::move(a), std::move(b)); };
    Block body;
    let(body, integer, "position", position);
    let(body, integer, "line", Expression("(i)") - Expression("position") * stride);
    let(body, integer, "begin", group(Expression("position") / (2 * run)) * (2 * run));
    let(body, integer, "middle", Expression("begin") + run);
    let(body, integer, "end", least(Expression("begin") + 2 * run, length));
    let(body, truth, "first", Expression("position") < "middle");
    let(body, key, "x", key_at(simt::element(from, "(i)")));
    let(body, integer, "low", choose("first", least("middle", length), "begin"));
    let(body, integer, "high", choose("first", "end", "middle"));
    let(body, integer, "other_begin", "low");
    Block search;
    let(search, integer, "half", group(Expression("low") + "high") / 2);
    let(search, key, "y", key_at(simt::element(from, Expression("line") + Expression("half") * stride)));
    const auto before = [&](const char* a, const char* b) { return call("comes_before", a, b); };
    let(search, truth, "strictly", sort.descending ? before("x", "y") : before("y", "x"));
    let(search, truth, "behind", sort.descending ? before("y", "x") : before("x", "y"));
    Branch step{.when = choose("first", "strictly", unary("!", "behind"))};
    step.then.push_back(Assign{.target = "low", .value = Expression("half") + 1});
    step.otherwise.push_back(Assign{.target = "high", .value = "half"});
    search.push_back(std::move(step));
    // Each turn halves what is left.
    For turns{
        .type = integer, .name = "(turn)", .begin = 0, .end = run + 1, .step = group(Expression("(turn)") + 1), .body = {}, .program = {}};
    turns.body.push_back(Branch{.when = Expression("low") < "high", .then = std::move(search)});
    body.push_back(std::move(turns));
    const Expression own = Expression("position") - group(choose("first", "begin", "middle"));
    const Expression place =
        Expression("line") + group(Expression("begin") + group(own) + group(Expression("low") - "other_begin")) * stride;
    body.push_back(Assign{.target = simt::element(to, place), .value = simt::element(from, "(i)")});
    each(std::move(body));
    std::swap(from, to);
  }
  declare(sort.name, variable(from).value);
}

}  // namespace tegula::simt
