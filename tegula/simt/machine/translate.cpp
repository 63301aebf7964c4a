// The head of a kernel, its statements, and control.

#include <algorithm>
#include <bit>

#include "tegula/core/error.h"
#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

using What = Instruction::What;

Code translated(const Kernel& kernel) { return Translator(kernel).translate(); }

void Translator::unknown(const std::string& what) const {
  throw Error({.op = "simt::Machine",
               .got = what + " in a kernel of " + k_.program,
               .expected = "what tegula/simt/machine knows",
               .advice = "add it there"});
}

Code Translator::translate() {
  code_.granules = kConstantGranules;
  scopes_.emplace_back();
  head();
  // Declarations ahead of the body stay.
  add({.what = What::Save, .number = new_mask()});  // a first instruction that is not the body's
  walk(k_.entry);
  walk(k_.begin);
  code_.body = here();
  walk(k_.body);
  add({.what = What::End});
  code_.end = here();
  walk(k_.end);
  add({.what = What::Leave});
  return std::move(code_);
}

/// Declares the names with which every kernel begins.
void Translator::head() {
  Given& given = code_.given;
  const auto give = [&](std::uint32_t& granule, Name name, Type type) {
    const Value value = temporary(type);
    granule = static_cast<std::uint32_t>(value.slot.base);
    declare(name, value);
  };
  const Type integer = computed(DType::i32), word{.kind = Type::Kind::Unsigned, .dtype = DType::i32}, index = computed(DType::i64);
  Type bytes{.kind = Type::Kind::Byte, .pointers = 1};
  give(given.thread, "threadIdx.x", word);
  give(given.rank, "block", integer);
  give(given.tr, "tr", integer), give(given.tc, "tc", integer);
  give(given.owner, "owner", word), give(given.owners, "owners", word);
  give(given.shared, "shared", bytes);
  const char* const ids[] = {"id0", "id1", "id2"};
  const char* const grid[] = {"g0", "g1", "g2"};
  for (std::size_t axis = 0; axis < 3; ++axis) give(given.id[axis], ids[axis], index), give(given.grid[axis], grid[axis], index);
  declare("parts", constant(Number::I32, k_.parts_begin()));
  declare("held", constant(Number::I32, k_.staged_begin()));
  declare("nullptr", constant(Number::Address, 0));
  for (const KernelParameter& parameter : k_.parameters) {
    const tile::Parameter& declared = parameter.declared;
    given.parameters.emplace_back();
    give(given.parameters.back(), parameter.name, declared.pointer ? pointer_to(stored(declared.dtype)) : computed(declared.dtype));
  }
  const Value ring = temporary(bytes);
  move(ring, pointer_sum(variable("shared").value, constant(Number::I64, k_.ring_begin())));
  declare("ring", ring);
  const Value tiles = temporary(bytes);
  move(tiles, pointer_sum(variable("shared").value, constant(Number::I64, k_.tiles_begin())));
  if (k_.groups)
    native([at = tiles.slot](Cluster&, Warp& warp) {
      for (int lane = 0; lane < kLanes; ++lane) {
        std::uint64_t& address = warp.lanes<std::uint64_t>(at)[lane];
        address = (address + Kernel::kTileLine - 1) / Kernel::kTileLine * Kernel::kTileLine;
      }
    });
  declare("tiles", tiles);
}

void Translator::walk(const Block& block) {
  for (const Statement& statement : block) {
    const auto translate = [&] { std::visit([this](const auto& what) { (*this)(unboxed(what)); }, statement.what); };
    if (statement.as<Declare>()) {
      translate();
      continue;
    }
    const std::int64_t top = top_;
    if (statement.when) where(*statement.when, translate);
    else translate();
    if (!statement.as<Scan>() && !statement.as<Sort>()) top_ = top;  // which leave a variable
  }
}

void Translator::walk_within(const Block& block) {
  const std::int64_t top = top_;
  scopes_.emplace_back();
  walk(block);
  scopes_.pop_back();
  top_ = top;
}

void Translator::where(const Expression& when, const Within& f) {
  const int mask = new_mask();
  add({.what = What::Save, .number = mask});
  const Value condition = lanes(when, Number::Boolean);
  Instruction narrow{.what = What::Narrow, .target = code_.sentences.size()};
  narrow.in[0] = condition.slot;
  said(text(when));
  add(narrow);
  const std::size_t jump = here();
  add({.what = What::JumpIfNone});
  f();
  code_.instructions[jump].target = here();
  add({.what = What::Restore, .number = mask});
}

