#include "tegula/simt/machine/cluster.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tegula::simt {

using What = Instruction::What;

Cluster::Cluster(const Kernel& kernel, const Code& code, const MachineLaunch& launch, const MachineOptions& options, std::int64_t blocks,
                 Observed& observed)
    : kernel_(kernel),
      code_(code),
      launch_(launch),
      options_(options),
      observed_(observed),
      memory_(kernel, options, observed),
      blocks_(blocks),
      warps_of_block_((kernel.threads() + kLanes - 1) / kLanes) {
  warps_.resize(static_cast<std::size_t>(kernel.cluster * warps_of_block_));
  for (Warp& warp : warps_) {
    warp.registers = std::make_unique<std::byte[]>(code.granules * kGranule);
    warp.defined.resize(code.granules);
    warp.counters.resize(code.counters);
    warp.masks.resize(code.masks);
    for (const Constant& one : code_.constants) {
      if (granules(one.number) == 2) give<std::uint64_t>(warp, one.granule, [&](int) { return one.bits; });
      else give<std::uint32_t>(warp, one.granule, [&](int) { return one.bits; });
    }
  }
}

bool Cluster::stopped() const {
  return std::ranges::any_of(launch_.guards, [](const runtime::Failure& guard) { return guard.id >= 0; });
}

// ---- Where an instance begins.

template <class T, class F>
void Cluster::give(Warp& warp, std::uint32_t granule, F&& value) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const T x = static_cast<T>(value(lane));
    std::memcpy(warp.lanes(granule) + static_cast<std::size_t>(lane) * sizeof(T), &x, sizeof x);
  }
  warp.defined[granule] = ~0u;
}

void Cluster::begin(Warp& warp, int block, int number) {
  warp.block = block, warp.first_thread = number * kLanes;
  const int left = std::min(kLanes, kernel_.threads() - warp.first_thread);
  warp.alive = warp.mask = left == kLanes ? ~0u : (1u << left) - 1;
  warp.next = 0, warp.wait = Warp::Wait::Nothing, warp.arrived = false, warp.instance = -1, warp.set = 0;
  warp.copies.clear();
  warp.products.assign(1, {}), warp.multiplied.clear(), warp.read_times.clear(), warp.closed = 0;
  std::ranges::fill(warp.groups, 0);
  std::fill(warp.defined.begin() + kConstantGranules, warp.defined.end(), 0u);
  const Given& g = code_.given;
  const int columns = kernel_.column_threads;
  const auto thread = [&](int lane) { return warp.first_thread + lane; };
  give<std::int32_t>(warp, g.thread, thread);
  give<std::int32_t>(warp, g.rank, [&](int) { return block; });
  if (kernel_.groups) {
    give<std::int32_t>(warp, g.tr, [&](int lane) { return number * 16 + lane / 4 + block * kernel_.row_threads_apart(); });
    give<std::int32_t>(warp, g.tc, [&](int lane) { return lane % 4 + block * kernel_.column_threads_apart(); });
  } else if (const int beside = kernel_.column_warps; beside > 1) {
    give<std::int32_t>(warp, g.tr, [&](int lane) { return number / beside * 8 + lane / 4; });
    give<std::int32_t>(warp, g.tc, [&](int lane) { return number % beside * 4 + lane % 4; });
  } else {
    give<std::int32_t>(warp, g.tr, [&](int lane) { return thread(lane) / columns; });
    give<std::int32_t>(warp, g.tc, [&](int lane) { return block * columns + thread(lane) % columns; });
  }
  give<std::uint64_t>(warp, g.shared, [&](int) { return reinterpret_cast<std::uintptr_t>(memory_.shared(block)); });
  const std::int64_t here = first_block_ + block, walkers = std::min<std::int64_t>(blocks_, kernel_.walkers);
  give<std::uint32_t>(warp, g.owners, [&](int) { return walkers * kernel_.threads(); });
  give<std::uint32_t>(warp, g.owner, [&](int lane) { return here * kernel_.threads() + thread(lane); });
  if (kernel_.walkers > 0 && here >= walkers) warp.alive = warp.mask = 0;
}

/// The next one of a walk, or the only one; false where there is none.
bool Cluster::begin_instance(Warp& warp) {
  const auto count = [](const runtime::ArgumentSet& set) { return set.grid[0] * set.grid[1] * set.grid[2]; };
  std::int64_t instance = ++warp.instance;
  if (kernel_.stays) {
    instance = (first_block_ + instance * blocks_) / kernel_.cluster;
  } else if (kernel_.walkers == 0) {
    if (instance > 0) return false;
    instance = first_block_ / static_cast<std::uint32_t>(kernel_.cluster);
  }
  for (const runtime::ArgumentSet& set : launch_.sets) {
    if (instance < count(set)) return place_instance(warp, set, instance), true;
    instance -= count(set);
  }
  return false;
}

