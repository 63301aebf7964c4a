// Loads, stores, copies, and what else reaches memory.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/prelude_host.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

namespace {

using Lanes = std::uint32_t;

/// Lanes of the mask whose address is known.
Access access_of(Cluster& cluster, const Warp& warp, const Slot& address, const std::string* said) {
  Access access{.block = warp.block,
                .first_thread = warp.first_thread,
                .addresses = warp.lanes<std::uint64_t>(address),
                .mask = warp.mask,
                .said = said};
  if (const Lanes unknown = warp.mask & ~warp.defined[warp.at(address)]; unknown != 0) {
    cluster.memory().find(Finding::Kind::Undefined, access, std::countr_zero(unknown), " (its address)");
    access.mask &= ~unknown;
  }
  return access;
}

/// Lanes of the mask in which the int is more than `at`.
Lanes above(const std::int32_t* numbers, std::int64_t at, Lanes mask) {
  Lanes lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) lanes |= static_cast<Lanes>(numbers[lane] > at) << lane;
  return lanes & mask;
}

void load_element(Warp& warp, LoadFunction load, const Access& access, std::size_t out, Lanes allowed, Lanes defined) {
  load(warp.lanes(out), access.addresses, allowed, access.offset);
  warp.defined[out] = (warp.defined[out] & ~access.mask) | (defined & access.mask);
}

}  // namespace

Translator::Value Translator::load(const Value& address, const Type& type, const std::string& sentence, bool is_volatile) {
  if (type.pointers == 0 && type.kind == Type::Kind::Placed) {
    const Value whole = temporary(type);
    const Type value = computed(type.dtype);
    const Value place = {pointer_to({.kind = Type::Kind::Byte}), address.slot};
    move({value, whole.slot}, load(address, value, sentence));
    move({computed(DType::i32), whole.slot + width(value)},
         load(pointer_sum(place, constant(Number::I64, size_of(type.dtype) == 8 ? 8 : 4)), computed(DType::i32), sentence));
    return whole;
  }
  const bool vector = type.is_vector();
  const int count = vector ? type.count : 1;
  Type one = type;
  if (vector) one.kind = Type::Kind::Stored, one.count = 1;
  const Type kept = vector ? type : type.pointers > 0 ? type : type_of(number_of(one));
  const Value result = temporary(kept);
  const std::size_t each = bytes_of(one);
  const std::int64_t step = width(kept) / count;
  native([=, from = address.slot, out = result.slot, load = loading(one), place = said(sentence), bytes = bytes_of(type)](Cluster& cluster,
                                                                                                                          Warp& warp) {
    Access access = access_of(cluster, warp, from, place);
    access.bytes = bytes, access.element = each;
    Lanes defined = 0;
    const Lanes allowed = cluster.memory().read(access, defined, is_volatile);
    for (int k = 0; k < count; ++k, access.offset += each)
      load_element(warp, load, access, warp.at(out) + static_cast<std::size_t>(k * step), allowed, defined);
  });
  return result;
}

void Translator::store(const Value& address, const Type& type, const Value& value, const std::string& sentence) {
  if (type.pointers == 0 && type.kind == Type::Kind::Placed) {
    const Type first = computed(type.dtype);
    store(address, first, {first, value.slot}, sentence);
    const Value place =
        pointer_sum({pointer_to({.kind = Type::Kind::Byte}), address.slot}, constant(Number::I64, size_of(type.dtype) == 8 ? 8 : 4));
    return store(place, computed(DType::i32), {computed(DType::i32), value.slot + width(first)}, sentence);
  }
  const Value x = type.pointers > 0 ? value : converted(value, number_of(type));
  native([=, to = address.slot, from = x.slot, store = storing(type), place = said(sentence), bytes = bytes_of(type)](Cluster& cluster,
                                                                                                                      Warp& warp) {
    Access access = access_of(cluster, warp, to, place);
    access.bytes = access.element = bytes;
    const std::size_t granule = warp.at(from);
    store(warp.lanes(granule), access.addresses, cluster.memory().write(access, warp.defined[granule]), 0);
  });
}

