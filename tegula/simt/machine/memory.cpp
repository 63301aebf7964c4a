#include "tegula/simt/machine/memory.h"

#include <algorithm>
#include <bit>
#include <span>

namespace tegula::simt {

namespace {

const char* sentence_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::Race: return "two threads without a barrier between them reach ";
    case Finding::Kind::Undefined: return "nobody has written what is taken for ";
    case Finding::Kind::Outside: return "no memory is at ";
    case Finding::Kind::Misaligned: return "no multiple of its size is the address of ";
    case Finding::Kind::OnItsWay: return "a copy is still on its way to ";
    case Finding::Kind::Apart: return "threads wait at different places, one of them at ";
    case Finding::Kind::NotBegun: return "a block that may not have begun is written to by ";
    case Finding::Kind::Ended: return "a block that has ended is reached by ";
  }
  return "";
}

const char* const kInstances = ", of two instances";

/// A place has the same distance from multiples of it in the memory of all blocks.
std::size_t line_of(const Kernel& kernel) { return kernel.groups ? Kernel::kTileLine : 128; }

}  // namespace

Memory::Memory(const Kernel& kernel, const MachineOptions& options, Observed& observed)
    : threads_(kernel.threads()),
      blocks_(kernel.cluster),
      bytes_(kernel.shared_bytes()),
      pitch_((bytes_ + 128 + line_of(kernel) - 1) / line_of(kernel) * line_of(kernel)),
      instances_meet_(options.instances_meet),
      observed_(observed),
      memory_(pitch_ * static_cast<std::size_t>(blocks_) + 128),
      clocks_(static_cast<std::size_t>(blocks_)),
      warp_times_(static_cast<std::size_t>((threads_ * blocks_ + kLanes - 1) / kLanes), 1),
      counts_warps_(kernel.copiers > 0),
      has_boxes_(!kernel.maps.empty()) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
  for (const auto& one : options.memory) {
    const auto first = reinterpret_cast<std::uintptr_t>(one.data());
    known_.emplace_back(first, first + one.size());
  }
  std::ranges::sort(known_);
  shared_ = memory_.data() + ((begin + 127) / 128 * 128 - begin);
}

void Memory::begin_cluster(std::uint32_t first_block) {
  first_block_ = first_block;
  states_.assign(pitch_ * static_cast<std::size_t>(blocks_), {});
  std::ranges::fill(memory_, std::byte{0xcd});
  meetings_ = 0;
  seen_.clear();
  if (has_boxes_) piece_writes_.assign(states_.size() / kPiece, {}), fences_.assign(warp_times_.size(), 0);
  ended_.assign(static_cast<std::size_t>(blocks_), false);
  if (counts_warps_) piece_reads_.assign(states_.size() / kPiece, {}), known_warps_.assign(warp_times_.size(), {});
  // Times go on: what other blocks did to tensors is before this.
  std::uint32_t latest = 0;
  for (const Clock& clock : clocks_) latest = std::max(latest, clock.time);
  ++meeting_;
  begun_ = latest + 1;
  acquired_.clear(), met_.clear(), released_ = 0;
  for (Clock& clock : clocks_) clock = {.time = begun_, .meeting = begun_};
}

/// All threads of the block know of what any one of its warps has seen.
void Memory::have_met(int block) {
  ++clocks_[static_cast<std::size_t>(block)].time;
  for (auto& [ticket, seen] : seen_)
    if (seen.block == block) seen.warps = ~0u;
  if (counts_warps_) all_know(static_cast<std::size_t>(block * warps_of_block()), warps_of_block());
}
void Memory::have_met(int block, int warps) {
  ++clocks_[static_cast<std::size_t>(block)].time;
  const std::uint32_t all = (1u << warps) - 1;
  for (auto& [ticket, seen] : seen_)
    if (seen.block == block && (seen.warps & all) != 0) seen.warps |= all;
  all_know(static_cast<std::size_t>(block * warps_of_block()), warps);
}
/// So many warps from that one on.
void Memory::all_know(std::size_t first, int warps) {
  const auto met = std::span(known_warps_).subspan(first, static_cast<std::size_t>(warps));
  Known all;
  for (const Known& known : met)
    for (const auto& [other, time] : known) all[other] = std::max(all[other], time);
  for (std::size_t i = 0; i < met.size(); ++i) {
    const int warp = static_cast<int>(first + i);
    all[reader_of(warp / warps_of_block(), warp % warps_of_block())] = tick_;
  }
  std::ranges::fill(met, all);
  ++tick_;
}