void Cluster::place_instance(Warp& warp, const runtime::ArgumentSet& set, std::int64_t instance) {
  const auto& grid = set.grid;
  const std::int64_t ids[] = {instance % grid[0], instance / grid[0] % grid[1], instance / grid[0] / grid[1]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    give<std::int64_t>(warp, code_.given.id[axis], [&](int) { return ids[axis]; });
    give<std::int64_t>(warp, code_.given.grid[axis], [&](int) { return grid[axis]; });
  }
  maps_.clear();
  for (const TensorMap& map : kernel_.maps) {
    const auto size = [&](const TensorMap::Size& one) { return one.parameter < 0 ? one.number : set.arguments[one.parameter].integer; };
    maps_.push_back({.begin = reinterpret_cast<std::uintptr_t>(set.arguments[map.pointer].pointer),
                     .columns = size(map.columns),
                     .rows = size(map.rows),
                     .stride = size(map.stride),
                     .planes = {},
                     .of = &map});
    for (const TensorMap::Plane& plane : map.planes)
      maps_.back().planes.push_back({TensorMap::distance(plane, size), plane.size ? std::optional(size(*plane.size)) : std::nullopt});
  }
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const tile::Parameter& declared = kernel_.parameters[i].declared;
    const runtime::Argument& argument = set.arguments[i];
    const std::uint32_t granule = code_.given.parameters[i];
    if (declared.pointer) {
      give<std::uint64_t>(warp, granule, [&](int) { return reinterpret_cast<std::uintptr_t>(argument.pointer); });
      continue;
    }
    switch (number_of(declared.dtype)) {
      case Number::Boolean: give<std::int32_t>(warp, granule, [&](int) { return argument.integer != 0; }); break;
      case Number::F32: give<float>(warp, granule, [&](int) { return argument.real; }); break;
      case Number::F64: give<double>(warp, granule, [&](int) { return argument.real; }); break;
      case Number::I32:
      case Number::U32: give<std::int32_t>(warp, granule, [&](int) { return argument.integer; }); break;
      case Number::I64:
      case Number::U64:
      case Number::Address: give<std::int64_t>(warp, granule, [&](int) { return argument.integer; }); break;
    }
  }
}

// ---- Instructions.

void Cluster::compute(Warp& warp, const Instruction& i) {
  const std::byte* operands[3];
  std::uint32_t defined = ~0u;
  for (int k = 0; k < i.inputs; ++k) {
    const std::size_t granule = warp.at(i.in[k]);
    operands[k] = warp.lanes(granule);
    defined &= warp.defined[granule];
  }
  const std::size_t out = warp.at(i.out);
  if (!i.masked || warp.mask == ~0u) {
    if (i.run != nullptr) i.run(warp.lanes(out), operands);
    else std::memmove(warp.lanes(out), operands[0], i.width * kGranule);
    warp.defined[out] = defined;
    return;
  }
  alignas(64) std::byte results[2 * kGranule];
  const std::byte* from = results;
  if (i.run != nullptr) i.run(results, operands);
  else from = operands[0];
  const std::size_t bytes = i.width * std::size_t{4};
  for (std::uint32_t left = warp.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    std::memcpy(warp.lanes(out) + lane * bytes, from + lane * bytes, bytes);
  }
  warp.defined[out] = (warp.defined[out] & ~warp.mask) | (defined & warp.mask);
}

void Cluster::wait(Warp& warp, Warp::Wait at) {
  if (warp.mask != warp.alive) found_apart(warp);
  warp.wait = at;
}

void Cluster::meet_warp(const Warp& warp) {
  if (warp.mask != warp.alive) found_apart(warp);
  memory_.warp_has_met(warp.block, warp.first_thread / kLanes);
}

void Cluster::come_to(Warp& warp, int number, int threads, bool waits) {
  if (warp.mask != warp.alive) found_apart(warp);
  Meeting& meeting = meetings_[{warp.block, number}];
  const std::uint32_t bit = 1u << (warp.first_thread / kLanes);
  if ((meeting.warps & bit) != 0) found_apart(warp);  // before the others have been there
  meeting.warps |= bit, meeting.threads += kLanes;
  if (waits) warp.wait = Warp::Wait::Number, warp.number = number;
  if (meeting.threads < threads) return;
  meeting = {};
  for (Warp& other : warps_)
    if (other.block == warp.block && other.wait == Warp::Wait::Number && other.number == number) other.wait = Warp::Wait::Nothing;
}

