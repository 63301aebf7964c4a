// Expressions: types as C++ has them, and registers that hold what is computed.

#include <algorithm>
#include <bit>
#include <cstring>

#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

using Kind = Expression::Kind;
using What = Instruction::What;

namespace {

bool is_placed(const Type& type) { return type.kind == Type::Kind::Placed && type.pointers == 0; }
Type placed_part(const Type& type, bool place) { return computed(place ? DType::i32 : type.dtype); }

/// The type in which C++ computes with two numbers.
Number common(Number a, Number b) {
  for (const Number one : {Number::F64, Number::F32, Number::U64, Number::I64, Number::U32})
    if (a == one || b == one) return one;
  return Number::I32;
}
Number promoted(Number number) { return number == Number::Boolean ? Number::I32 : number; }

/// Calls f with a zero of what a lane of the number holds.
template <class F>
void with_number(Number number, F&& f) {
  switch (number) {
    case Number::Boolean:
    case Number::I32: return f(std::int32_t{});
    case Number::U32: return f(std::uint32_t{});
    case Number::I64: return f(std::int64_t{});
    case Number::F32: return f(float{});
    case Number::F64: return f(double{});
    case Number::U64:
    case Number::Address: break;
  }
  f(std::uint64_t{});
}

}  // namespace

// ---- Instructions.

void Translator::compute(LaneFunction run, const Value& out, std::initializer_list<Slot> in, bool masked) {
  Instruction instruction{
      .masked = masked, .inputs = static_cast<std::uint8_t>(in.size()), .width = static_cast<std::uint8_t>(width(out.type)), .run = run};
  instruction.out = out.slot;
  std::ranges::copy(in, instruction.in);
  add(instruction);
}

void Translator::move(const Value& to, const Value& from) {
  if (to.type.is_vector()) {
    const Type one = computed(tile::compute_type(to.type.dtype));
    for (int k = 0; k < to.type.count; ++k) compute(nullptr, {one, to.slot + k * width(one)}, {from.slot + k * width(one)}, true);
    return;
  }
  if (!is_placed(to.type)) return compute(nullptr, to, {from.slot}, true);
  const Type value = placed_part(to.type, false);
  compute(nullptr, {value, to.slot}, {from.slot}, true);
  compute(nullptr, {placed_part(to.type, true), to.slot + width(value)}, {from.slot + width(value)}, true);
}

Translator::Value Translator::constant(Number number, std::uint64_t bits) {
  if (granules(number) == 1) bits &= 0xffffffffu;
  const auto [known, is_new] = known_.try_emplace({number, bits}, constants_);
  if (is_new) {
    code_.constants.push_back({constants_, number, bits});
    constants_ += granules(number);
    if (constants_ > kConstantGranules) unknown("more constants than there is room for");
  }
  return {type_of(number), {.base = known->second}};
}

Translator::Value Translator::number(const Expression& e) {
  const auto bits = [](auto value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  };
  const Number kind = number_of(e.type);
  if (kind == Number::F32) return constant(kind, bits(static_cast<float>(e.real())));
  if (kind == Number::F64) return constant(kind, bits(e.real()));
  return constant(kind, static_cast<std::uint64_t>(kind == Number::Boolean ? e.integer != 0 : e.integer));
}

Translator::Value Translator::converted(const Value& value, Number to) {
  if (is_placed(value.type)) unknown("a number with its place as a number");
  const Number from = number_of(value.type);
  if (from == to) return value;
  const LaneFunction run = conversion(from, to);
  if (run == nullptr) return {type_of(to), value.slot};
  const Value result = temporary(type_of(to));
  compute(run, result, {value.slot});
  return result;
}
Translator::Value Translator::converted(const Value& value, const Type& to) {
  if (to.pointers > 0 || to.is_vector() || to.kind == Type::Kind::Placed) return {to, value.slot};
  return converted(value, number_of(to));
}

