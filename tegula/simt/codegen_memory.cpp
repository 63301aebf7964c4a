// Loads, stores, and what else reaches memory.

#include "tegula/simt/codegen_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::gpu {

using tile::Word;

namespace {

constexpr std::int64_t kLastingBytes = 16384;  // of what every row meets: where it is more, the L1 holds little of it beside the rows

std::string all_of(const std::vector<std::string>& conditions) {
  std::string text;
  for (const std::string& condition : conditions) {
    if (!condition.empty()) text += (text.empty() ? "" : " && ") + condition;
  }
  return text;
}

std::string least_of(const std::vector<std::string>& limits) {
  std::string text = limits[0];
  for (std::size_t i = 1; i < limits.size(); ++i) text = "smaller(" + text + ", " + limits[i] + ")";
  return text;
}

}  // namespace

/// What one thread wrote is read by another only behind a barrier, and is not written over before. Different parameters may share
/// memory only where every element is read and written by one thread: at the same place of one tile.
void Writer::order_memory(Id pointer, bool writes) {
  const Id root = a_.root_of(pointer);
  const bool shared_place = !acts(spread(pointer)).empty();
  const auto clashes = [&](const std::map<Id, std::set<Id>>& touched) {
    for (const auto& [other, pointers] : touched) {
      if (other != root && other >= 0 && root >= 0) continue;
      for (const Id one : pointers)
        if (one != pointer || shared_place) return true;
    }
    return false;
  };
  if (clashes(written_) || (writes && (clashes(read_) || (shared_place && read_by_many_)))) {
    begin_cluster();
    line(grid_.cluster > 1 ? "cluster_barrier();" : "__syncthreads();");
    have_met();
  }
  (writes ? written_ : read_)[root].insert(pointer);
  if (!writes) read_by_many_ = read_by_many_ || shared_place;
}

std::string Writer::pointer_text(const Form& form, Spread loops, const Shape& shape) { return affine_element(form, loops, shape); }

/// Whether every instance reads the same there, and none writes it: not even under another name, as a result in its operand's place does
/// where one instance is all there is.
bool Writer::is_read_only(Id pointer) const {
  const Form form = a_.affine(pointer);
  if (form.root < 0 || form.rest >= 0 || !form.base.is(0)) return false;
  if (a_.program().early && !reads_unwritten(pointer)) return false;  // such loads may be moved across the wait for the launch ahead
  const Id root = a_.root_of(pointer);
  const auto& all = a_.program().instructions;
  return root >= 0 && std::none_of(all.begin(), all.end(), [&](const tile::Instruction& self) {
           if (self.word != Word::Store && self.word != Word::AtomicAdd) return false;
           const Id written = self.operands[0], other = a_.root_of(written);
           return other == root || other < 0 || (a_.affine(written).base.is(0) && !a_.type(written).shape.empty());
         });
}

std::string Writer::source_text(Id pointer, const std::string& text) const {
  if (!is_read_only(pointer)) return text;
  const bool lasting = grid_.columns * static_cast<std::int64_t>(size_of(a_.type(pointer).dtype)) >= kLastingBytes;
  return (lasting ? "steady<true>(" : "steady(") + text + ")";
}

std::optional<Writer::Access> Writer::wide_access(Id pointer, Id mask, Spread own) {
  if ((own != Spread::Column && own != Spread::Full) || grid_.vector == 1) return {};
  Access access;
  access.wide = std::min(a_.contiguous(pointer), grid_.vector);
  if (access.wide == 0) return {};
  const int last = a_.type(pointer).shape.rank() - 1, twos = std::countr_zero(static_cast<unsigned>(access.wide));
  const Shape& shape = a_.type(pointer).shape;
  if (mask >= 0) {
    for (const Condition& condition : a_.box(mask).conditions) {
      const bool tile = condition.kind == Condition::Kind::Tile;
      const bool along =
          tile ? a_.varies_along_last_axis(condition.tile) : condition.kind != Condition::Kind::Uniform && condition.axis == last;
      if (!along) {
        access.on.push_back(condition_text(condition, own, shape));
      } else if (condition.kind == Condition::Kind::Below) {
        access.limits.push_back(limit_name(condition.limit) + " - col");
        access.whole = access.whole && condition.limit.twos >= twos;
      } else {
        return {};
      }
    }
  }
  if (!grid_.columns_fit() && !grid_.staged) {
    access.limits.push_back(std::to_string(grid_.columns) + " - col");
    access.whole = access.whole && grid_.columns % access.wide == 0;
  }
  if (own == Spread::Full && !grid_.rows_fit()) access.on.push_back("row < " + std::to_string(grid_.rows));
  access.pointer = pointer_text(a_.affine(pointer), own, shape);
  return access;
}