void Cluster::move_registers(const Warp& warp, const MoveRegisters& registers) {
  const auto index = static_cast<std::size_t>(&warp - warps_.data());
  const int first = MoveRegisters::at_first(kernel_.threads());
  int& held = registers_.try_emplace(index, first).first->second;
  const bool grows = registers.count > held,
             counts = registers.count % MoveRegisters::kStep == 0 && registers.count >= MoveRegisters::kLeast;
  if (warp.mask != warp.alive || !counts || (registers.count != held && grows != registers.takes)) found_apart(warp);
  spare_registers_[warp.block] += (held - registers.count) * kLanes;
  held = registers.count;
}

/// Somebody has come to a barrier that nobody waits at any more, or waits for registers that nobody has given back.
void Cluster::found_left() {
  for (const auto& [block, spare] : spare_registers_)
    if (spare < 0) found_apart(warps_[static_cast<std::size_t>(block * warps_of_block_)]);
  for (const auto& [place, meeting] : meetings_)
    if (meeting.threads > 0) found_apart(warps_[static_cast<std::size_t>(place.first * warps_of_block_)]);
}

/// A block has ended when all of its warps have.
void Cluster::note_end(int block) {
  const std::span all(warps_);
  const auto of_block = all.subspan(static_cast<std::size_t>(block * warps_of_block_), static_cast<std::size_t>(warps_of_block_));
  if (std::ranges::all_of(of_block, [](const Warp& warp) { return warp.alive == 0; })) memory_.end_block(block);
}

void Cluster::found_apart(const Warp& warp) {
  static const std::string place = "a barrier";
  memory_.find(Finding::Kind::Apart, {.block = warp.block, .first_thread = warp.first_thread, .said = &place}, 0);
}

void Cluster::step(Warp& warp, const Instruction& i) {
  switch (i.what) {
    case What::Compute: return compute(warp, i);
    case What::Native: return code_.natives[static_cast<std::size_t>(i.number)](*this, warp);
    case What::Undefine: {
      const auto first = warp.defined.begin() + static_cast<std::ptrdiff_t>(warp.at(i.out));
      std::transform(first, first + i.number, first, [&](std::uint32_t lanes) { return lanes & ~warp.mask; });
      return;
    }
    case What::Save: warp.masks[static_cast<std::size_t>(i.number)] = warp.mask; return;
    case What::Restore: warp.mask = warp.masks[static_cast<std::size_t>(i.number)] & warp.alive; return;
    case What::Narrow: {
      const auto* const when = warp.lanes<std::int32_t>(i.in[0]);
      std::uint32_t lanes = 0;
      for (int lane = 0; lane < kLanes; ++lane) lanes |= static_cast<std::uint32_t>(when[lane] != 0) << lane;
      if (const std::uint32_t unknown = warp.mask & ~warp.defined[warp.at(i.in[0])]; unknown != 0 && !i.masked)
        memory_.find(Finding::Kind::Undefined, {.block = warp.block, .first_thread = warp.first_thread, .said = &code_.sentences[i.target]},
                     std::countr_zero(unknown));
      warp.mask &= i.masked ? ~lanes : lanes;
      return;
    }
    case What::JumpIfNone:
      if (warp.mask == 0) warp.next = i.target;
      return;
    case What::Jump: warp.next = i.target; return;
    case What::Count: warp.counters[static_cast<std::size_t>(i.number)] = i.limit; return;
    case What::CountOn:
      if (++warp.counters[static_cast<std::size_t>(i.number)] < i.limit) warp.next = i.target;
      return;
    case What::Remainder: warp.counters[static_cast<std::size_t>(i.number)] = static_cast<std::int64_t>(warp.at(i.out)) % i.limit; return;
    case What::Leave: warp.alive &= ~warp.mask, warp.mask = 0; return;
    case What::Meet: return wait(warp, Warp::Wait::Block);
    case What::MeetTeam: return wait(warp, Warp::Wait::Team);
    case What::MeetCluster: return wait(warp, Warp::Wait::Cluster);
    case What::Arrive: warp.arrived = true; return;
    case What::AwaitArrived: return wait(warp, Warp::Wait::ClusterPhase);
    case What::End: return;  // go_on
  }
}

void Cluster::go_on(Warp& warp, int steps) {
  while (warp.alive != 0 && warp.wait == Warp::Wait::Nothing && steps-- > 0) {
    if (warp.next == code_.body && !begin_instance(warp)) warp.next = code_.end;
    const Instruction& instruction = code_.instructions[warp.next++];
    if (instruction.what == What::End) warp.next = code_.body, warp.mask = warp.alive;
    else step(warp, instruction);
  }
}