Translator::Value Translator::called(std::span<const Function> table, const std::string& name, Values operands) {
  const auto takes = [&](const Function& function, auto&& fits) {
    if (function.name != name || function.count != static_cast<int>(operands.size())) return false;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!fits(function.operands[i], number_of(operands[i].type))) return false;
    return true;
  };
  auto found = std::ranges::find_if(table, [&](const Function& one) { return takes(one, [](Number a, Number b) { return a == b; }); });
  if (found == table.end()) {  // all of one type, or the only one
    Number of_all = Number::Boolean;
    for (const Value& operand : operands) of_all = common(of_all, number_of(operand.type));
    found = std::ranges::find_if(table, [&](const Function& one) { return takes(one, [&](Number a, Number) { return a == of_all; }); });
    if (found == table.end())
      found = std::ranges::find_if(table, [&](const Function& one) { return takes(one, [](Number, Number) { return true; }); });
  }
  if (found == table.end()) unknown("the function " + name);
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = converted(operands[i], found->operands[i]);
  const Value result = temporary(type_of(found->result));
  Instruction instruction{
      .inputs = static_cast<std::uint8_t>(operands.size()), .width = static_cast<std::uint8_t>(width(result.type)), .run = found->run};
  instruction.out = result.slot;
  for (std::size_t i = 0; i < operands.size(); ++i) instruction.in[i] = operands[i].slot;
  add(instruction);
  return result;
}

/// Calls the function that stands for the assembly where there is no PTX.
Translator::Value Translator::assembled(const Assembly& assembly, const Values& operands) {
  if (!assembly.what.fallback) unknown("the PTX \"" + assembly.what.text + "\" without a fallback");
  const Value result = temporary(computed(assembly.result));
  std::vector<Slot> from;
  for (std::size_t i = 0; i < operands.size(); ++i) from.push_back(converted(operands[i], number_of(assembly.operands[i])).slot);
  native([=, what = assembly.what.fallback, types = assembly.operands, type = assembly.result](Cluster&, Warp& warp) {
    std::vector<tile::Text::Element> given(from.size());
    const std::size_t granule = warp.at(result.slot);
    for (std::uint32_t left = warp.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      for (std::size_t i = 0; i < from.size(); ++i) {
        with_number(number_of(types[i]), [&](auto zero) {
          const auto x = warp.lanes<decltype(zero)>(from[i])[lane];
          given[i] = {static_cast<double>(x), static_cast<std::int64_t>(is_float(types[i]) ? 0 : x)};
        });
      }
      const tile::Text::Element y = what(given);
      with_number(number_of(type), [&](auto zero) {
        using T = decltype(zero);
        warp.lanes<T>(result.slot)[lane] = is_float(type) ? static_cast<T>(y.real) : static_cast<T>(y.integer);
      });
    }
    std::uint32_t defined = ~0u;
    for (const Slot& slot : from) defined &= warp.defined[warp.at(slot)];
    warp.defined[granule] = (warp.defined[granule] & ~warp.mask) | (defined & warp.mask);
  });
  return result;
}

// ---- Expressions.

bool Translator::touches_memory(const Expression& e) const {
  if (e.kind == Kind::Load || (e.kind == Kind::Call && e.name == "alone") || (e.kind == Kind::Unary && e.name == "++")) return true;
  if (e.kind == Kind::Element) {
    const Variable* const array = find(e.name);
    if (array != nullptr && e.operands.size() > array->value.sizes.size()) return true;
  }
  return std::ranges::any_of(e.operands, [&](const Expression& operand) { return touches_memory(operand); });
}

Translator::Value Translator::pointer_sum(const Value& pointer, const Value& number) {
  Type type = pointer.type;
  --type.pointers;
  const Value bytes = constant(Number::I64, bytes_of(type));
  Value result = called(operators(), "advance", {{type_of(Number::U64), pointer.slot}, converted(number, Number::I64), bytes});
  result.type = pointer.type;
  return result;
}

