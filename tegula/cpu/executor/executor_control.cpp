// Loops and branches.

#include <algorithm>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

template <class S>
Item control(Run run, S step, int target, std::string text) {
  Item item;
  step.run = run;
  item.bytes.resize(sizeof(S));
  std::memcpy(item.bytes.data(), &step, sizeof(S));
  item.target = target;
  item.text = std::move(text);
  return item;
}
Item label(int number) {
  Item item;
  item.label = number;
  return item;
}
bool is_address(const tile::Type& type) { return type.pointer || type.dtype == DType::i64; }

}  // namespace

/// Closes the region. Values computed inside it are not available outside (a loop's slots stay, with other contents).
Compiler::Level Compiler::close_region() {
  const int region = current_region();
  auto& log = state_.dense_log;
  std::erase_if(log, [&](const auto& entry) {
    if (entry.first != region) return false;
    state_.dense[static_cast<std::size_t>(entry.second)] = {};
    return true;
  });
  std::erase_if(state_.scalars, [&](const auto& entry) { return entry.second.level >= 2 * region; });
  Level level = std::move(state_.levels.back());
  state_.levels.pop_back();
  return level;
}

void Compiler::append(Level level) {
  auto& body = state_.levels.back().body;
  for (auto* list : {&level.header, &level.body})
    body.insert(body.end(), std::make_move_iterator(list->begin()), std::make_move_iterator(list->end()));
}

/// The place of a loop-carried value. Its slots exist from the beginning of the loop's region, which is about to be opened.
Form Compiler::carried_form(const Form& initial, const tile::Type& type, Carry how) {
  const int level = 2 * (current_region() + 1);
  if (type.shape.empty()) return uniform(fresh_scalar(level));
  const auto affine = is_address(type) && how != Carry::InMemory ? as_affine(initial) : std::nullopt;
  if (affine && affine->offset.tile < 0) {
    Form form = *affine;
    form.root = -1;
    form.base = fresh_scalar(level);
    for (int i = 0; i < type.shape.rank(); ++i) {
      Scalar& stride = form.stride[static_cast<std::size_t>(i)];
      if (type.shape[i] > 1 && (how == Carry::FreeStrides || !stride.known)) stride = fresh_scalar(level);
    }
    return form;
  }
  const int tile = new_tile(type.pointer ? DType::i64 : type.dtype, type.shape);
  state_.tiles.back().region = current_region();
  Strides strides = dense_strides(type.shape);
  for (int i = 0; i < type.shape.rank(); ++i) {
    if (type.shape[i] == 1) strides[i] = 0;
  }
  const Form form = dense({tile, strides});
  return type.pointer ? *as_affine(form) : form;
}

/// Returns the way to carry the value so that `next` can follow it; `how` itself when it fits as it is.
Compiler::Carry Compiler::fits(const Form& carried, const Form& next, Carry how) const {
  if (carried.kind != Kind::Affine || carried.offset.tile >= 0) return how;
  const auto affine = as_affine(next);
  if (!affine || affine->offset.tile >= 0) return Carry::InMemory;
  for (std::size_t i = 0; i < kMaxAxes; ++i) {
    const Scalar &a = carried.stride[i], &b = affine->stride[i];
    if (a.known && !(b.known && a.value == b.value)) return how == Carry::Auto ? Carry::FreeStrides : Carry::InMemory;
  }
  return how;
}

/// Values assigned at the same time: a value that is both read and written is set aside first.
void Compiler::pass_on(const std::vector<Form>& into, const std::vector<Id>& from) {
  std::vector<std::pair<Scalar, Scalar>> scalars;  // to, from
  struct Move {
    int tile;
    Source from;
    Shape shape;
    DType dtype;
  };
  std::vector<Move> moves;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Form& to = into[i];
    const tile::Type& type = this->type(from[i]);
    if (to.kind == Kind::Uniform) {
      scalars.emplace_back(to.scalar, form(from[i]).scalar);
    } else if (to.kind == Kind::Affine && to.offset.tile < 0) {
      const Form next = *as_affine(form(from[i]));
      scalars.emplace_back(to.base, next.base);
      for (std::size_t k = 0; k < kMaxAxes; ++k) {
        if (!to.stride[k].known) scalars.emplace_back(to.stride[k], next.stride[k]);
      }
    } else {
      const int tile = to.kind == Kind::Dense ? to.view.tile : to.offset.tile;
      const Source source = this->source(from[i]);
      if (source.tile != tile || !(source.strides == (to.kind == Kind::Dense ? to.view : to.offset).strides)) {
        moves.push_back({tile, source, type.shape, state_.tiles[static_cast<std::size_t>(tile)].dtype});
      }
    }
  }
  for (auto& assignment : scalars) {
    const Scalar to = assignment.first;  // no structured bindings: Clang 16 cannot capture them under OpenMP
    Scalar& value = assignment.second;
    const bool overwritten = std::any_of(scalars.begin(), scalars.end(), [&](const auto& other) {
      return !value.known && other.first.slot == value.slot && other.first.slot != to.slot;
    });
    if (!overwritten) continue;
    const Scalar aside = fresh_scalar(body_level());
    assign(aside, value);
    value = aside;
  }
  for (Move& move : moves) {
    const bool overwritten = std::any_of(moves.begin(), moves.end(), [&](const Move& other) { return other.tile == move.from.tile; });
    if (!overwritten) continue;
    const int aside = new_tile(move.dtype, move.shape);
    state_.tiles.back().region = current_region();
    copy(move.from, move.shape, move.dtype, aside);
    Strides strides = dense_strides(move.shape);
    move.from = {state_.tiles[static_cast<std::size_t>(aside)].slot, aside, strides, size_of(move.dtype)};
  }
  for (const Move& move : moves) copy(move.from, move.shape, move.dtype, move.tile);  // first: some are filled from these scalars
  for (const auto& [to, value] : scalars) assign(to, value);
}