void Memory::release(const Access& access, Known& known) {
  if (!counts_warps_) return;
  for (const auto& [other, time] : known_of(access)) known[other] = std::max(known[other], time);
  known[reader_of(access)] = tick_++;
}
void Memory::acquire(const Access& access, const Known& known) {
  if (!counts_warps_) return;
  Known& own = known_of(access);
  for (const auto& [other, time] : known) own[other] = std::max(own[other], time);
}
void Memory::has_read(int block, int warp, int product_of, std::uint32_t time) {
  if (!counts_warps_) return;
  std::uint32_t& known = known_warps_[static_cast<std::size_t>(block * warps_of_block() + warp)][reader_of(block, kMostWarps + product_of)];
  known = std::max(known, time);
}
void Memory::note_piece_read(std::uint64_t address, int by, bool by_group) {
  const int reader = by / kLanes % warps_of_block() + (by_group ? kMostWarps : 0);
  piece_reads_[(address - reinterpret_cast<std::uintptr_t>(shared_)) / kPiece][static_cast<std::size_t>(reader)] = tick_;
}
/// Reports a race for each warp of the piece's block that has read the piece and is not known to be done with it. Nobody has read the content that comes.
void Memory::check_piece_is_free(const Access& access, int lane) {
  const std::uint64_t offset = access.addresses[lane] + access.offset - reinterpret_cast<std::uintptr_t>(shared_);
  Reads& reads = piece_reads_[offset / kPiece];
  const Known& own = known_of(access);
  const int block = static_cast<int>(offset / pitch_);
  for (std::size_t reader = 0; reader < reads.size(); ++reader) {
    if (reads[reader] == 0) continue;
    const auto known = own.find(reader_of(block, static_cast<int>(reader)));
    if (reads[reader] > (known == own.end() ? 0 : known->second)) find(Finding::Kind::Race, access, lane);
  }
  reads = {};
}

void Memory::cluster_has_met() {
  ++meetings_, ++meeting_;
  for (Clock& clock : clocks_) clock.meeting = ++clock.time;
  for (auto& [ticket, seen] : seen_) seen.warps = ~0u;
  if (counts_warps_) all_know(0, static_cast<int>(known_warps_.size()));
}

void Memory::check_runs(const Access& access, int lane) {
  int block = 0;
  if (byte_of_shared(access, lane, block) == nullptr || block == access.block) return;
  if (!cluster_runs()) find(Finding::Kind::NotBegun, access, lane);
  if (ended_[static_cast<std::size_t>(block)]) find(Finding::Kind::Ended, access, lane);
}

void Memory::find(Finding::Kind kind, const Access& access, int lane, const std::string& more) {
  constexpr std::size_t kMost = 20;
  const std::string place = access.said ? *access.said : "?";
  if (observed_.findings.size() >= kMost || !found_.emplace(kind, place).second) return;
  observed_.findings.push_back({kind, sentence_of(kind) + place + more + " (block " +
                                          std::to_string(first_block_ + static_cast<unsigned>(access.block)) + ", thread " +
                                          std::to_string(access.first_thread + lane) + ")"});
}

/// Returns what is known of the first byte; nullptr outside of shared memory.
Memory::Byte* Memory::byte_of_shared(const Access& access, int lane, int& block) {
  const std::uint64_t offset = access.addresses[lane] + access.offset - reinterpret_cast<std::uintptr_t>(shared_);
  if (offset >= states_.size()) return nullptr;
  block = static_cast<int>(offset / pitch_);
  return &states_[offset];
}

/// Returns the state of an element of a tensor: bytes and halves have one each, other elements one for each word.
Memory::Byte& Memory::state_of(std::uint64_t address, std::size_t element) {
  const bool words = element >= 4;
  if (words) address /= 4;
  const std::uint64_t number = address / kPage * 2 + words;
  if (last_page_.second == nullptr || last_page_.first != number) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_page_ = {number, page.get()};
  }
  return (*last_page_.second)[address % kPage];
}

