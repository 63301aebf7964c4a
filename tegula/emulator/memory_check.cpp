#include "tegula/emulator/memory_check.h"

#include <algorithm>
#include <cstring>

namespace tegula::emulator {
namespace {

constexpr const char* kVerbs[] = {"reads", "writes", "changes"};

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace

std::string text_of(emulated::Index index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

MemoryCheck::MemoryCheck(std::vector<Region> regions, const unsigned char* image_begin, const unsigned char* image_end,
                         emulated::Index block_size)
    : image_begin_(image_begin),
      image_end_(image_end),
      block_size_(block_size) {
  std::ranges::sort(regions, {}, &Region::begin);
  for (Region& region : regions) {
    Shadow shadow{.region = std::move(region), .cells = {}};
    // Elements of a tensor are touched as such or several at a time; shared memory in any way.
    shadow.granule = shadow.region.kind == Region::Kind::Tensor ? std::min<std::size_t>(shadow.region.element, 4) : 1;
    if (shadow.region.kind != Region::Kind::Nobody) shadow.cells.resize(shadow.region.bytes / shadow.granule);
    if (shadow.region.filled)
      for (Cell& cell : shadow.cells) cell.filled = true;
    shadows_.push_back(std::move(shadow));
  }
  const std::size_t threads = std::size_t{block_size.x} * block_size.y * block_size.z;
  warp_phases_.resize((threads + 31) / 32);
}

void MemoryCheck::begin_block(std::uint32_t number, emulated::Index index) {
  block_ = number, block_index_ = index, phase_ = 0, has_acquired_ = false;
  std::ranges::fill(warp_phases_, 0);
  if (indices_.size() <= number) indices_.resize(number + 1), fenced_.resize(number + 1);
  indices_[number] = index;
  for (Shadow& shadow : shadows_)
    if (shadow.region.kind == Region::Kind::Shared) {
      std::ranges::fill(shadow.cells, Cell{});
      std::memset(const_cast<unsigned char*>(shadow.region.begin), kNothing, shadow.region.bytes);
    }
}

MemoryCheck::Shadow* MemoryCheck::find(const unsigned char* place) {
  const auto holds = [&](const Shadow& shadow) {
    return place >= shadow.region.begin && place < shadow.region.begin + shadow.region.bytes;
  };
  if (last_ < shadows_.size() && holds(shadows_[last_])) return &shadows_[last_];
  const auto behind = std::ranges::upper_bound(shadows_, place, {}, [](const Shadow& shadow) { return shadow.region.begin; });
  if (behind == shadows_.begin() || !holds(*std::prev(behind))) return nullptr;
  last_ = static_cast<std::size_t>(std::prev(behind) - shadows_.begin());
  return &shadows_[last_];
}

/// True if a barrier, or a fence and an atomic operation, is between the two.
bool MemoryCheck::ordered(const Stamp& before, const Stamp& now) const {
  if (before.block != now.block) return has_acquired_ && before.phase < fenced_[before.block];
  if (before.thread == now.thread || before.phase < now.phase) return true;
  return before.thread / 32 == now.thread / 32 && before.warp_phase < now.warp_phase;
}

std::string MemoryCheck::thread_text(std::uint32_t block, unsigned thread) const {
  const emulated::Index index{thread % block_size_.x, thread / block_size_.x % block_size_.y, thread / block_size_.x / block_size_.y};
  return "thread " + text_of(index) + " of block " + text_of(block < indices_.size() ? indices_[block] : block_index_);
}

std::string MemoryCheck::element_text(const Region& region, std::size_t byte) {
  return "element " + std::to_string(byte / region.element) + " of " + region.name;
}

std::string MemoryCheck::outside(const unsigned char* place, std::size_t bytes, emulated::Kind kind) const {
  constexpr std::size_t kFar = 1 << 20;
  const Shadow* nearest = nullptr;
  std::size_t distance = kFar;
  bool behind = false;
  for (const Shadow& shadow : shadows_) {
    if (shadow.region.kind == Region::Kind::Nobody) continue;
    const unsigned char *begin = shadow.region.begin, *end = begin + shadow.region.bytes;
    const bool above = place >= end;
    const auto far = static_cast<std::size_t>(above ? place - end : begin - place);
    if (place >= begin && place < end) return std::string(kVerbs[kind]) + " across the end of " + shadow.region.name;
    if (far < distance) nearest = &shadow, distance = far, behind = above;
  }
  const std::string what = std::string(kVerbs[kind]) + " " + bytes_text(bytes);
  if (reinterpret_cast<std::uintptr_t>(place) < 4096) return what + " through a null pointer";
  if (!nearest) return what + " that belong to no argument and no variable";
  const Region& region = nearest->region;
  if (!behind) return what + ", " + bytes_text(distance) + " ahead of the begin of " + region.name;
  return std::string(kVerbs[kind]) + " element " + std::to_string((region.bytes + distance) / region.element) + " of " + region.name +
         ", which has " + std::to_string(region.bytes / region.element);
}

std::string MemoryCheck::race(const Shadow& shadow, std::size_t cell, const Stamp& other, bool other_wrote, emulated::Kind kind,
                              const Stamp& now) const {
  const bool same = other.block == now.block;
  return std::string(kVerbs[kind]) + " " + element_text(shadow.region, cell * shadow.granule) + ", which " +
         thread_text(other.block, other.thread) + (other_wrote ? " writes" : " reads") +
         (same ? ", and no barrier stands between the two" : ", and nothing says which of the two blocks comes first");
}

bool MemoryCheck::holds_nothing(const Shadow& shadow, std::size_t cell) {
  const unsigned char* const at = shadow.region.begin + cell * shadow.granule;
  return !shadow.cells[cell].filled && std::all_of(at, at + shadow.granule, [](unsigned char byte) { return byte == kNothing; });
}

std::string MemoryCheck::access(const void* where, std::size_t bytes, emulated::Kind kind, unsigned thread) {
  const auto* const place = static_cast<const unsigned char*>(where);
  Shadow* const shadow = find(place);
  if (!shadow || shadow->region.kind == Region::Kind::Nobody) {
    if (!shadow && place >= image_begin_ && place + bytes <= image_end_) return "";  // tables and texts of the kernel's
    return outside(place, bytes, kind);
  }
  const Region& region = shadow->region;
  const auto first = static_cast<std::size_t>(place - region.begin);
  if (first + bytes > region.bytes) return std::string(kVerbs[kind]) + " across the end of " + region.name;
  if (first % std::min<std::size_t>(bytes, 16) != 0 && reinterpret_cast<std::uintptr_t>(place) % bytes != 0)
    return std::string(kVerbs[kind]) + " " + bytes_text(bytes) + " of " + region.name + " at an address that is no multiple of " +
           std::to_string(bytes);
  if (kind != emulated::kRead && !region.writable)
    return std::string(kVerbs[kind]) + " " + element_text(region, first) + ", which is an input";
  if (kind == emulated::kAtomic) has_acquired_ = true;
  const Stamp now{block_, phase_, warp_phases_[thread / 32], static_cast<std::uint16_t>(thread),
                  static_cast<std::uint8_t>(kind == emulated::kAtomic ? 2 : 1)};
  for (std::size_t i = first / shadow->granule; i <= (first + bytes - 1) / shadow->granule; ++i) {
    Cell& cell = shadow->cells[i];
    const bool both_atomic = kind == emulated::kAtomic && cell.writer.kind == 2;
    if (cell.writer.kind != 0 && !both_atomic && !ordered(cell.writer, now)) return race(*shadow, i, cell.writer, true, kind, now);
    if (kind != emulated::kWrite && holds_nothing(*shadow, i))
      return std::string(kVerbs[kind]) + " " + element_text(region, i * shadow->granule) + ", which nobody has written";
    if (kind == emulated::kRead) {
      Stamp* place_of = &cell.readers[0];
      if (place_of->kind != 0 && !ordered(*place_of, now)) place_of = &cell.readers[1];
      *place_of = now;
      continue;
    }
    for (const Stamp& reader : cell.readers)
      if (reader.kind != 0 && !ordered(reader, now)) return race(*shadow, i, reader, false, kind, now);
    cell.writer = now, cell.readers[0].kind = cell.readers[1].kind = 0, cell.filled = true;
  }
  return "";
}

std::string MemoryCheck::unwritten() const {
  for (const Shadow& shadow : shadows_) {
    if (shadow.region.kind != Region::Kind::Tensor || shadow.region.filled) continue;
    for (std::size_t i = 0; i < shadow.cells.size(); ++i)
      if (holds_nothing(shadow, i)) return element_text(shadow.region, i * shadow.granule);
  }
  return "";
}

}  // namespace tegula::emulator
