// Names, and the registers or places in memory that they stand for.

#include <algorithm>

#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

using Kind = Expression::Kind;
using What = Instruction::What;

const Translator::Variable* Translator::find(Name called) const {
  const std::string name = called.str();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  return nullptr;
}
const Translator::Variable& Translator::variable(Name name) const {
  const Variable* const found = find(name);
  if (found == nullptr) unknown("the name " + name.str());
  return *found;
}

std::int64_t Translator::width(const Type& type) {
  if (type.pointers > 0) return 2;
  if (type.kind == Type::Kind::Placed) return granules(number_of(type)) + 1;
  if (type.is_vector()) return type.count * granules(number_of(type));
  return granules(number_of(type));
}

Type Translator::type_of(Number number) {
  switch (number) {
    case Number::Boolean: return computed(DType::boolean);
    case Number::I32: return computed(DType::i32);
    case Number::U32: return {.kind = Type::Kind::Unsigned, .dtype = DType::i32};
    case Number::I64: return computed(DType::i64);
    case Number::U64: return {.kind = Type::Kind::Unsigned, .dtype = DType::i64};
    case Number::F32: return computed(DType::f32);
    case Number::F64: return computed(DType::f64);
    case Number::Address: break;
  }
  return {.kind = Type::Kind::Byte, .pointers = 1};
}

Translator::Value Translator::element(const Value& array, std::int64_t index) const {
  return {array.type, array.slot + index * width(array.type)};
}
Translator::Value Translator::element(const Value& array, const std::vector<Slot>& indices) const {
  Value result = array;
  std::int64_t each = width(array.type);
  for (std::size_t i = indices.size(); i < array.sizes.size(); ++i) each *= array.sizes[i];
  for (std::size_t i = indices.size(); i-- > 0;) {
    result.slot = result.slot + indices[i] * each;
    each *= array.sizes[i];
  }
  result.sizes.erase(result.sizes.begin(), result.sizes.begin() + static_cast<std::ptrdiff_t>(indices.size()));
  return result;
}

/// A number that loops over registers count, as how far each of them moves it on.
Slot Translator::affine(const Expression& e) {
  switch (e.kind) {
    case Kind::Integer: return {.base = e.integer};
    case Kind::Group: return affine(e.operands[0]);
    case Kind::Name: {
      const Variable& one = variable(e.name);
      if (one.counter < 0) break;
      return {.base = 0, .count = 1, .steps = {{static_cast<std::uint16_t>(one.counter), 1}}};
    }
    case Kind::Binary: {
      const Slot a = affine(e.operands[0]), b = affine(e.operands[1]);
      if (e.name == "+") return a + b;
      if (e.name == "-") return a + b * -1;
      if (e.name == "*" && (a.count == 0 || b.count == 0)) return a.count == 0 ? b * a.base : a * b.base;
      if (e.name == "%" && b.count == 0) {
        const int counter = new_counter();
        Instruction remainder{.what = What::Remainder, .number = counter, .limit = b.base};
        remainder.out = a;
        add(remainder);
        return {.base = 0, .count = 1, .steps = {{static_cast<std::uint16_t>(counter), 1}}};
      }
      break;
    }
    default: break;
  }
  unknown("registers by the number " + text(e));
}

Translator::Reference Translator::reference(const Expression& e) {
  switch (e.kind) {
    case Kind::Group: return reference(e.operands[0]);
    case Kind::Name: {
      const Variable& one = variable(e.name);
      if (one.counter < 0) return {.value = one.value, .type = one.value.type};
      const Value lanes = temporary(computed(DType::i32));
      const int counter = one.counter;
      const Slot out = lanes.slot;
      native([counter, out](Cluster&, Warp& warp) {
        const std::size_t granule = warp.at(out);
        std::fill_n(reinterpret_cast<std::int32_t*>(warp.lanes(granule)), kLanes,
                    static_cast<std::int32_t>(warp.counters[static_cast<std::size_t>(counter)]));
        warp.defined[granule] = ~0u;
      });
      return {.value = lanes, .type = lanes.type};
    }
    case Kind::Held: {
      static const std::vector<const char*> names[] = {{}, {"r"}, {"c"}, {"r", "c"}, {"c", "k"}, {"r", "c", "k"}};
      std::vector<Slot> indices;
      for (const char* const name : names[static_cast<std::size_t>(e.place)]) indices.push_back(affine(name));
      const Value one = element(variable(e.name).value, indices);
      return {.value = one, .type = one.type};
    }
    case Kind::Element: {
      Value one = variable(e.name).value;
      std::vector<Slot> indices;
      std::size_t k = 0;
      for (; k < e.operands.size() && k < one.sizes.size(); ++k) indices.push_back(affine(e.operands[k]));
      one = element(one, indices);
      if (k == e.operands.size()) return {.value = one, .type = one.type};
      if (one.type.pointers == 0 || k + 1 != e.operands.size()) break;
      Type type = one.type;
      type.constant = false, --type.pointers;
      return {.in_memory = true, .value = pointer_sum(one, lanes(e.operands[k])), .type = type};
    }
    default: break;
  }
  unknown("a place named " + text(e));
}

Translator::Value Translator::registers(const Expression& e) {
  if (e.kind == Kind::Unary && e.name == "&") return registers(e.operands[0]);
  if (e.kind == Kind::Binary && e.name == "+" && e.operands[1].kind == Kind::Integer) {
    Value first = registers(e.operands[0]);
    first.slot = first.slot + e.operands[1].integer * width(first.type);
    return first;
  }
  const Reference there = reference(e);
  if (there.in_memory) unknown("registers at " + text(e));
  Value all = there.value;
  all.sizes.clear();
  return all;
}

}  // namespace tegula::simt