template <class F>
void Memory::each_element(const Access& access, int lane, F&& f) {
  for (std::size_t i = 0; i < access.bytes; i += access.element) f(state_of(access.addresses[lane] + access.offset + i, access.element));
}

bool Memory::is_known(std::uint64_t address, std::size_t bytes) {
  if (known_.empty()) return address >= 4096;
  const auto has = [&](std::size_t i) { return address >= known_[i].first && address + bytes <= known_[i].second; };
  if (has(last_known_)) return true;
  const auto behind = std::ranges::upper_bound(known_, address, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
  if (behind == known_.begin()) return false;
  last_known_ = static_cast<std::size_t>(behind - known_.begin()) - 1;
  return has(last_known_);
}

/// Returns true if the address belongs to memory that the thread may reach; reports one that does not, and one that is not aligned.
bool Memory::is_inside(const Access& access, int lane) {
  const std::uint64_t address = access.addresses[lane] + access.offset;
  if (address % access.bytes != 0 && std::has_single_bit(access.bytes)) find(Finding::Kind::Misaligned, access, lane);
  int block = 0;
  if (byte_of_shared(access, lane, block) != nullptr) {
    const std::uint64_t within = (address - reinterpret_cast<std::uintptr_t>(shared_)) % pitch_;
    if ((block == access.block || access.of_cluster) && within + access.bytes <= bytes_) return true;
  } else {
    if (is_known(address, access.bytes)) return true;
  }
  find(Finding::Kind::Outside, access, lane);
  return false;
}

/// Returns true if the thread `by` of the block comes behind what was done then.
bool Memory::is_before(std::uint32_t time, std::uint32_t meeting, int by, int block) const {
  const Clock& clock = clocks_[static_cast<std::size_t>(block)];
  return by / threads_ == block ? time < clock.time : meeting < meeting_;
}

bool Memory::is_acquired(std::uint32_t time) const {
  return std::ranges::any_of(acquired_, [&](const auto& times) { return time >= times.first && time < times.second; });
}

void Memory::fence() {
  acquired_.merge(met_);
  met_.clear();
  released_ = 0;
  for (const Clock& clock : clocks_) released_ = std::max(released_, clock.time);
}

void Memory::meet_at(std::uint64_t address, bool writes) {
  const auto there = left_.find(address);
  if (there != left_.end()) met_.insert(there->second.begin(), there->second.end());
  if (!writes || released_ == 0) return;
  Times& times = left_[address];
  times.insert(acquired_.begin(), acquired_.end());
  times.emplace(begun_, released_);
}

bool Memory::may_take(std::uint16_t counter, int by) const {
  const auto seen = seen_.find(counter);
  return counter == 0 || (seen != seen_.end() && (seen->second.warps >> (by % threads_ / kLanes) & 1) != 0);
}

void Memory::note_read(Byte& byte, int by, int block, const Access& access, int lane, bool atomic) {
  if (byte.copies > 0) find(Finding::Kind::OnItsWay, access, lane);
  if (!may_take(byte.counter, by)) find(Finding::Kind::Race, access, lane);
  const auto me = static_cast<std::uint16_t>(by);
  const Clock& clock = clocks_[static_cast<std::size_t>(block)];
  if (!(atomic && byte.atomic) && byte.writer != kNobody && byte.writer != me &&
      !is_before(byte.write_time, byte.write_meeting, byte.writer, block) && !is_of_warp(byte.writer, byte.of_writer, by))
    find(Finding::Kind::Race, access, lane);
  const bool another = byte.reader != kNobody && byte.reader != me && byte.read_time == clock.time;
  byte.read_atomically = atomic && (!another || byte.read_atomically);
  byte.reader = another ? kMany : me;
  byte.read_time = clock.time, byte.of_reader = warp_time(by);
}

void Memory::note_write(Byte& byte, int by, int block, const Access& access, int lane, bool atomic) {
  if (byte.copies > 0 || byte.taken > 0) find(Finding::Kind::OnItsWay, access, lane);
  const auto me = static_cast<std::uint16_t>(by);
  const bool own = by / threads_ == block;
  const Clock& clock = clocks_[static_cast<std::size_t>(block)];
  const bool both_atomic = atomic && byte.atomic;
  if (!both_atomic && byte.writer != kNobody && byte.writer != me && !is_before(byte.write_time, byte.write_meeting, byte.writer, block) &&
      !is_of_warp(byte.writer, byte.of_writer, by))
    find(Finding::Kind::Race, access, lane);
  const bool read_is_before = own ? byte.read_time < clock.time : byte.read_time < clock.meeting;
  if (!(atomic && byte.read_atomically) && byte.reader != kNobody && byte.reader != me && !read_is_before &&
      !is_of_warp(byte.reader, byte.of_reader, by))
    find(Finding::Kind::Race, access, lane);
  byte.writer = me, byte.write_time = clock.time, byte.write_meeting = meeting_, byte.atomic = atomic, byte.of_writer = warp_time(by);
}

std::uint32_t Memory::read(const Access& access, std::uint32_t& defined, bool atomic) {
  std::uint32_t allowed = 0;
  defined = access.mask;
  bool in_shared = false;
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!is_inside(access, lane)) {
      defined &= ~(1u << lane);
      continue;
    }
    allowed |= 1u << lane;
    int block = access.block;
    const int by = owner(access, lane);
    if (Byte* const first = byte_of_shared(access, lane, block)) {
      in_shared = true;
      for (std::size_t i = 0; i < access.bytes; ++i) {
        note_read(first[i], by, block, access, lane);
        if (!first[i].defined) defined &= ~(1u << lane);
      }
      if (counts_warps_) note_piece_read(access.addresses[lane] + access.offset, by, access.by_group);
    } else {
      if (atomic) meet_at(access.addresses[lane] + access.offset, false);
      each_element(access, lane, [&](Byte& state) {
        const bool written = is_elsewhere(state.writer, state.write_time) && !(atomic && state.atomic);
        if (written) find(Finding::Kind::Race, access, lane, kInstances);
        note_read(state, by, block, access, lane, atomic);
      });
    }
  }
  if (in_shared) count_banks(access);
  return allowed;
}