/// Halves take half the registers until they are used.
bool Writer::stays_packed(Id load, Id other) const {
  return grid_.reduces && is_half(a_.type(at(load).operands[0]).dtype) && grid_.vector % 2 == 0 &&
         (other < 0 || (at(other).word == Word::Constant && at(other).real == 0));
}

/// Keeps the compiler from widening packed values once for all that follows.
void Writer::refresh(Id now) {
  for (const auto& [id, bytes] : packed_) {
    if (needed_after(id, now)) line("keep_packed(" + variable(id) + ");");
  }
}

/// All that has been loaded for the value since the row was reduced is asked for before the first of it is used, so that it is waited for
/// once.
void Writer::settle(Id value) {
  for (const Id source : sources_of(value)) {
    const auto known = recipes_.find(source);
    const std::set<Id> held = known == recipes_.end() ? std::set<Id>{source} : known->second.held;
    for (const Id id : held)
      if (late_.erase(id) > 0) line("keep_packed(" + variable(id) + ");");
  }
}

/// How many of `count` elements are there.
std::string Writer::inside_text(const Access& access, int count) const {
  const std::string on = all_of(access.on);
  const std::string limit = access.limits.empty() ? std::to_string(count) : least_of(access.limits);
  return on.empty() ? limit : on + " ? " + limit + " : 0";
}

/// The type of a vector of elements as they lie there.
std::string Writer::wide_type(Id pointer) const {
  return "Wide<" + stored_name(a_.type(pointer).dtype) + ", " + std::to_string(grid_.vector) + ">";
}

/// How one is loaded, up to the end of what load_wide must be told at least.
std::string Writer::load_text(Id pointer) const {
  return "load_wide<" + std::to_string(std::min(a_.contiguous(pointer), grid_.vector)) + ", " + std::to_string(grid_.vector);
}

/// Sends every vector of the thread on its way into shared memory.
void Writer::stage(Id id) {
  const Id pointer = at(id).operands[0];
  const std::string wide = wide_type(pointer), name = "row" + std::to_string(id);
  line(wide + "* const " + name + " = reinterpret_cast<" + wide + "*>(shared + held" +
       (staged_bytes_ > 0 ? " + " + std::to_string(staged_bytes_) : "") + ") + threadIdx.x;");
  const bool one_row = spread(id) == Spread::Column;
  const std::int64_t share = std::int64_t{grid_.column_steps} * grid_.threads() * grid_.vector;
  const std::int64_t places = !one_row ? grid_.row_steps * share : grid_.cluster == 1 ? grid_.columns : share;
  staged_bytes_ += (static_cast<std::size_t>(places) * size_of(a_.type(pointer).dtype) + 127) / 128 * 128;
  loops(spread(id), at(id).type.shape, Step::Vectors, {}, [&] {
    line("copy_async(" + pointer_text(a_.affine(pointer), spread(id), at(id).type.shape) + ", " + name + staged_place(id) + ");");
  });
  awaits_staged_ = true;
}

/// Of the vector that the loops are at, from the thread's first one on.
std::string Writer::staged_place(Id load) const {
  const std::string step = spread(load) == Spread::Full ? "(r * " + std::to_string(grid_.column_steps) + " + c)" : "c";
  return "[" + step + " * " + std::to_string(grid_.threads()) + "]";
}

/// A thread reads only what it has copied itself.
void Writer::await_staged() {
  if (!std::exchange(awaits_staged_, false)) return;
  line("await_copies();");
}