void Translator::operator()(const LoadWide& load) {
  const Value pointer = lanes(load.pointer), target = registers(load.target);
  Type one = pointer.type;
  one.constant = false, --one.pointers;
  const bool packed = target.type.is_vector();
  const Type held = packed ? computed(tile::compute_type(target.type.dtype)) : target.type;
  const Value inside = load.limited ? lanes(load.limited->limit, Number::I32) : integer(load.count);
  const Value substitute = load.limited && !packed ? converted(lanes(load.limited->substitute), held) : constant(number_of(held), 0);
  native([=, from = pointer.slot, out = target.slot, limit = inside.slot, other = substitute.slot, load_one = loading(one),
          each = bytes_of(one), step = width(held), wide = load.wide, count = load.count, whole = !load.limited || load.limited->whole,
          convert = conversion(number_of(one), number_of(held)), place = said(text(load.pointer))](Cluster& cluster, Warp& warp) {
    Access access = access_of(cluster, warp, from, place);
    access.element = each;
    const Lanes active = access.mask;
    const auto* const numbers = warp.lanes<std::int32_t>(limit);
    if ((active & ~warp.defined[warp.at(limit)]) != 0)
      cluster.memory().find(Finding::Kind::Undefined, access, std::countr_zero(active), " (its limit)");
    const std::size_t first = warp.at(out), bytes = static_cast<std::size_t>(step) * 4, gap = warp.at(other);
    const auto take = [&](int element, Lanes lanes, Lanes allowed, Lanes defined) {
      const std::size_t granule = first + static_cast<std::size_t>(element * step);
      access.offset = static_cast<std::size_t>(element) * each;
      if (convert == nullptr) {
        load_one(warp.lanes(granule), access.addresses, allowed, access.offset);
      } else {
        alignas(64) std::byte raw[2 * kGranule] = {}, wanted[2 * kGranule];
        load_one(raw, access.addresses, allowed, access.offset);
        const std::byte* const operands[] = {raw};
        convert(wanted, operands);
        for (int lane = 0; lane < kLanes; ++lane)
          if ((allowed >> lane & 1) != 0)
            std::memcpy(warp.lanes(granule) + static_cast<std::size_t>(lane) * bytes, wanted + static_cast<std::size_t>(lane) * bytes,
                        bytes);
      }
      warp.defined[granule] = (warp.defined[granule] & ~lanes) | (defined & lanes);
    };
    for (int j = 0; j < count; j += wide) {
      const Lanes full = above(numbers, j + wide - 1, active);
      if (full != 0) {
        access.mask = full, access.offset = static_cast<std::size_t>(j) * each, access.bytes = static_cast<std::size_t>(wide) * each;
        Lanes defined = 0;
        const Lanes allowed = cluster.memory().read(access, defined);
        for (int i = j; i < j + wide; ++i) take(i, full, allowed, defined);
      }
      for (int i = j; i < j + wide && full != active; ++i) {
        const Lanes there = whole ? 0 : above(numbers, i, active & ~full);
        access.mask = there, access.offset = static_cast<std::size_t>(i) * each, access.bytes = each;
        Lanes defined = 0;
        const Lanes allowed = cluster.memory().read(access, defined);
        take(i, there, allowed, defined);
        const std::size_t granule = first + static_cast<std::size_t>(i * step);
        const Lanes absent = active & ~full & ~there;
        for (int lane = 0; lane < kLanes; ++lane)
          if ((absent >> lane & 1) != 0)
            std::memcpy(warp.lanes(granule) + static_cast<std::size_t>(lane) * bytes,
                        warp.lanes(gap) + static_cast<std::size_t>(lane) * bytes, bytes);
        warp.defined[granule] = (warp.defined[granule] & ~absent) | (warp.defined[gap] & absent);
      }
    }
  });
}

