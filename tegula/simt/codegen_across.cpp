// Words that bring together what different threads hold.

#include "tegula/simt/codegen_writer.h"

#include <algorithm>
#include <utility>

#include "tegula/tile/sort_order.h"

namespace tegula::gpu {

using tile::Word;

namespace {

std::size_t bytes_of(const tile::Type& type) { return type.pointer ? 8 : size_of(type.dtype); }
std::int64_t stride_of(const Shape& shape, int axis) {
  std::int64_t stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[i];
  return stride;
}
std::string best_of(const tile::Instruction& self, DType dtype) {
  return "Best<" + scalar_name(dtype) + (self.kind == tile::Reduction::Min ? ", true>" : ", false>");
}

}  // namespace

void Writer::use_shared(std::size_t bytes) { shared_bytes_ = std::max(shared_bytes_, bytes); }
void Writer::barrier() {
  line("__syncthreads();");
  if (prefetched_.empty()) ring_use_.clear();
}

/// All threads of the block are at the same place.
void Writer::have_met() {
  read_.clear();
  written_.clear();
  read_by_many_ = false;
  if (prefetched_.empty()) ring_use_.clear();
}

/// The other blocks of the cluster run from here on.
void Writer::begin_cluster() {
  if (grid_.cluster == 1 || cluster_begun_) return;
  cluster_begun_ = true;
  line("cluster_wait();");
}

Writer::Crossing Writer::crossing(Id id) const {
  const tile::Instruction& self = at(id);
  const Shape& shape = a_.type(self.operands[0]).shape;
  if (shape[static_cast<int>(self.attribute)] == 1) return Crossing::None;
  if (shape.rank() == 1) return spread(self.operands[0]) == Spread::Row ? Crossing::Rows : Crossing::Columns;
  return self.attribute == 1 ? Crossing::Columns : Crossing::Rows;
}

/// Whether a reduction looks for the largest or smallest of halves that are still packed, whole vectors of them.
bool Writer::compares_halves(Id id) const {
  const tile::Instruction& self = at(id);
  if (self.kind != tile::Reduction::Max && self.kind != tile::Reduction::Min) return false;
  const Spread own = spread(self.operands[0]);
  const std::vector<Id> sources = sources_of(self.operands[0]);
  if ((own != Spread::Column && own != Spread::Full) || sources.size() != 1 || crossing(id) != Crossing::Columns) return false;
  const Id load = sources[0];
  return spread(load) == own && grid_.rows_fit() && inside(own, a_.type(load).shape).empty() && (at_hand(load) || packed_.contains(load)) &&
         is_half(a_.type(at(load).operands[0]).dtype) && grid_.vector % 2 == 0;
}

/// Adds what the thread holds of the operands to registers of these names, in one loop.
void Writer::accumulate(const std::vector<std::pair<Id, std::string>>& reductions, Spread into) {
  const Id first = at(reductions.front().first).operands[0];
  const Spread own = spread(first);
  const Shape& shape = a_.type(first).shape;
  std::vector<Id> taken;
  for (const auto& [id, name] : reductions) taken.push_back(at(id).operands[0]);
  if (std::all_of(reductions.begin(), reductions.end(), [&](const auto& reduction) { return compares_halves(reduction.first); })) {
    return loops(own, shape, Step::Vectors, taken, [&] {
      for (const auto& [id, name] : reductions) {
        const std::string op = reduction_name(at(id).kind) + "<float>", target = name + place(into);
        line(target + " = " + op + "::of(" + target + ", of_vector<" + op + ">(" + packed_vector(sources_of(at(id).operands[0])[0]) +
             "));");
      }
    });
  }
  loops(own, shape, Step::Elements, taken, [&] {
    for (const auto& [id, name] : reductions) {
      const std::string op = reduction_name(at(id).kind) + "<" + scalar_name(at(id).type.dtype) + ">";
      const std::string on = inside(own, shape), target = name + place(into);
      line((on.empty() ? "" : "if (" + on + ") ") + target + " = " +
           sum_of_products(id, target, own).value_or(op + "::of(" + target + ", " + element(at(id).operands[0], own) + ")") + ";");
    }
  });
}

/// A product that is written where it is added: rounded once, with the sum.
std::optional<std::string> Writer::sum_of_products(Id reduce, const std::string& sum, Spread own) {
  const Id value = a_.resolve(at(reduce).operands[0]);
  const DType dtype = a_.type(value).dtype;
  if (at(reduce).kind != tile::Reduction::Sum || at(value).word != Word::Mul || !is_float(dtype) || !recipes_.contains(value)) return {};
  const std::vector<Id>& factors = at(value).operands;
  return std::string(dtype == DType::f32 ? "fmaf(" : "fma(") + element(factors[0], own) + ", " + element(factors[1], own) + ", " + sum +
         ")";
}

std::int64_t Writer::held_across(Spread own) const {
  return own == Spread::Uniform ? 1 : own == Spread::Row ? grid_.row_steps : std::int64_t{grid_.column_steps} * grid_.vector;
}
std::string Writer::first_across(const std::string& name, Spread own) const {
  return own == Spread::Uniform ? "&" + name : own == Spread::Row ? name : "&" + name + "[0][0]";
}

void Writer::combine_across(const std::string& op, const std::string& name, bool columns, bool rows, Spread own, std::size_t bytes,
                            std::size_t idle_bytes) {
  combine(op, first_across(name, own), held_across(own), own, columns, rows, bytes, idle_bytes);
}

/// Brings columns of registers together for the first row of threads, in memory that is idle. False where that does not have the room.
bool Writer::combine_rows_for_first(const std::string& op, const std::vector<std::string>& names, Spread own, std::size_t bytes,
                                    std::size_t idle_bytes) {
  const int of_warp = std::max(1, 32 / grid_.column_threads), lines = grid_.row_threads / of_warp;
  const auto held = static_cast<std::size_t>(held_across(own));
  if (lines <= 1 || names.size() * held * static_cast<std::size_t>(lines * grid_.column_threads) * bytes > idle_bytes) return false;
  std::string list = "ring";
  for (const std::string& name : names) list += ", " + first_across(name, own);
  line("combine_rows_for_first<" + op + ", " + std::to_string(grid_.row_threads) + ", " + std::to_string(grid_.column_threads) + ", " +
       std::to_string(held) + ">(" + list + ");");
  barrier();  // before the next loop fetches into it
  return true;
}

void Writer::combine(const std::string& op, const std::string& first, std::int64_t held, Spread own, bool columns, bool rows,
                     std::size_t bytes, std::size_t idle_bytes) {
  const std::string threads = std::to_string(grid_.row_threads) + ", " + std::to_string(grid_.column_threads) + ", ";
  if (columns && grid_.columns_across() > 1) {
    crossed_ = true;
    const std::size_t warps = grid_.column_threads > 32 ? static_cast<std::size_t>(grid_.column_threads / 32) : 0,
                      blocks = grid_.cluster > 1 ? static_cast<std::size_t>(grid_.cluster) : 0;
    const bool again = (repeats_ > 0 && (!apart_ || grid_.cluster > 1)) || one_at_a_time_;
    const bool counted = blocks > 0 && !again && bytes >= 4 && grid_.column_threads >= 32;  // without a barrier
    std::string place = "nullptr", counter;
    if (warps + blocks > 0) {
      place = "shared + parts" + (part_bytes_ > 0 ? " + " + std::to_string(part_bytes_) : "");
      const std::size_t each = static_cast<std::size_t>(grid_.row_threads * held) * bytes;
      const std::size_t parts = counted ? std::max<std::size_t>(warps, 1) * blocks : std::max<std::size_t>(warps, 1) + blocks;
      part_bytes_ += (each * parts + 15) / 16 * 16;
      if (counted) {
        counter = ", shared + parts + " + std::to_string(part_bytes_);
        exchanges_.push_back(part_bytes_);
        part_bytes_ += 16;
      }
    }
    begin_cluster();
    line("combine_columns<" + op + ", " + threads + std::to_string(grid_.cluster) + ", " + std::to_string(held) +
         (again ? ", true>(" : ", false>(") + first + ", " + place + counter + ");");
    if (warps + blocks > 0 && !counted) {  // all threads have met
      ++meetings_;
      have_met();
    }
  }
  if (rows && grid_.row_threads > 1) {
    constexpr std::int64_t kAtOnce = 8;
    const int of_warp = std::max(1, 32 / grid_.column_threads), lines = grid_.row_threads / of_warp;
    const std::size_t each = static_cast<std::size_t>(lines * grid_.column_threads) * bytes;  // of one value
    const std::size_t gaps = lines >= 16 ? static_cast<std::size_t>(lines) * bytes : 0;  // between lines that lanes take
    const std::int64_t room = idle_bytes < gaps ? 0 : static_cast<std::int64_t>((idle_bytes - gaps) / each);
    const std::int64_t at_once = std::min(held, std::max(room, kAtOnce));
    std::string how = threads + std::to_string(held);
    if (own == Spread::Uniform && grid_.column_threads <= 32 && lines <= 32) {  // all threads of a row hold the same
      if (lines > 1) use_shared(static_cast<std::size_t>(lines * held) * bytes);
      return line("combine_rows_alike<" + op + ", " + how + ">(" + first + ", " + (lines == 1 ? "nullptr" : "shared") + ");");
    }
    if (lines > 1 && at_once > kAtOnce) how += ", " + std::to_string(at_once);
    if (lines > 1 && room < at_once) use_shared(static_cast<std::size_t>(at_once) * each + gaps);
    line("combine_rows<" + op + ", " + how + ">(" + first + ", " + (lines == 1 ? "nullptr" : room < at_once ? "shared" : "ring") + ");");
    if (lines > 1 && room >= at_once) barrier();  // before the next loop fetches into it
  }
}

/// Waits for others over the same tile, so that they share a loop and the way across the threads.
void Writer::reduce(Id id) {
  const Id from = at(id).operands[0];
  need(from);
  if (spread(from) == Spread::Flat) {
    comment_origin(id);
    return reduce_shared(id);
  }
  if (!reductions_.empty()) {
    const Id other = reductions_.front();
    if (spread(other) != spread(id) || a_.type(at(other).operands[0]).shape != a_.type(from).shape || crossing(other) != crossing(id))
      flush_reductions();
  }
  reductions_.push_back(id);
}

void Writer::flush_reductions() {
  if (reductions_.empty()) return;
  const std::vector<Id> ids = std::exchange(reductions_, {});
  const Spread own = spread(ids.front());
  const bool columns = crossing(ids.front()) == Crossing::Columns, rows = crossing(ids.front()) == Crossing::Rows;
  const auto op_of = [&](Id id) { return reduction_name(at(id).kind) + "<" + scalar_name(at(id).type.dtype) + ">"; };
  // A long column goes into four parts: a fourth of the additions wait for each other, and of their rounding errors meet. Rows that are walked
  // over go into two: there are few threads to fill the time. Four warps or fewer keep pace with memory as they are (StripPreference::paced_bytes).
  const bool column = own == Spread::Column && grid_.row_steps >= 16 && grid_.column_steps * grid_.vector <= 4;
  const bool halves = own != Spread::Column && columns && repeats_ > 0 && grid_.vector >= 4 && grid_.threads() > 4 * 32 &&
                      spread(at(ids.front()).operands[0]) != own && std::ranges::none_of(ids, [&](Id id) { return compares_halves(id); });
  const int parts = column ? 4 : halves ? 2 : 1;
  std::vector<std::pair<Id, std::string>> names;
  for (const Id id : ids) {
    comment_origin(id);
    declare(id);
    const std::string value = variable(id) + place(own), nothing = op_of(id) + "::nothing()";
    if (parts == 1) {
      loops(own, at(id).type.shape, Step::Elements, {}, [&] { line(value + " = " + nothing + ";"); });
      names.emplace_back(id, variable(id));
      continue;
    }
    const std::string part = "parts" + std::to_string(id);
    line(type_name(at(id).type) + " " + part + "[" + std::to_string(parts) + "]" + dimensions(own, at(id).type.shape) + ";");
    loops(own, at(id).type.shape, Step::Elements, {}, [&] {
      for (int i = 0; i < parts; ++i) line(part + "[" + std::to_string(i) + "]" + place(own) + " = " + nothing + ";");
    });
    names.emplace_back(id, part + (column ? "[r % 4]" : "[k % 2]"));
  }
  accumulate(names, own);
  for (const Id id : parts > 1 ? ids : std::vector<Id>{}) {
    const std::string of = op_of(id) + "::of(";
    const auto both = [&](int i, int k) {
      const auto part = [&](int which) { return "parts" + std::to_string(id) + "[" + std::to_string(which) + "]" + place(own); };
      return of + part(i) + ", " + part(k) + ")";
    };
    loops(own, at(id).type.shape, Step::Elements, {},
          [&] { line(variable(id) + place(own) + " = " + (column ? of + both(0, 1) + ", " + both(2, 3) + ")" : both(0, 1)) + ";"); });
  }
  if (columns) read_ahead(ids.back());
  std::set<Id> done;
  for (const Id id : ids) {
    if (done.contains(id)) continue;
    std::vector<Id> alike;
    for (const Id other : ids)
      if (op_of(other) == op_of(id) && (own != Spread::Column || other == id)) alike.push_back(other);
    done.insert(alike.begin(), alike.end());
    if (alike.size() == 1) {
      combine_across(op_of(id), variable(id), columns, rows, own, bytes_of(at(id).type));
      continue;
    }
    // Side by side in one array.
    const std::int64_t each = own == Spread::Uniform ? 1 : grid_.row_steps, all = each * static_cast<std::int64_t>(alike.size());
    const std::string name = "together" + std::to_string(id), step = own == Spread::Uniform ? "" : " + r";
    line(type_name(at(id).type) + " " + name + "[" + std::to_string(all) + "];");
    const auto copy = [&](bool back) {
      loops(own, at(id).type.shape, Step::Elements, {}, [&] {
        for (std::size_t i = 0; i < alike.size(); ++i) {
          const std::string there = name + "[" + std::to_string(static_cast<std::int64_t>(i) * each) + step + "]",
                            here = variable(alike[i]) + place(own);
          line(back ? here + " = " + there + ";" : there + " = " + here + ";");
        }
      });
    };
    copy(false);
    combine(op_of(id), name, all, own, columns, rows, bytes_of(at(id).type));
    copy(true);
  }
  refresh(ids.back());
}

void Writer::arg_reduce(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  need(from);
  comment_origin(id);
  if (spread(from) == Spread::Flat) return reduce_shared(id);
  const Spread own = spread(id), source = spread(from);
  const DType dtype = a_.type(from).dtype;
  const std::string name = "b" + std::to_string(id), best = best_of(self, dtype);
  const Crossing across = crossing(id);
  line("Placed<" + scalar_name(dtype) + "> " + name + dimensions(own, self.type.shape) + ";");
  loops(own, self.type.shape, Step::Elements, [&] { line(name + place(own) + " = " + best + "::nothing();"); });
  loops(source, a_.type(from).shape, Step::Elements, [&] {
    const std::string on = inside(source, a_.type(from).shape), target = name + place(own);
    const std::string position = across == Crossing::None ? "0" : across == Crossing::Columns ? "col" : "row";
    line((on.empty() ? "" : "if (" + on + ") ") + target + " = " + best + "::of(" + target + ", {" + element(from, source) + ", " +
         position + "});");
  });
  combine_across(best, name, across == Crossing::Columns, across == Crossing::Rows, own, 2 * std::max<std::size_t>(4, size_of(dtype)));
  declare(id);
  loops(own, self.type.shape, Step::Elements, [&] { line(variable(id) + place(own) + " = " + name + place(own) + ".at;"); });
}

/// `name` is a tile in shared memory, row-major; everyone may read it afterwards.
void Writer::to_shared(Id id, const std::string& name) {
  const Shape& shape = a_.type(id).shape;
  const Spread own = spread(id);
  barrier();
  loops(own, shape, Step::Elements, [&] {
    std::string on = inside(own, shape);
    if (const std::string acting = acts(own); !acting.empty()) on += (on.empty() ? "" : " && ") + acting;
    line((on.empty() ? "" : "if (" + on + ") ") + name + "[" + linear(own, shape) + "] = " + element(id, own) + ";");
  });
  barrier();
}

void Writer::from_shared(Id id, const std::string& expression) {
  const Shape& shape = a_.type(id).shape;
  const Spread own = spread(id);
  loops(own, shape, Step::Elements, [&] {
    const std::string on = inside(own, shape);
    line((on.empty() ? "" : "if (" + on + ") ") + variable(id) + place(own) + " = " + expression + ";");
  });
}

/// Tiles that are spread flat: one thread goes over a whole line.
void Writer::reduce_shared(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  const tile::Type& source = a_.type(from);
  const int axis = static_cast<int>(self.attribute);
  const std::string type = type_name(source), length = std::to_string(source.shape[axis]),
                    stride = std::to_string(stride_of(source.shape, axis));
  use_shared(static_cast<std::size_t>(numel(source.shape)) * bytes_of(source));
  declare(id);
  open("");
  line(type + "* const tile = reinterpret_cast<" + type + "*>(shared);");
  to_shared(from, "tile");
  const Spread own = spread(id);
  loops(own, self.type.shape, Step::Elements, [&] {
    const std::string index = linear(own, self.type.shape), on = inside(own, self.type.shape);
    line("const int start = " + index + " / " + stride + " * " + std::to_string(source.shape[axis] * stride_of(source.shape, axis)) +
         " + " + index + " % " + stride + ";");
    open(on.empty() ? "" : "if (" + on + ")");
    if (self.word == Word::Reduce) {
      line(type + " total = tile[start];");
      line("for (int i = 1; i < " + length + "; ++i) total = " + reduction_name(self.kind) + "<" + type + ">::of(total, tile[start + i * " +
           stride + "]);");
      line(variable(id) + place(own) + " = total;");
    } else {
      line("Placed<" + type + "> best = {tile[start], 0};");
      line("for (int i = 1; i < " + length + "; ++i) best = " + best_of(self, source.dtype) + "::of(best, {tile[start + i * " + stride +
           "], i});");
      line(variable(id) + place(own) + " = best.at;");
    }
    close();
  });
  close();
}

void Writer::scan(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  need(from);
  comment_origin(id);
  const int axis = static_cast<int>(self.attribute);
  const std::int64_t count = numel(self.type.shape);
  const std::string type = type_name(self.type), n = std::to_string(count);
  use_shared(static_cast<std::size_t>(2 * count) * bytes_of(self.type));
  declare(id);
  open("");
  line(type + "* const tile = reinterpret_cast<" + type + "*>(shared);");
  to_shared(from, "tile");
  line("const " + type + "* const scanned = scan_shared<" + reduction_name(self.kind) + "<" + type + ">>(tile, tile + " + n + ", " + n +
       ", " + std::to_string(self.type.shape[axis]) + ", " + std::to_string(stride_of(self.type.shape, axis)) + ");");
  from_shared(id, "scanned[" + linear(spread(id), self.type.shape) + "]");
  close();
}

void Writer::sort(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  need(from);
  comment_origin(id);
  const tile::Type& source = a_.type(from);
  const int axis = static_cast<int>(self.attribute);
  const std::int64_t count = numel(source.shape), keys = (count * static_cast<std::int64_t>(bytes_of(source)) + 15) / 16 * 16;
  const std::string type = type_name(source), n = std::to_string(count), length = std::to_string(source.shape[axis]),
                    stride = std::to_string(stride_of(source.shape, axis));
  use_shared(static_cast<std::size_t>(keys + 8 * count));
  declare(id);
  open("");
  line(type + "* const tile = reinterpret_cast<" + type + "*>(shared);");
  line("int* const order = reinterpret_cast<int*>(shared + " + std::to_string(keys) + ");");
  to_shared(from, "tile");
  line("const int* const sorted = sort_shared(tile, order, order + " + n + ", " + n + ", " + length + ", " + stride + ", " +
       (tile::SortOrder::of(self).descending ? "true" : "false") + ");");
  const std::string index = linear(spread(id), self.type.shape);
  if (self.word == Word::ArgSort) from_shared(id, "sorted[" + index + "]");
  else from_shared(id, "tile[" + index + " + (sorted[" + index + "] - " + index + " / " + stride + " % " + length + ") * " + stride + "]");
  close();
}

void Writer::dot(Id id) {
  const tile::Instruction& self = at(id);
  for (const Id operand : self.operands) need(operand);
  comment_origin(id);
  const tile::Type &a = a_.type(self.operands[0]), &b = a_.type(self.operands[1]);
  const std::string type = type_name(self.type), inner = std::to_string(a.shape[1]), columns = std::to_string(b.shape[1]);
  use_shared(static_cast<std::size_t>(numel(a.shape) + numel(b.shape)) * bytes_of(a));
  declare(id);
  open("");
  line(type + "* const a = reinterpret_cast<" + type + "*>(shared);");
  line(type + "* const b = a + " + std::to_string(numel(a.shape)) + ";");
  to_shared(self.operands[0], "a");
  to_shared(self.operands[1], "b");
  const Spread own = spread(id);
  const std::string fma = is_float(self.type.dtype) ? (self.type.dtype == DType::f32 ? "fmaf" : "fma") : "";
  loops(own, self.type.shape, Step::Elements, [&] {
    const std::string on = inside(own, self.type.shape), i = coordinate(0, own, self.type.shape), j = coordinate(1, own, self.type.shape);
    open(on.empty() ? "" : "if (" + on + ")");
    line(type + " sum = " + element(self.operands[2], own) + ";");
    const std::string x = "a[" + i + " * " + inner + " + m]", y = "b[m * " + columns + " + " + j + "]";
    line("for (int m = 0; m < " + inner + "; ++m) sum = " + (fma.empty() ? x + " * " + y + " + sum" : fma + "(" + x + ", " + y + ", sum)") +
         ";");
    line(variable(id) + place(own) + " = sum;");
    close();
  });
  close();
}

/// A tile that other threads hold under its new shape.
void Writer::rearrange(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  need(from);
  comment_origin(id);
  const tile::Type& source = a_.type(from);
  const Shape& shape = self.type.shape;
  const Spread own = spread(id);
  use_shared(static_cast<std::size_t>(numel(source.shape)) * bytes_of(source));
  std::string index = linear(own, shape);
  if (self.word == Word::Transpose)
    index = coordinate(1, own, shape) + " * " + std::to_string(shape[0]) + " + " + coordinate(0, own, shape);
  if (self.word == Word::Broadcast) {
    index = "0";
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (source.shape[axis] != 1) index += " + " + coordinate(axis, own, shape) + " * " + std::to_string(stride_of(source.shape, axis));
    }
  }
  declare(id);
  open("");
  line(type_name(source) + "* const tile = reinterpret_cast<" + type_name(source) + "*>(shared);");
  line("(void)tile;");
  to_shared(from, "tile");
  from_shared(id, "tile[" + index + "]");
  close();
}

}  // namespace tegula::gpu