std::uint32_t Memory::write(const Access& access, std::uint32_t defined, bool atomic) {
  std::uint32_t allowed = 0;
  bool in_shared = false;
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!is_inside(access, lane)) continue;
    allowed |= 1u << lane;
    int block = access.block;
    const int by = owner(access, lane);
    if (Byte* const first = byte_of_shared(access, lane, block)) {
      in_shared = true;
      for (std::size_t i = 0; i < access.bytes; ++i) {
        note_write(first[i], by, block, access, lane, atomic);
        first[i].defined = (defined >> lane & 1) != 0, first[i].counter = 0;
      }
      if (has_boxes_) note_piece_write(access, lane);
    } else {
      if ((defined >> lane & 1) == 0) find(Finding::Kind::Undefined, access, lane);
      if (atomic) meet_at(access.addresses[lane] + access.offset, true);
      each_element(access, lane, [&](Byte& state) {
        const bool written = is_elsewhere(state.writer, state.write_time) && !(atomic && state.atomic);
        const bool read = is_elsewhere(state.reader, state.read_time) && !(atomic && state.read_atomically);
        if (written || read) find(Finding::Kind::Race, access, lane, kInstances);
        note_write(state, by, block, access, lane, atomic);
      });
    }
  }
  if (in_shared) count_banks(access);
  return allowed;
}

void Memory::write_to(const Access& access, int block, std::uint32_t defined, int counted) {
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!cluster_runs()) find(Finding::Kind::NotBegun, access, lane);
    int own = 0;
    Byte* const here = byte_of_shared(access, lane, own);
    if (here == nullptr) {
      find(Finding::Kind::Outside, access, lane);
      continue;
    }
    Byte* const there = here + (static_cast<std::ptrdiff_t>(block) - own) * static_cast<std::ptrdiff_t>(pitch_);
    for (std::size_t i = 0; i < access.bytes; ++i) {
      note_write(there[i], owner(access, lane), block, access, lane, false);
      there[i].defined = (defined >> lane & 1) != 0;
      there[i].counter = static_cast<std::uint16_t>(counted);
    }
  }
}

void Memory::counted(int block, int counter) {
  Byte* const first = states_.data() + static_cast<std::size_t>(block) * pitch_;
  for (std::size_t i = 0; i < bytes_; ++i) {
    if (first[i].counter != counter) continue;
    first[i].counter = 0, first[i].writer = kNobody;
  }
}