void Translator::operator()(const StoreWide& store) {
  const Value pointer = lanes(store.pointer), source = registers(store.source);
  Type one = pointer.type;
  --one.pointers;
  const Value inside = store.limited ? lanes(store.limited->limit, Number::I32) : integer(store.count);
  const std::int64_t step = width(source.type);
  const bool alike = number_of(one) == number_of(source.type);
  if (!alike) unknown("a store of " + text(store.source) + " as another number");
  native([=, to = pointer.slot, from = source.slot, limit = inside.slot, store_one = storing(one), each = bytes_of(one), wide = store.wide,
          count = store.count, whole = !store.limited || store.limited->whole,
          place = said(text(store.pointer))](Cluster& cluster, Warp& warp) {
    Access access = access_of(cluster, warp, to, place);
    access.element = each;
    const Lanes active = access.mask;
    const auto* const numbers = warp.lanes<std::int32_t>(limit);
    if ((active & ~warp.defined[warp.at(limit)]) != 0)
      cluster.memory().find(Finding::Kind::Undefined, access, std::countr_zero(active), " (its limit)");
    const auto granule = [&](int element) { return warp.at(from) + static_cast<std::size_t>(element * step); };
    for (int j = 0; j < count; j += wide) {
      const Lanes full = above(numbers, j + wide - 1, active);
      if (full != 0) {
        Lanes defined = ~0u;
        for (int i = j; i < j + wide; ++i) defined &= warp.defined[granule(i)];
        access.mask = full, access.offset = static_cast<std::size_t>(j) * each, access.bytes = static_cast<std::size_t>(wide) * each;
        const Lanes allowed = cluster.memory().write(access, defined);
        for (int i = j; i < j + wide; ++i) store_one(warp.lanes(granule(i)), access.addresses, allowed, static_cast<std::size_t>(i) * each);
      }
      for (int i = j; i < j + wide && !whole && full != active; ++i) {
        access.mask = above(numbers, i, active & ~full), access.offset = static_cast<std::size_t>(i) * each, access.bytes = each;
        store_one(warp.lanes(granule(i)), access.addresses, cluster.memory().write(access, warp.defined[granule(i)]), access.offset);
      }
    }
  });
}

void Translator::operator()(const StoreOne& store_one) {
  const Value pointer = lanes(store_one.pointer), value = converted(lanes(store_one.value), computed(store_one.computed));
  Type one = pointer.type;
  --one.pointers;
  store(pointer, one, value, text(store_one.pointer));
}

void Translator::operator()(const Atomic& atomic) {
  const Type word = computed(atomic.dtype);
  const bool compares = atomic.compared.has_value();
  const Value pointer = lanes(atomic.pointer), value = lanes(atomic.value, number_of(word));
  const Value compared = compares ? lanes(*atomic.compared, number_of(word)) : value;
  const Value old = temporary(word);
  native([=, to = pointer.slot, from = value.slot, other = compared.slot, out = old.slot, bytes = bytes_of(word), load_one = loading(word),
          store_one = storing(word), change = changing(atomic.kind, atomic.dtype),
          place = said(text(atomic.pointer))](Cluster& cluster, Warp& warp) {
    Access access = access_of(cluster, warp, to, place);
    access.bytes = access.element = bytes;
    const std::size_t granule = warp.at(from), compared_granule = warp.at(other), old_granule = warp.at(out);
    const Lanes given = warp.defined[granule] & warp.defined[compared_granule];
    const Lanes allowed = cluster.memory().write(access, given, true);
    warp.defined[old_granule] = (warp.defined[old_granule] & ~warp.mask) | allowed;
    for (Lanes left = allowed; left != 0; left &= left - 1) {  // of places that meet one after another
      const Lanes one = left & -left;
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      load_one(warp.lanes(old_granule), access.addresses, one, 0);
      if (compares && std::memcmp(warp.lanes(old_granule) + lane * bytes, warp.lanes(compared_granule) + lane * bytes, bytes) != 0)
        continue;
      alignas(64) std::byte next[2 * kGranule];
      const std::byte* const operands[] = {warp.lanes(old_granule), warp.lanes(granule)};
      if (change != nullptr) change(next, operands);
      store_one(change != nullptr ? next : warp.lanes(granule), access.addresses, one, 0);
    }
  });
  if (atomic.target) assign(*atomic.target, old);
}

void Translator::operator()(const Fence&) {
  native([](Cluster& cluster, Warp&) { cluster.memory().fence(); });
}