/// && and ||: where the first decides, the second is not computed, and need not be known.
Translator::Value Translator::logic(const Expression& e) {
  const bool both = e.name == "&&";
  const Value a = lanes(e.operands[0], Number::Boolean);
  const bool narrows = touches_memory(e.operands[1]);
  const int mask = narrows ? new_mask() : 0;
  if (narrows) {
    add({.what = What::Save, .number = mask});
    Instruction narrow{.what = What::Narrow, .masked = !both, .target = code_.sentences.size()};
    narrow.in[0] = a.slot;
    said(text(e.operands[0]));
    add(narrow);
  }
  const Value b = lanes(e.operands[1], Number::Boolean);
  if (narrows) add({.what = What::Restore, .number = mask});
  const Value result = temporary(computed(DType::boolean));
  native([both, first = a.slot, second = b.slot, out = result.slot](Cluster&, Warp& warp) {
    const std::size_t i = warp.at(first), j = warp.at(second), k = warp.at(out);
    const auto *x = reinterpret_cast<const std::int32_t*>(warp.lanes(i)), *y = reinterpret_cast<const std::int32_t*>(warp.lanes(j));
    auto* const z = reinterpret_cast<std::int32_t*>(warp.lanes(k));
    std::uint32_t decides = 0, other = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      decides |= static_cast<std::uint32_t>((x[lane] != 0) != both) << lane;
      other |= static_cast<std::uint32_t>((y[lane] != 0) != both) << lane;
      z[lane] = both ? x[lane] & y[lane] : x[lane] | y[lane];
    }
    warp.defined[k] = (warp.defined[i] & warp.defined[j]) | (warp.defined[i] & decides) | (warp.defined[j] & other);
  });
  return result;
}

/// `a` where `when` holds, else `b`, of one type.
Translator::Value Translator::selected(const Value& when, const Value& a, const Value& b) {
  const Value result = temporary(a.type);
  const auto part = [&](std::int64_t at, std::int64_t bytes) {
    native([=, condition = when.slot, x = a.slot + at, y = b.slot + at, out = result.slot + at](Cluster&, Warp& warp) {
      const std::size_t i = warp.at(condition), j = warp.at(x), k = warp.at(y), o = warp.at(out);
      const auto* const chosen = reinterpret_cast<const std::int32_t*>(warp.lanes(i));
      std::uint32_t first = 0;
      for (int lane = 0; lane < kLanes; ++lane) first |= static_cast<std::uint32_t>(chosen[lane] != 0) << lane;
      const auto blend = [&](auto zero) {
        using T = decltype(zero);
        const auto *p = reinterpret_cast<const T*>(warp.lanes(j)), *q = reinterpret_cast<const T*>(warp.lanes(k));
        T results[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) results[lane] = chosen[lane] != 0 ? p[lane] : q[lane];
        std::memcpy(warp.lanes(o), results, sizeof results);
      };
      if (bytes == 8) blend(std::uint64_t{});
      else blend(std::uint32_t{});
      warp.defined[o] = warp.defined[i] & ((warp.defined[j] & first) | (warp.defined[k] & ~first));
    });
  };
  if (is_placed(a.type)) {
    const std::int64_t value = width(placed_part(a.type, false));
    part(0, 4 * value), part(value, 4);
  } else {
    part(0, 4 * width(a.type));
  }
  return result;
}