/// A vector that the innermost loops take the elements of.
void Writer::read_vector(Id id) {
  const Id pointer = at(id).operands[0];
  const std::string wide = wide_type(pointer), name = "x" + std::to_string(id);
  if (staging_.staged.contains(id)) { return line("const " + wide + " " + name + " = row" + std::to_string(id) + staged_place(id) + ";"); }
  line(wide + " " + name + ";");
  const bool part = !grid_.staged && !grid_.columns_fit();
  const bool early = staging_.direct.size() == 1 || reads_ahead_;  // there are registers for a few vectors
  const std::string text = pointer_text(a_.affine(pointer), spread(id), at(id).type.shape);
  const std::string ahead = name + " = ahead" + std::to_string(id) + "[c];";
  if (reads_ahead_ && grid_.ahead == grid_.column_steps) return line(ahead);
  line((reads_ahead_ ? "if (c < " + std::to_string(grid_.ahead) + ") " + ahead + " else " : "") + load_text(pointer) +
       (part ? ", true>(" : ">(") + (part || !early ? text : source_text(pointer, text)) + ", " + name +
       (part ? ", " + std::to_string(grid_.columns) + " - col, 0.0f" : "") + ");");
}

/// What only the last pass over a staged row needs, of its first steps: asked for before the last exchange that it waits for.
void Writer::read_ahead(Id reduction) {
  const std::vector<Id>& body = a_.program().body.body;
  if (grid_.ahead == 0 || std::ranges::any_of(body, [&](Id id) { return id > reduction && at(id).word == Word::Reduce; })) return;
  const auto waits = [&](Id load) { return load > reduction && spread(load) == Spread::Column && is_read_only(at(load).operands[0]); };
  reads_ahead_ = std::ranges::all_of(staging_.direct, waits);
  if (!reads_ahead_) return;
  for (const Id id : staging_.direct) {
    const Id pointer = at(id).operands[0];
    const std::string name = "ahead" + std::to_string(id);
    line(wide_type(pointer) + " " + name + "[" + std::to_string(grid_.ahead) + "];");
    line("#pragma unroll");
    open("for (int c = 0; c < " + std::to_string(grid_.ahead) + "; ++c)");
    line("const int col = " + column_text() + ";");
    line((grid_.columns_fit() ? "" : "if (col < " + std::to_string(grid_.columns) + ") ") + load_text(pointer) + ">(" +
         pointer_text(a_.affine(pointer), Spread::Column, at(id).type.shape) + ", " + name + "[c]);");
    close();
  }
}

void Writer::load(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1,
           other = self.operands.size() > 2 ? self.operands[2] : -1;
  for (const Id operand : self.operands) need(operand);
  order_memory(pointer, false);
  comment_origin(id);
  const Spread own = spread(id);
  if (staging_.direct.contains(id)) return;  // its pass reads it
  if (staging_.staged.contains(id)) return stage(id);
  const Shape& shape = self.type.shape;
  const std::string type = scalar_name(self.type.dtype), nothing = zero_of(self.type.dtype);
  auto access = other < 0 || spread(other) == Spread::Uniform ? wide_access(pointer, mask, own) : std::nullopt;
  const auto plan = prefetched_.find(id);
  const auto fetched = plan == prefetched_.end() ? std::nullopt : std::optional(fetched_access(*plan->second, id));
  if (fetched && own != Spread::Row) access = fetched;
  if (access) {
    const bool packed = stays_packed(id, other);
    if (packed) {
      packed_[id] = size_of(a_.type(pointer).dtype);
      if (crossed_) late_.insert(id);
      line(wide_type(pointer) + " " + variable(id) + (own == Spread::Full ? "[" + std::to_string(grid_.row_steps) + "]" : "") + "[" +
           std::to_string(grid_.column_steps) + "];");
    } else {
      declare(id);
    }
    loops(own, shape, Step::Vectors, [&] {
      const std::string wide = std::to_string(access->wide), count = std::to_string(grid_.vector);
      const std::string target = variable(id) + (own == Spread::Full ? "[r][c]" : "[c]");
      if (access->limits.empty() && access->on.empty())
        return line("load_wide<" + wide + ", " + count + ">(" + (fetched ? access->pointer : source_text(pointer, access->pointer)) + ", " +
                    target + ");");
      const std::string limit = inside_text(*access, grid_.vector);
      const std::string substitute = other >= 0 ? element(other, own) : nothing;
      line("load_wide<" + wide + ", " + count + (access->whole ? ", true>(" : ", false>(") + access->pointer + ", " + target + ", " +
           limit + ", " + substitute + ");");
    });
    return;
  }
  if (own != Spread::Uniform) declare(id);
  loops(own, shape, Step::Elements, [&] {
    if (fetched) return line(variable(id) + place(own) + " = widen(*" + fetched->pointer + ");");
    const std::string on = all_of({mask >= 0 ? box_element(a_.box(mask), own, shape) : "", inside(own, shape)});
    std::string value = "widen(*" + std::string("(") + pointer_text(a_.affine(pointer), own, shape) + "))";
    if (!on.empty()) value = on + " ? " + value + " : " + (other >= 0 ? element(other, own) : nothing);
    line((own == Spread::Uniform ? "const " + type + " " + variable(id) : variable(id) + place(own)) + " = " + value + ";");
  });
}