/// Compiles the body for the best guess of how values are carried, and again where its results say otherwise. The condition of a While is carried, too.
void Compiler::compile_loop(Id id) {
  const Instruction& self = program_[id];
  const tile::Region& region = self.regions[0];
  const bool counts = self.word == Word::For;
  const std::size_t count = region.results.size();
  std::vector<Id> initial(self.operands.begin() + static_cast<std::ptrdiff_t>(tile::first_carried(self.word)), self.operands.end());
  if (!counts) initial.push_back(self.operands[0]);
  std::vector<Carry> how(count, Carry::Auto);
  const State before = state_;
  for (;;) {
    std::vector<Form> carried;
    for (std::size_t i = 0; i < count; ++i) carried.push_back(carried_form(form(initial[i]), type(initial[i]), how[i]));
    pass_on(carried, initial);

    open_region();
    const Scalar index = fresh_scalar(2 * current_region());
    state_.forms[static_cast<std::size_t>(region.parameters[0])] = uniform(index);
    for (std::size_t i = 0; i + 1 < region.parameters.size(); ++i)
      state_.forms[static_cast<std::size_t>(region.parameters[i + 1])] = carried[i];
    compile(region);
    std::vector<Carry> wanted;
    for (std::size_t i = 0; i < count; ++i) wanted.push_back(fits(carried[i], form(region.results[i]), how[i]));
    if (wanted != how) {
      how = std::move(wanted);
      state_ = before;
      continue;
    }
    pass_on(carried, region.results);
    Level body = close_region();

    LoopStep loop;
    loop.index = index.slot;
    loop.begin = counts ? slot_of(form(self.operands[0]).scalar) : carried.back().scalar.slot;
    if (counts) loop.end = slot_of(form(self.operands[1]).scalar), loop.step = slot_of(form(self.operands[2]).scalar);
    const int again = state_.labels++, out = state_.labels++;
    const std::string name = "s" + std::to_string(counts ? index.slot : loop.begin);
    Item begin = control(counts ? loop_begin : while_begin, loop, out, (counts ? "for " : "while ") + name);
    Item end = control(counts ? loop_end : while_end, loop, again, (counts ? "next " : "again ") + name);
    begin.loop_begin = end.loop_end = true;
    append(std::move(begin));
    append(label(again));
    append(std::move(body));
    append(std::move(end));
    append(label(out));
    for (Form& form : carried) {  // there after the loop, like anything computed here
      form.scalar.level = form.base.level = body_level();
      for (Scalar& stride : form.stride) stride.level = stride.known ? 0 : body_level();
    }
    state_.results[id] = std::move(carried);
    return;
  }
}

void Compiler::compile_if(Id id) {
  const Instruction& self = program_[id];
  std::vector<Form> results;
  for (const Id result : self.regions[0].results) {
    Form form = carried_form({}, type(result), Carry::InMemory);
    form.scalar.level = body_level();
    results.push_back(form);
  }
  Level branches[2];
  for (std::size_t i = 0; i < 2; ++i) {
    open_region();
    compile(self.regions[i]);
    pass_on(results, self.regions[i].results);
    branches[i] = close_region();
  }
  const int otherwise = state_.labels++, out = state_.labels++;
  JumpStep condition;
  condition.condition = slot_of(form(self.operands[0]).scalar);
  append(control(jump_unless, condition, otherwise, "unless s" + std::to_string(condition.condition)));
  append(std::move(branches[0]));
  append(control(jump, JumpStep{}, out, "else"));
  append(label(otherwise));
  append(std::move(branches[1]));
  append(label(out));
  state_.results[id] = std::move(results);
}

}  // namespace tegula::host