Translator::Value Translator::chosen(const Expression& e) {
  const Value when = lanes(e.operands[0], Number::Boolean);
  Value sides[2];
  for (const bool other : {false, true}) {
    const Expression& side = e.operands[other ? 2 : 1];
    if (!touches_memory(side)) {
      sides[other] = lanes(side);
      continue;
    }
    const int mask = new_mask();
    add({.what = What::Save, .number = mask});
    Instruction narrow{.what = What::Narrow, .masked = other, .target = code_.sentences.size()};
    narrow.in[0] = when.slot;
    said(text(e.operands[0]));
    add(narrow);
    sides[other] = lanes(side);
    add({.what = What::Restore, .number = mask});
  }
  auto& [a, b] = sides;
  if (a.type.pointers > 0 || b.type.pointers > 0) {
    const Type type = a.type.pointers > 0 ? a.type : b.type;
    a.type = b.type = type;
  } else if (!is_placed(a.type) && a.type != b.type) {
    const Number both = common(number_of(a.type), number_of(b.type));
    a = converted(a, both), b = converted(b, both);
  }
  return selected(when, a, b);
}

Translator::Value Translator::placed(const Expression& tuple, DType dtype) {
  const Value result = temporary(simt::placed(dtype));
  const Type value = placed_part(result.type, false);
  compute(nullptr, {value, result.slot}, {converted(lanes(tuple.operands[0]), value).slot});
  compute(nullptr, {placed_part(result.type, true), result.slot + width(value)}, {lanes(tuple.operands[1], Number::I32).slot});
  return result;
}

Translator::Value Translator::nothing_of(const Operation& operation) {
  if (!operation.placed) return constant(number_of(operation.dtype), neutral(operation));
  return placed(tuple(zero(operation.dtype), -1), operation.dtype);
}

Translator::Value Translator::folded(const Operation& operation, const Value& a, const Value& b) {
  if (!operation.placed) {
    const Value result = temporary(computed(operation.dtype));
    const LaneFunction run = folding(operation);
    if (run == nullptr) unknown("an operation over " + std::string(name(operation.dtype)));
    compute(run, result, {converted(a, number_of(operation.dtype)).slot, converted(b, number_of(operation.dtype)).slot});
    return result;
  }
  const Value first = temporary(computed(DType::boolean));
  const std::int64_t value = width(computed(operation.dtype));
  const LaneFunction run = best(operation);
  native([run, x = a.slot, x_at = a.slot + value, y = b.slot, y_at = b.slot + value, out = first.slot](Cluster&, Warp& warp) {
    const std::byte* const operands[] = {warp.lanes<std::byte>(x), warp.lanes<std::byte>(x_at), warp.lanes<std::byte>(y),
                                         warp.lanes<std::byte>(y_at)};
    run(warp.lanes<std::byte>(out), operands);
    warp.defined[warp.at(out)] =
        warp.defined[warp.at(x)] & warp.defined[warp.at(x_at)] & warp.defined[warp.at(y)] & warp.defined[warp.at(y_at)];
  });
  return selected(first, a, b);
}