void Writer::store(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], value = a_.resolve(self.operands[1]), mask = self.operands.size() > 2 ? self.operands[2] : -1;
  flush_reductions();  // which may still read what is written over
  for (const Id operand : self.operands) need(operand);
  order_memory(pointer, true);
  comment_origin(id);
  // Computed places may coincide: the last element stays.
  const Form form = a_.affine(pointer);
  const Shape& shape = a_.type(pointer).shape;
  bool may_coincide = form.rest >= 0 && spread(pointer) != Spread::Uniform;
  for (int i = 0; i < shape.rank(); ++i) may_coincide = may_coincide || (shape[i] != 1 && form.stride[static_cast<std::size_t>(i)].is(0));
  if (may_coincide) return write_in_order(id);
  const Spread own = spread(pointer);
  const std::string type = scalar_name(tile::compute_type(a_.type(pointer).dtype));
  settle(value);
  if (const auto access = wide_access(pointer, mask, own)) {
    const bool in_place = at(value).word != Word::Constant && a_.form(value).kind == Form::Kind::None && !renames(value) &&
                          spread(value) == own && !packed_.contains(value) && !recipes_.contains(value) && !at_hand(value);
    loops(own, shape, Step::Vectors, {value}, [&] {
      const std::string wide = std::to_string(access->wide), count = std::to_string(grid_.vector);
      std::string source = variable(value) + (own == Spread::Full ? "[r][c]" : "[c]");
      if (!in_place) {
        source = "x";
        line(type + " x[" + count + "];");
        each_of_vector([&] { line("x[k] = " + element(value, own) + ";"); });
      }
      std::vector<std::string> conditions = access->on;
      conditions.push_back(acts(own));
      const std::string on = all_of(conditions);
      if (access->limits.empty()) {
        const std::string store = own == Spread::Full && grid_.row_steps > 1 ? "store_rows<" : "store_wide<";
        line((on.empty() ? "" : "if (" + on + ") ") + store + wide + ", " + count + ">(" + access->pointer + ", " + source + ");");
      } else {
        line((on.empty() ? "" : "if (" + on + ") ") + "store_wide<" + wide + ", " + count + (access->whole ? ", true>(" : ", false>(") +
             access->pointer + ", " + source + ", " + least_of(access->limits) + ");");
      }
    });
    return;
  }
  loops(own, shape, Step::Elements, [&] {
    const std::string on = all_of({mask >= 0 ? box_element(a_.box(mask), own, shape) : "", inside(own, shape), acts(own)});
    line((on.empty() ? "" : "if (" + on + ") ") + "narrow(static_cast<" + type + ">(" + element(value, own) + "), *(" +
         pointer_text(form, own, shape) + "));");
  });
}