void Translator::operator()(const WriteInOrder& write) {
  const Value places = lanes("places"), values = lanes("values"), count = lanes(write.count, Number::I32);
  const Value owners = lanes(write.owners, Number::U32), owner = lanes(write.owner, Number::U32);
  const bool compares = write.changes == tile::AtomicKind::CompareAndSwap;
  const Value compared = compares ? lanes("compared") : values;
  Type value = values.type, target = places.type;
  --value.pointers, target.pointers -= 2;
  const LaneFunction change = write.changes ? changing(*write.changes, value.dtype) : nullptr;
  native([=, at = places.slot, of = values.slot, beside = compared.slot, n = count.slot, all = owners.slot, mine = owner.slot,
          load_value = loading(value), store_value = storing(value), each = bytes_of(value), load_there = loading(target),
          store_there = storing(target), bytes = bytes_of(target), reads = write.changes.has_value(), keeps = write.keeps_old,
          place = said("places"), there = said("*places[i]")](Cluster& cluster, Warp& warp) {
    if (warp.mask == 0) return;
    const Lanes mask = warp.mask, one = mask & -mask;  // what all read is noted for one of them
    std::uint64_t addresses[kLanes], pointers[kLanes] = {};
    alignas(64) std::byte numbers[2 * kGranule], wanted[2 * kGranule], before[2 * kGranule] = {}, after[2 * kGranule];
    const std::int32_t end = *warp.lanes<std::int32_t>(n);
    const auto *owners_of = warp.lanes<std::uint32_t>(all), *owner_of = warp.lanes<std::uint32_t>(mine);
    Access read{.block = warp.block, .first_thread = warp.first_thread, .addresses = addresses, .mask = one, .said = place};
    Access access = read;
    access.addresses = pointers, access.said = there, access.bytes = access.element = bytes;
    for (std::int32_t i = 0; i < end; ++i) {
      Lanes defined = 0, known = 0;
      std::fill_n(addresses, kLanes, warp.lanes<std::uint64_t>(at)[std::countr_zero(one)] + 8 * static_cast<std::uint64_t>(i));
      read.bytes = 8, read.mask = one;
      if (cluster.memory().read(read, known) == 0) return;
      if (known == 0) cluster.memory().find(Finding::Kind::Undefined, read, std::countr_zero(one));
      std::uint64_t pointer = 0;
      std::memcpy(&pointer, reinterpret_cast<const std::byte*>(addresses[0]), 8);
      if (pointer == 0) continue;
      const unsigned whose = prelude::owner_of(reinterpret_cast<const void*>(pointer));
      Lanes belongs = 0;
      for (int lane = 0; lane < kLanes; ++lane) belongs |= static_cast<Lanes>(whose % owners_of[lane] == owner_of[lane]) << lane;
      belongs &= mask;
      if (belongs == 0) continue;
      const int lane = std::countr_zero(belongs);
      access.mask = belongs & -belongs;
      read.bytes = each, read.mask = access.mask;  // for itself
      const auto number = [&](const Slot& array, std::byte* out) {
        std::fill_n(addresses, kLanes, warp.lanes<std::uint64_t>(array)[lane] + each * static_cast<std::uint64_t>(i));
        Lanes is_known = 0;
        if (cluster.memory().read(read, is_known) == 0) return false;
        load_value(out, addresses, access.mask, 0);
        defined = is_known != 0 ? ~0u : 0u;
        return true;
      };
      if ((compares && !number(beside, wanted)) || !number(of, numbers)) return;
      pointers[lane] = pointer;
      if (cluster.memory().write(access, defined) == 0) continue;
      if (reads) load_there(before, pointers, access.mask, 0);
      const std::size_t offset = static_cast<std::size_t>(lane) * (each == 8 ? 8 : 4);
      const bool swaps = !compares || std::memcmp(before + offset, wanted + offset, each == 8 ? 8 : 4) == 0;
      const std::byte* const operands[] = {before, numbers};
      if (change != nullptr) change(after, operands);
      if (swaps) store_there(change != nullptr ? after : numbers, pointers, access.mask, 0);
      if (keeps && cluster.memory().write(read, ~0u) != 0) store_value(before, addresses, access.mask, 0);
    }
  });
}