void Translator::counted(Name name, std::int64_t begin, std::int64_t end, const Within& body) {
  if (begin >= end) return;
  const std::int64_t top = top_;
  const int counter = new_counter();
  scopes_.emplace_back();
  scopes_.back()[name.str()] = {.value = {.type = computed(DType::i32), .slot = {}}, .counter = counter};
  add({.what = What::Count, .number = counter, .limit = begin});
  const std::size_t first = here();
  body();
  add({.what = What::CountOn, .number = counter, .limit = end, .target = first});
  scopes_.pop_back();
  top_ = top;
}

void Translator::operator()(const Declare& one) {
  std::int64_t count = 1;
  for (const std::int64_t size : one.what.sizes) count *= size;
  const Value value{one.what.type, allocate(width(one.what.type) * count), {one.what.sizes.begin(), one.what.sizes.end()}};
  const std::int64_t top = top_;
  if (one.value) {
    const bool tuple = one.value->kind == Expression::Kind::Tuple;
    const Value first = tuple ? placed(*one.value, one.what.type.dtype) : lanes(*one.value);
    move(value, converted(first, one.what.type));
  } else {
    Instruction undefine{.what = What::Undefine, .number = width(one.what.type) * count};
    undefine.out = value.slot;
    add(undefine);
  }
  top_ = top;
  declare(one.what.name, value);
}

void Translator::assign(const Expression& target, const Value& value) {
  const Reference to = reference(target);
  if (to.in_memory) return store(to.value, to.type, value, text(target));
  move(to.value, converted(value, to.value.type));
}

void Translator::operator()(const Assign& one) {
  if (!one.adds) return assign(one.target, lanes(one.value));
  assign(one.target, binary(one.target, "+", one.value));
}

void Translator::operator()(const Loop& loop) {
  counted(loop.name, loop.begin, loop.end, [&] { walk_within(loop.body); });
}

void Translator::operator()(const For& loop) {
  scopes_.emplace_back();
  const Value variable{loop.type, allocate(width(loop.type))};
  move(variable, converted(lanes(loop.begin), loop.type));
  declare(loop.name, variable);
  const int mask = new_mask();
  add({.what = What::Save, .number = mask});
  const std::size_t turn = here();
  const Expression condition = loop.when ? *loop.when : Expression(loop.name) < loop.end;
  const Value goes_on = lanes(condition, Number::Boolean);
  Instruction narrow{.what = What::Narrow, .target = code_.sentences.size()};
  narrow.in[0] = goes_on.slot;
  said(text(condition));
  add(narrow);
  const std::size_t out = here();
  add({.what = What::JumpIfNone});
  walk_within(loop.body);
  // The body's declarations are over: the step is that of the loop around.
  move(variable, converted(lanes(Expression(loop.name) + loop.step), loop.type));
  add({.what = What::Jump, .target = turn});
  code_.instructions[out].target = here();
  add({.what = What::Restore, .number = mask});
  scopes_.pop_back();
}

void Translator::operator()(const Branch& branch) {
  const int mask = new_mask();
  add({.what = What::Save, .number = mask});
  const Value kept{computed(DType::boolean), allocate(1)};
  move(kept, lanes(branch.when, Number::Boolean));
  Instruction narrow{.what = What::Narrow, .target = code_.sentences.size()};
  narrow.in[0] = kept.slot;
  said(text(branch.when));
  const auto side = [&](const Block& block) {
    add(narrow);
    const std::size_t jump = here();
    add({.what = What::JumpIfNone});
    walk_within(block);
    code_.instructions[jump].target = here();
    add({.what = What::Restore, .number = mask});
  };
  side(branch.then);
  if (branch.otherwise.empty()) return;
  narrow.masked = true;
  side(branch.otherwise);
}

void Translator::operator()(const Barrier& barrier) {
  switch (barrier.kind) {
    case Barrier::Kind::Block: return meet();
    case Barrier::Kind::Team: add({.what = What::MeetTeam}); return;
    case Barrier::Kind::Warp: native([](Cluster& cluster, Warp& warp) { cluster.meet_warp(warp); }); return;
    case Barrier::Kind::Cluster: add({.what = What::MeetCluster}); return;
    case Barrier::Kind::ClusterArrive: add({.what = What::Arrive}); return;
    case Barrier::Kind::ClusterWait: add({.what = What::AwaitArrived}); return;
  }
}

void Translator::operator()(const NumberedBarrier& barrier) {
  const Value number = lanes(barrier.number, Number::I32);
  native([at = number.slot, threads = barrier.threads, waits = barrier.waits](Cluster& cluster, Warp& warp) {
    if (warp.mask != 0) cluster.come_to(warp, warp.lanes<std::int32_t>(at)[std::countr_zero(warp.mask)], threads, waits);
  });
}

void Translator::operator()(const MoveRegisters& registers) {
  native([registers](Cluster& cluster, Warp& warp) { cluster.move_registers(warp, registers); });
}

}  // namespace tegula::simt