/// Through shared memory: every thread goes over all elements in order and takes those whose place belongs to it.
void Writer::write_in_order(Id id) {
  constexpr std::int64_t kChunk = 2048;
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], value = self.operands[1], mask = self.operands.size() > 2 ? self.operands[2] : -1;
  const Spread own = spread(pointer);
  const tile::Type& type = a_.type(pointer);
  const std::int64_t count = numel(type.shape), chunk = std::min(count, kChunk);
  const std::string n = std::to_string(count), size = std::to_string(chunk), compute = scalar_name(tile::compute_type(type.dtype));
  use_shared(static_cast<std::size_t>(chunk) * 16);
  open("for (int first = 0; first < " + n + "; first += " + size + ")");
  line(type_name(type) + "* const places = reinterpret_cast<" + type_name(type) + "*>(shared);");
  line(compute + "* const values = reinterpret_cast<" + compute + "*>(shared + " + std::to_string(chunk * 8) + ");");
  line("__syncthreads();");
  loops(own, type.shape, Step::Elements, [&] {
    const std::string on = mask >= 0 ? box_element(a_.box(mask), own, type.shape) : "";
    const std::string here = all_of({"i >= 0", "i < " + size, inside(own, type.shape), acts(own)});
    line("const int i = " + linear(own, type.shape) + " - first;");
    open("if (" + here + ")");
    const std::string target = pointer_text(a_.affine(pointer), own, type.shape);
    line("places[i] = " + (on.empty() ? target : on + " ? " + target + " : nullptr") + ";");
    line("values[i] = " + element(value, own) + ";");
    close();
  });
  line("__syncthreads();");
  const std::string add = self.word == Word::AtomicAdd ? "true" : "false";
  const std::string owner = one_at_a_time_ ? "owners, owner" : std::to_string(grid_.threads()) + ", threadIdx.x";
  line("write_in_order<" + add + ">(places, values, " + (chunk == count ? n : "smaller(" + size + ", " + n + " - first)") + ", " + owner +
       ");");
  close();
}

/// Integer sums do not depend on their order.
void Writer::atomic_add(Id id) {
  const tile::Instruction& self = at(id);
  for (const Id operand : self.operands) need(operand);
  const Id pointer = self.operands[0];
  order_memory(pointer, true);
  comment_origin(id);
  const tile::Type& type = a_.type(pointer);
  if (type.dtype != DType::i32 && type.dtype != DType::i64) return write_in_order(id);
  const Spread own = spread(pointer);
  const std::string word = type.dtype == DType::i32 ? "unsigned int" : "unsigned long long";
  loops(own, type.shape, Step::Elements, [&] {
    const std::string on = all_of(
        {self.operands.size() > 2 ? box_element(a_.box(self.operands[2]), own, type.shape) : "", inside(own, type.shape), acts(own)});
    line((on.empty() ? "" : "if (" + on + ") ") + "atomicAdd(reinterpret_cast<" + word + "*>(" +
         pointer_text(a_.affine(pointer), own, type.shape) + "), static_cast<" + word + ">(" + element(self.operands[1], own) + "));");
  });
}

void Writer::check(Id id) {
  const tile::Instruction& self = at(id);
  for (const Id operand : self.operands) need(operand);
  comment_origin(id);
  const Id wider = numel(a_.type(self.operands[0]).shape) >= numel(a_.type(self.operands[1]).shape) ? self.operands[0] : self.operands[1];
  const Spread own = spread(wider);
  const Shape& shape = a_.type(wider).shape;
  loops(own, shape, Step::Elements, [&] {
    const std::string on = all_of({inside(own, shape), acts(own), "!" + element(self.operands[0], own)});
    line("if (" + on + ") report(failure, " + std::to_string(self.attribute) + ", " + element(self.operands[1], own) + ");");
  });
}

/// Four words come from one counter.
void Writer::random_words(Id id) {
  const tile::Instruction& self = at(id);
  const Spread own = spread(id);
  const Id seed = self.operands[0], index = self.operands[1];
  if ((own != Spread::Column && own != Spread::Full) || grid_.vector % 4 != 0 || a_.counts_up(index, false) < 4) return share_loop(id);
  need(seed);
  need(index);
  comment_origin(id);
  declare(id);
  const bool aligned = a_.counts_up(index) >= 4;
  if (!aligned) open("if ((" + a_.affine(index).base.code() + " & 3) == 0)");
  loops(own, self.type.shape, Step::Vectors, [&] {
    const std::string target = variable(id) + (own == Spread::Full ? "[r][c]" : "[c]"), first = element(index, own);
    for (int k = 0; k < grid_.vector; k += 4) {
      line("philox_words(" + element(seed, own) + ", " + first + (k > 0 ? " + " + std::to_string(k) : "") + ", " + target + " + " +
           std::to_string(k) + ");");
    }
  });
  if (aligned) return;
  close();
  open("else");
  loops(own, self.type.shape, Step::Elements, [&] { line(variable(id) + place(own) + " = " + word_text(id, own) + ";"); });
  close();
}

}  // namespace tegula::gpu