void Memory::note_piece_write(const Access& access, int lane) {
  const std::size_t piece = (access.addresses[lane] + access.offset - reinterpret_cast<std::uintptr_t>(shared_)) / kPiece;
  const auto warp = static_cast<std::uint16_t>(owner(access, lane) / kLanes);
  piece_writes_[piece] = {warp, fences_[warp]};
}

void Memory::fence_tiles(const Access& access) {
  if (has_boxes_) ++fences_[static_cast<std::size_t>(owner(access, 0) / kLanes)];
}

bool Memory::take_piece(const Access& access, int lane, bool& defined) {
  int block = 0;
  if (!is_inside(access, lane)) return false;
  Byte* const first = byte_of_shared(access, lane, block);
  if (first == nullptr) return find(Finding::Kind::Outside, access, lane), false;
  const LastWrite& last = piece_writes_[(access.addresses[lane] + access.offset - reinterpret_cast<std::uintptr_t>(shared_)) / kPiece];
  if (last.warp != kNobody && fences_[last.warp] == last.fences) find(Finding::Kind::Race, access, lane, " (which no fence stands behind)");
  for (std::size_t i = 0; i < access.bytes; ++i) {
    note_read(first[i], owner(access, lane), block, access, lane);
    ++first[i].taken;
    defined = defined && first[i].defined;
  }
  return true;
}

void Memory::give_piece(const Access& access, int lane) {
  int block = 0;
  Byte* const first = byte_of_shared(access, lane, block);
  for (std::size_t i = 0; i < access.bytes; ++i) {
    --first[i].taken;
    note_read(first[i], owner(access, lane), block, access, lane);
  }
}

bool Memory::begin_copy(const Access& access, int lane, std::uint16_t ticket) {
  int block = 0;
  if (!is_inside(access, lane)) return false;
  Byte* const first = byte_of_shared(access, lane, block);
  if (first == nullptr) return find(Finding::Kind::Outside, access, lane), false;
  if (counts_warps_) check_piece_is_free(access, lane);
  for (std::size_t i = 0; i < access.bytes; ++i) {
    if (counts_warps_) first[i].reader = kNobody;
    note_write(first[i], owner(access, lane), block, access, lane, false);
    ++first[i].copies;
    first[i].counter = ticket;
    if (ticket > 0) first[i].writer = kNobody;
  }
  return true;
}

void Memory::end_copy(const Access& access, int lane) {
  int block = 0;
  Byte* const first = byte_of_shared(access, lane, block);
  for (std::size_t i = 0; i < access.bytes; ++i) {
    --first[i].copies;
    first[i].defined = true, first[i].write_time = clocks_[static_cast<std::size_t>(block)].time;
  }
}

bool Memory::may_read(const Access& access, int lane) {
  if (!is_inside(access, lane)) return false;
  each_element(access, lane, [&](Byte& state) { note_read(state, owner(access, lane), access.block, access, lane); });
  return true;
}

/// A warp's lanes go in parts that reach 128 bytes together; of a part, a bank hands out one word after another.
void Memory::count_banks(const Access& access) {
  const int parts = access.bytes <= 4 ? 1 : static_cast<int>(access.bytes / 4), each = kLanes / parts;
  const auto base = reinterpret_cast<std::uintptr_t>(shared_);
  for (int part = 0; part < parts; ++part) {
    std::array<std::uint64_t, 32 * kLanes> words;  // of a bank, those that differ
    std::array<int, 32> counts{};
    bool any = false;
    for (int lane = part * each; lane < (part + 1) * each; ++lane) {
      if ((access.mask >> lane & 1) == 0) continue;
      any = true;
      for (std::size_t i = 0; i < std::max<std::size_t>(access.bytes, 4); i += 4) {
        const std::uint64_t word = (access.addresses[lane] + access.offset - base + i) / 4;
        const std::size_t bank = word % 32;
        std::uint64_t* const begin = words.data() + bank * kLanes;
        if (std::find(begin, begin + counts[bank], word) == begin + counts[bank]) begin[counts[bank]++] = word;
      }
    }
    if (!any) continue;
    ++observed_.banks.accesses;
    observed_.banks.conflicts += *std::ranges::max_element(counts) - 1;
  }
}

}  // namespace tegula::simt