// ---- Copies and exchanges.

namespace {

void arrive(const Warp::Copy& copy) {
  auto* const to = reinterpret_cast<std::byte*>(copy.to);
  std::memcpy(to, reinterpret_cast<const std::byte*>(copy.from), copy.there);
  std::memset(to + copy.there, 0, copy.bytes - copy.there);
}

}  // namespace

void Cluster::begin_copies(Warp& warp, const Access& to, const std::uint64_t* from, const std::int64_t* there) {
  for (std::uint32_t left = to.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Warp::Copy copy{.to = to.addresses[lane] + to.offset,
                    .from = from[lane],
                    .there = static_cast<std::size_t>(there[lane]),
                    .bytes = to.bytes,
                    .lane = lane,
                    .group = warp.groups[lane]};
    Access source = to;
    source.addresses = from, source.offset = 0, source.bytes = copy.there;
    if (copy.there > 0 && from[lane] % to.bytes != 0) memory_.find(Finding::Kind::Misaligned, source, lane);
    if (copy.there > 0 && !memory_.may_read(source, lane)) copy.there = 0;
    if (!memory_.begin_copy(to, lane)) continue;
    if (!options_.uneven) arrive(copy);
    warp.copies.push_back(copy);
  }
}

void Cluster::close_copies(Warp& warp) {
  for (std::uint32_t left = warp.mask; left != 0; left &= left - 1) ++warp.groups[std::countr_zero(left)];
}

void Cluster::await_copies(Warp& warp, int unfinished) {
  static const std::string place = "a copy";
  std::erase_if(warp.copies, [&](const Warp::Copy& copy) {
    if ((warp.mask >> copy.lane & 1) == 0 || copy.group >= warp.groups[copy.lane] - unfinished) return false;
    if (options_.uneven) arrive(copy);
    std::uint64_t addresses[kLanes];
    addresses[copy.lane] = copy.to;
    memory_.end_copy({.block = warp.block, .first_thread = warp.first_thread, .addresses = addresses, .bytes = copy.bytes, .said = &place},
                     copy.lane);
    return true;
  });
}

void Cluster::expect(int block, int exchange, std::int64_t bytes) {
  Exchange& one = exchanges_[static_cast<std::size_t>(block)][static_cast<std::size_t>(exchange)];
  one.expected = bytes;
  if (one.complete()) memory_.counted(block, exchange);
}
void Cluster::tell(int block, int exchange, std::int64_t bytes) {
  Exchange& one = exchanges_[static_cast<std::size_t>(block)][static_cast<std::size_t>(exchange)];
  one.arrived += bytes;
  if (one.complete()) memory_.counted(block, exchange);
}

// ---- Warps wait for each other.

/// Lets those go on for whom all others have come; false where nobody does.
bool Cluster::release() {
  bool any = false;
  const auto let_go = [&](Warp& warp) { warp.wait = Warp::Wait::Nothing, any = true; };
  const auto all_at = [](std::span<Warp> warps, Warp::Wait at) {
    bool some = false;
    for (const Warp& warp : warps) {
      if (warp.alive == 0) continue;
      if (warp.wait != at) return false;
      some = true;
    }
    return some;
  };
  const std::span all(warps_);
  for (std::size_t first = 0; first < warps_.size(); first += static_cast<std::size_t>(warps_of_block_)) {
    const std::span block = all.subspan(first, static_cast<std::size_t>(warps_of_block_));
    const auto go_together = [&](std::span<Warp> warps) {
      std::size_t place = 0;
      for (Warp& warp : warps) {
        if (warp.alive == 0) continue;
        if (place != 0 && warp.next != place) found_apart(warp);
        place = warp.next;
        let_go(warp);
      }
    };
    const std::span team = block.first(static_cast<std::size_t>((kernel_.team() + kLanes - 1) / kLanes));
    if (all_at(team, Warp::Wait::Team)) memory_.have_met(block.front().block, static_cast<int>(team.size())), go_together(team);
    if (all_at(block, Warp::Wait::Block)) memory_.have_met(block.front().block), go_together(block);
  }
  if (all_at(all, Warp::Wait::Cluster)) {
    memory_.cluster_has_met();
    for (Warp& warp : all) let_go(warp);
  }
  const bool all_arrived = std::ranges::all_of(all, [](const Warp& warp) { return warp.alive == 0 || warp.arrived; });
  bool phase = false;
  for (Warp& warp : all) {
    if (warp.alive == 0) continue;
    if (warp.wait == Warp::Wait::ClusterPhase && all_arrived) phase = true, let_go(warp);
    const auto& exchanges = exchanges_[static_cast<std::size_t>(warp.block)];
    if (warp.wait == Warp::Wait::Bytes && has_bytes(warp)) let_go(warp);
    if (warp.wait == Warp::Wait::Products && has_products(warp)) end_products(warp), let_go(warp);
    if (warp.wait == Warp::Wait::Counter && exchanges[static_cast<std::size_t>(warp.counter)].complete()) let_go(warp);
  }
  if (phase && !memory_.cluster_runs()) memory_.cluster_has_met();
  return any;
}