Translator::Value Translator::lanes(const Expression& e) {
  switch (e.kind) {
    case Kind::Name:
      if (e.name == "true" || e.name == "false") return constant(Number::Boolean, e.name == "true");
      [[fallthrough]];
    case Kind::Held:
    case Kind::Element: {
      const Reference there = reference(e);
      return there.in_memory ? load(there.value, there.type, text(e)) : there.value;
    }
    case Kind::Integer:
      return constant(e.integer == static_cast<std::int32_t>(e.integer) ? Number::I32 : Number::I64, static_cast<std::uint64_t>(e.integer));
    case Kind::Number: return number(e);
    case Kind::Group: return lanes(e.operands[0]);
    case Kind::Choose: return chosen(e);
    case Kind::Unary: {
      if (e.name == "++") {
        const Value one = registers(e.operands[0]);
        const Value next = converted(called(operators(), "+", {one, integer(1)}), one.type);
        move(one, next);
        return one;
      }
      const Value x = lanes(e.operands[0]);
      if (e.name == "!") return called(operators(), "!", {converted(x, Number::Boolean)});
      return called(operators(), e.name == "-" ? "0-" : e.name.str(), {converted(x, promoted(number_of(x.type)))});
    }
    case Kind::Binary: {
      if (e.name == "&&" || e.name == "||") return logic(e);
      Value a = lanes(e.operands[0]), b = lanes(e.operands[1]);
      if (a.type.pointers > 0 || b.type.pointers > 0) {
        if (e.name != "+") unknown("the pointers " + text(e));
        return a.type.pointers > 0 ? pointer_sum(a, b) : pointer_sum(b, a);
      }
      const Number type = common(promoted(number_of(a.type)), promoted(number_of(b.type)));
      return called(operators(), e.name.str(), {converted(a, type), converted(b, type)});
    }
    case Kind::Call: {
      if (e.name.str().starts_with("steady") || e.name == "lasting" || e.name == "passing") return lanes(e.operands[0]);
      if (e.name == "alone") {
        const Value pointer = lanes(e.operands[0]);
        Type type = pointer.type;
        type.constant = false, --type.pointers;
        return load(pointer, type, text(e.operands[0]), true);
      }
      if (e.name == "widen") return lanes(e.operands[0]);  // as loads do
      if (e.name == "any_failed") {
        const Value result = temporary(computed(DType::boolean));
        native([out = result.slot](Cluster& cluster, Warp& warp) {
          std::fill_n(warp.lanes<std::int32_t>(out), kLanes, cluster.stopped() ? 1 : 0);
          warp.defined[warp.at(out)] = ~0u;
        });
        return result;
      }
      Values operands;
      for (const Expression& operand : e.operands) operands.push_back(lanes(operand));
      for (const Assembly& one : k_.assembly)
        if (e.name == Name(one.name)) return assembled(one, operands);
      return called(words(), e.name.str(), std::move(operands));
    }
    case Kind::Cast: return converted(lanes(e.operands[0]), e.type);
    case Kind::Reinterpret: {
      const Value x = lanes(e.operands[0]);
      if (e.type.pointers == 0 || x.type.pointers == 0) unknown("bits of another type, " + text(e));
      return {e.type, x.slot};
    }
    case Kind::Load: {
      const Value pointer = lanes(e.operands[0]);
      Type type = pointer.type;
      if (type.pointers == 0) unknown("what lies at a number, " + text(e));
      type.constant = false, --type.pointers;
      return load(pointer, type, text(e.operands[0]));
    }
    case Kind::Fold: {
      const auto operand = [&](std::size_t i) {
        return e.operands[i].kind == Kind::Tuple ? placed(e.operands[i], e.operation.dtype) : lanes(e.operands[i]);
      };
      const Value a = operand(0), b = operand(1);
      return folded(e.operation, a, b);
    }
    case Kind::Nothing: return nothing_of(e.operation);
    case Kind::FoldVector: {
      const Value vector = registers(e.operands[0]);
      const Type one = computed(tile::compute_type(vector.type.dtype));
      Value all{one, vector.slot};
      for (int k = 1; k < vector.type.count; ++k) all = folded(e.operation, all, {one, vector.slot + k * width(one)});
      return all;
    }
    case Kind::Widen: {
      const Value vector = registers(e.operands[0]);
      const Type one = computed(tile::compute_type(vector.type.dtype));
      return {one, vector.slot + affine(e.operands[1]) * width(one)};
    }
    case Kind::Round: {
      const Value result = temporary(computed(tile::compute_type(e.type.dtype)));
      compute(rounding(e.type.dtype), result, {converted(lanes(e.operands[0]), result.type).slot});
      return result;
    }
    case Kind::Member: {
      const Value whole = lanes(e.operands[0]);
      if (!is_placed(whole.type)) unknown("a part named " + e.name.str());
      const Type value = placed_part(whole.type, false);
      if (e.name == "value") return {value, whole.slot};
      return {placed_part(whole.type, true), whole.slot + width(value)};
    }
    case Kind::Tuple: break;
  }
  unknown("the expression " + text(e));
}

}  // namespace tegula::simt