void Translator::operator()(const Show& show) {
  const bool real = is_float(show.dtype);
  const Value value = lanes(show.value, real ? Number::F64 : Number::I64), index = lanes(show.index, Number::I32);
  Slot ids[3];
  for (int axis = 0; axis < 3; ++axis) ids[axis] = variable(Name("id", axis)).value.slot;
  native([=, from = value.slot, at = index.slot, first = ids[0], second = ids[1], third = ids[2], word = show.word](Cluster& cluster,
                                                                                                                    Warp& warp) {
    for (Lanes left = warp.mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const auto whole = [&](const Slot& slot) { return warp.lanes<std::int64_t>(slot)[lane]; };
      cluster.print({.id = {whole(first), whole(second), whole(third)},
                     .bits = whole(from),
                     .word = word,
                     .index = warp.lanes<std::int32_t>(at)[lane]});
    }
  });
}

void Translator::operator()(const Report& report) {
  const Value value = lanes(report.value, Number::I64);
  native([id = report.id, from = value.slot](Cluster& cluster, Warp& warp) {
    runtime::Failure* const failure = cluster.launch().failure;
    if (failure == nullptr || warp.mask == 0 || failure->id != -1) return;
    failure->id = id;
    failure->value = warp.lanes<std::int64_t>(from)[std::countr_zero(warp.mask)];
    if (failure->report != nullptr) failure->report->value = failure->value, failure->report->id = id;
  });
}

void Translator::operator()(const Philox& philox) {
  const Value target = registers(philox.target), seed = lanes(philox.seed), counter = lanes(philox.counter);
  for (int i = 0; i < 4; ++i) {
    const Value index = called(operators(), "+", {converted(counter, Number::I64), constant(Number::I64, static_cast<std::uint64_t>(i))});
    move(element(target, i), called(words(), "philox_word", {seed, index}));
  }
}

// ---- Copies into shared memory.

/// `bytes` at an offset from both ends; of them the elements from `first` on that are inside.
void Translator::copy(const Value& to, const Value& from, const Value& inside, std::size_t offset, std::size_t bytes, std::size_t element,
                      std::size_t first, const std::string& sentence) {
  native([=, target = to.slot, source = from.slot, limit = inside.slot, place = said(sentence)](Cluster& cluster, Warp& warp) {
    Access access = access_of(cluster, warp, target, place);
    access.offset = offset, access.bytes = bytes, access.element = element;
    std::uint64_t sources[kLanes];
    std::int64_t there[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      sources[lane] = warp.lanes<std::uint64_t>(source)[lane] + offset;
      const std::int64_t left = warp.lanes<std::int32_t>(limit)[lane] - static_cast<std::int64_t>(first);
      there[lane] = std::clamp<std::int64_t>(left * static_cast<std::int64_t>(element), 0, static_cast<std::int64_t>(bytes));
    }
    cluster.begin_copies(warp, access, sources, there);
  });
}

void Translator::operator()(const CopyAsync& one) {
  const Value from = lanes(one.source);
  const Reference to = reference(one.place);
  if (!to.in_memory) unknown("a copy to " + text(one.place));
  const std::size_t element = size_of(to.type.dtype), bytes = bytes_of(to.type);
  for (std::size_t offset = 0; offset < bytes; offset += 16)
    copy(to.value, from, integer(1 << 30), offset, 16, element, 0, text(one.place));
}

void Translator::operator()(const CopyAhead& ahead) {
  const Value from = lanes(ahead.source), to = lanes(ahead.place), inside = lanes(ahead.inside, Number::I32);
  Type one = from.type;
  --one.pointers;
  const std::size_t element = bytes_of(one), bytes = std::min<std::size_t>(static_cast<std::size_t>(ahead.wide) * element, 16);
  for (std::size_t offset = 0; offset < static_cast<std::size_t>(ahead.count) * element; offset += bytes)
    copy(to, from, inside, offset, bytes, element, offset / element, text(ahead.place));
}

void Translator::operator()(const CloseCopies&) {
  native([](Cluster& cluster, Warp& warp) { cluster.close_copies(warp); });
}
void Translator::operator()(const WaitForCopies& wait) {
  native([unfinished = wait.unfinished](Cluster& cluster, Warp& warp) { cluster.await_copies(warp, unfinished); });
}
void Translator::operator()(const AwaitCopies&) {
  native([](Cluster& cluster, Warp& warp) { cluster.close_copies(warp), cluster.await_copies(warp, 0); });
}

}  // namespace tegula::simt