bool Cluster::has_bytes(const Warp& warp) {
  const Access counter{.block = warp.block, .first_thread = warp.first_thread, .addresses = &warp.awaited, .mask = 1, .said = warp.said};
  return arrivals_.has_ended(counter, warp.parity);
}

// ---- Products of four warps.

std::span<Warp> Cluster::group_of(const Warp& warp) {
  constexpr int kGroup = 4;
  const int first = warp.first_thread / kLanes / kGroup * kGroup;
  return std::span(warps_).subspan(static_cast<std::size_t>(warp.block * warps_of_block_ + first),
                                   static_cast<std::size_t>(std::min(kGroup, warps_of_block_ - first)));
}

bool Cluster::has_products(const Warp& warp) {
  return std::ranges::all_of(group_of(warp), [&](const Warp& one) { return one.closed >= warp.until; });
}

void Cluster::close_products(Warp& warp) {
  warp.products.emplace_back();
  ++warp.closed;
  if (!multiplies_late()) warp.read_times.push_back(memory_.end_reads());
}

void Cluster::await_products(Warp& warp, int unfinished) {
  if (warp.mask != warp.alive) found_apart(warp);
  warp.until = warp.closed - unfinished;
  if (has_products(warp)) end_products(warp);
  else warp.wait = Warp::Wait::Products;
}

/// All of the group multiply; what comes of that the warp itself may take, and it may tell others that the operands have been read.
void Cluster::end_products(Warp& warp) {
  if (warp.until <= 0) return;
  for (Warp& one : group_of(warp)) {
    while (std::ssize(one.read_times) < warp.until) {
      const auto open = static_cast<std::size_t>(one.closed) - one.read_times.size();  // groups from this one on
      for (Warp::Product& product : one.products[one.products.size() - 1 - open]) product.defined = product.multiply();
      one.read_times.push_back(memory_.end_reads());
    }
    memory_.has_read(warp.block, warp.first_thread / kLanes, one.first_thread / kLanes,
                     one.read_times[static_cast<std::size_t>(warp.until) - 1]);
  }
  for (; std::ssize(warp.products) - 1 > warp.closed - warp.until; warp.products.pop_front())
    for (const Warp::Product& product : warp.products.front()) product.end(*product.defined);
}

bool Cluster::run(std::uint32_t first_block) {
  first_block_ = first_block;
  random_.seed(options_.order + first_block);
  memory_.begin_cluster(first_block);
  arrivals_.begin_cluster(), departures_.begin_cluster();
  meetings_.clear(), registers_.clear(), spare_registers_.clear();
  exchanges_.assign(static_cast<std::size_t>(kernel_.cluster), std::vector<Exchange>(code_.exchanges.size() + 1));
  std::vector<Warp*> order;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    begin(warps_[i], static_cast<int>(i) / warps_of_block_, static_cast<int>(i) % warps_of_block_);
    order.push_back(&warps_[i]);
  }
  if (options_.order % 2 != 0) std::ranges::reverse(order);
  constexpr int kAll = 1 << 30, kMost = 60;
  for (;;) {
    bool any = false;
    if (options_.uneven) std::ranges::shuffle(order, random_);
    for (Warp* const warp : order) {
      if (warp->alive == 0 || warp->wait != Warp::Wait::Nothing) continue;
      any = true;
      go_on(*warp, options_.uneven && random_() % 2 == 0 ? 1 + static_cast<int>(random_() % kMost) : kAll);
      if (warp->alive == 0) note_end(warp->block);
    }
    if (std::ranges::all_of(warps_, [](const Warp& warp) { return warp.alive == 0; })) return found_left(), departures_.end(), true;
    if (departures_.is_taking() && random_() % 2 == 0) departures_.leave(random_);
    if (arrivals_.is_bringing()) any = true, arrivals_.come(random_);
    if (!release() && !any) return false;
  }
}

}  // namespace tegula::simt
