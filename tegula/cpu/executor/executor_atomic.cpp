// Atomic words that give what was there before, or do more than add: element after element. Instances run on one thread.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

using tile::AtomicKind;

/// tile::compute_type, of C++ types.
template <class Stored>
using Computed = std::conditional_t<(sizeof(Stored) >= 4), Stored, std::conditional_t<std::is_integral_v<Stored>, std::int32_t, float>>;

template <AtomicKind kKind, class T>
T result_of(T old, T value) {
  if constexpr (kKind == AtomicKind::Exchange) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    switch (kKind) {
      case AtomicKind::Add: return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
      case AtomicKind::Max: return std::max(old, value);
      case AtomicKind::Min: return std::min(old, value);
      case AtomicKind::And: return old & value;
      case AtomicKind::Or: return old | value;
      default: return old ^ value;
    }
  } else {
    if constexpr (kKind == AtomicKind::Max) return old > value || std::isnan(old) ? old : value;
    else if constexpr (kKind == AtomicKind::Min) return old < value || std::isnan(old) ? old : value;
    else return old + value;
  }
}

template <AtomicKind kKind, class Stored>
void change(std::byte* memory, const std::byte* given, const std::byte* compared, std::byte* old) {
  using T = Computed<Stored>;
  Stored& place = *reinterpret_cast<Stored*>(memory);
  T before, value;
  if constexpr (std::is_integral_v<Stored>) before = static_cast<T>(place);
  else before = static_cast<T>(as_double(place));
  std::memcpy(&value, given, sizeof value);
  if (old != nullptr) std::memcpy(old, &before, sizeof before);
  if constexpr (kKind == AtomicKind::CompareAndSwap) {
    if (std::memcmp(&before, compared, sizeof before) == 0) place = static_cast<Stored>(value);
  } else if constexpr (std::is_integral_v<Stored>) {
    place = static_cast<Stored>(result_of<kKind>(before, value));
  } else {
    place = from_double<Stored>(static_cast<double>(result_of<kKind>(before, value)));
  }
}

template <class Stored>
Change change_of(AtomicKind kind) {
  if constexpr (std::is_integral_v<Stored>) {
    switch (kind) {
      case AtomicKind::And: return change<AtomicKind::And, Stored>;
      case AtomicKind::Or: return change<AtomicKind::Or, Stored>;
      case AtomicKind::Xor: return change<AtomicKind::Xor, Stored>;
      case AtomicKind::CompareAndSwap: return change<AtomicKind::CompareAndSwap, Stored>;
      default: break;
    }
  }
  switch (kind) {
    case AtomicKind::Max: return change<AtomicKind::Max, Stored>;
    case AtomicKind::Min: return change<AtomicKind::Min, Stored>;
    case AtomicKind::Exchange: return change<AtomicKind::Exchange, Stored>;
    default: return change<AtomicKind::Add, Stored>;
  }
}

/// The addresses of an element and of all that belongs to it.
struct Place {
  std::byte* memory;
  const std::byte *offset, *mask, *value, *compared;
};

}  // namespace

Change find_change(AtomicKind kind, DType stored) {
  return visit(stored, [&](auto zero) -> Change {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) return nullptr;
    else return change_of<T>(kind);
  });
}

const Step* change_scatter(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const AtomicStep*>(at);
  const Slot* slots = frame.slots;
  std::byte* old = step.old < 0 ? nullptr : slots[step.old].pointer;
  const auto element = [&](const Place& place, bool inside) {
    if (inside && (place.mask == nullptr || *place.mask != std::byte{0})) {
      std::byte* const memory = shifted(place.memory, *reinterpret_cast<const std::int64_t*>(place.offset) * step.scale);
      step.change(memory, place.value, place.compared, old);
    } else if (old != nullptr) {
      std::memset(old, 0, static_cast<std::size_t>(step.bytes));
    }
    if (old != nullptr) old += step.bytes;
  };
  const auto walk = [&](auto&& self, int axis, Place place, bool inside) -> void {
    if (axis == std::min(step.rank, kMaxAxes)) return element(place, inside);
    const std::int64_t low = step.low[axis] < 0 ? 0 : slots[step.low[axis]].integer;
    const std::int64_t high = step.high[axis] < 0 ? step.size[axis] : slots[step.high[axis]].integer;
    for (std::int64_t i = 0; i < step.size[axis]; ++i) {
      self(self, axis + 1, place, inside && i >= low && i < high);
      place.memory = shifted(place.memory, slots[step.stride[axis]].integer);
      place.offset += step.offset_stride[axis], place.value += step.tile_stride[axis];
      if (place.mask != nullptr) place.mask += step.mask_stride[axis];
      if (place.compared != nullptr) place.compared += step.compared_stride[axis];
    }
  };
  const auto address = [&](std::int32_t slot) -> const std::byte* { return slot < 0 ? nullptr : slots[slot].pointer; };
  walk(walk, 0, {slots[step.base].pointer, address(step.offset), address(step.mask), address(step.tile), address(step.compared)}, true);
  return following(step);
}

Form Compiler::change(Id id) {
  const Instruction& self = program_[id];
  const tile::Atomic atomic = tile::Atomic::of(self);
  const bool wanted = !users_[static_cast<std::size_t>(id)].empty();
  if (atomic.kind == AtomicKind::Add && !wanted) return store(self), Form{};
  const DType stored = type(self.operands[0]).dtype, compute = self.type.dtype;
  const Shape shape = self.type.shape.empty() ? Shape{1} : self.type.shape;
  Form box;
  std::optional<Source> mask;
  mask_bounds(self, tile::mask_place(self), shape, box, mask);
  std::vector<int> reads, writes;
  AtomicStep step;
  static_cast<GatherStep&>(step) = gather(*as_affine(form(self.operands[0])), box, shape, mask, reads);
  step.change = find_change(atomic.kind, stored);
  step.bytes = static_cast<std::int64_t>(size_of(compute));
  const auto operand = [&](std::size_t i, std::int32_t& slot, std::int64_t(&strides)[kMaxAxes]) {
    const Source from = source(self.operands[i]);
    if (from.tile >= 0) reads.push_back(from.tile);
    slot = from.slot;
    for (int axis = 0; axis < shape.rank() && from.strides.rank() == shape.rank(); ++axis) strides[axis] = from.strides[axis] * step.bytes;
  };
  operand(1, step.tile, step.tile_stride);
  if (atomic.kind == AtomicKind::CompareAndSwap) operand(2, step.compared, step.compared_stride);
  Form result;
  if (wanted && self.type.shape.empty()) {
    result = uniform(fresh_scalar(body_level()));
    step.old = address_of(result.scalar.slot);
  } else if (wanted) {
    View view{new_tile(compute, shape), dense_strides(shape)};
    state_.tiles.back().region = current_region();
    step.old = state_.tiles.back().slot;
    writes.push_back(view.tile);
    for (int i = 0; i < shape.rank(); ++i) view.strides[i] = shape[i] == 1 ? 0 : view.strides[i];
    result = dense(view);
  }
  const std::string to = !wanted          ? ""
                         : writes.empty() ? "s" + std::to_string(result.scalar.slot) + " = "
                                          : "t" + std::to_string(writes[0]) + " = ";
  Item& item = emit(body_level(), change_scatter, step, std::move(reads), std::move(writes),
                    to + "atomic " + to_string(atomic) + " " + std::string(tegula::name(stored)) + to_string(shape));
  item.kind = Item::Kind::Scatter;
  item.scalar = result.scalar.slot;
  return wanted && self.type.shape.empty() ? extended(result.scalar, compute) : result;
}

}  // namespace tegula::host
