#include "tegula/dist/exchange/exchange.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tegula/core/error.h"
#include "tegula/dist/exchange/combine.h"
#include "tegula/dist/exchange/group_state.h"
#include "tegula/dist/exchange/header.h"
#include "tegula/runtime/timeline.h"

namespace tegula::dist {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T* first, std::int64_t count) {
  return {reinterpret_cast<const std::byte*>(first), static_cast<std::size_t>(count) * sizeof(T)};
}
template <class T>
std::span<std::byte> room_for(T* first, std::int64_t count) {
  return {reinterpret_cast<std::byte*>(first), static_cast<std::size_t>(count) * sizeof(T)};
}

/// One collective in progress.
class Ring {
 public:
  Ring(Group::State& state, const Collective& what, const Line& where)
      : state_(state),
        what_(what),
        n_(static_cast<int>(state.ranks.size())),
        me_(state.rank),
        doing_{[this] {
                 return std::string(name(what_.kind)) + (what_.kind == Kind::Barrier ? "" : " of " + text_of(what_)) + ", number " +
                        std::to_string(state_.done) + " of the group of " + std::to_string(n_);
               },
               where} {
    const bool between_two = what.kind == Kind::Send || what.kind == Kind::Receive;
    if (!between_two) ++state_.done;
    header_ = header_of(state.ranks, me_, what, where);
    if (!between_two) compare();
  }

  int size() const { return n_; }
  int me() const { return me_; }
  int next(int steps = 1) const { return (me_ + steps) % n_; }
  int previous(int steps = 1) const { return (me_ + n_ - steps % n_) % n_; }

  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) {
    state_.world->transport->exchange(in_run(to), out, in_run(from), in, doing_);
  }
  void send_header(int to) { exchange(to, bytes_of(&header_, 1), to, {}); }
  void expect_header(int from) {
    Header theirs;
    exchange(from, {}, from, room_for(&theirs, 1));
    if (!agree(header_, theirs)) disagree(theirs);
  }

 private:
  int in_run(int member) const { return state_.ranks[static_cast<std::size_t>(member)]; }

  // Each compares the header of the previous rank: if all pairs agree, all ranks do.
  void compare() {
    Header theirs;
    exchange(next(), bytes_of(&header_, 1), previous(), room_for(&theirs, 1));
    if (!agree(header_, theirs)) disagree(theirs);
  }

  [[noreturn]] void disagree(const Header& theirs) {
    state_.world->transport->stop(difference(header_, theirs) + ", where all should do the same");
    throw disagreement(header_, theirs, doing_.where);
  }

  Group::State& state_;
  const Collective& what_;
  int n_, me_;
  Header header_;
  Doing doing_;
};

/// The c-th of n chunks of `count` elements, whose sizes differ by one at most.
struct Chunks {
  std::int64_t count;
  int n;
  std::int64_t begin(int c) const { return count * c / n; }
  std::int64_t size(int c) const { return begin(c + 1) - begin(c); }
};

/// Some of the ranks of a collective, as a ring of their own.
class Circle {
 public:
  Circle(Ring& ring, const std::vector<int>& members, int me) : ring_(ring), members_(members), me_(me) {}
  int size() const { return static_cast<int>(members_.size()); }
  int me() const { return me_; }
  int next(int steps = 1) const { return (me_ + steps) % size(); }
  int previous(int steps = 1) const { return (me_ + size() - steps % size()) % size(); }
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) {
    ring_.exchange(members_[static_cast<std::size_t>(to)], out, members_[static_cast<std::size_t>(from)], in);
  }

 private:
  Ring& ring_;
  const std::vector<int>& members_;
  int me_;
};

/// Rank r ends with the reduction of part r, in the returned one of two buffers: n - 1 steps, in each of which a partial sum
/// goes to the next rank, which adds its own part. The order of a part's sum begins after its rank, everywhere. `ring`: of all, or a Circle.
template <class Of, class T>
const Partial<T>* reduce_chunks(Of& ring, const T* in, const Chunks& chunks, Partial<T>* first, Partial<T>* second, Reduction reduction) {
  const int n = ring.size();
  const int start = ring.previous();
  for (std::int64_t i = 0; i < chunks.size(start); ++i) first[i] = widen(in[chunks.begin(start) + i]);
  for (int step = 0; step < n - 1; ++step) {
    const int outgoing = ring.previous(step + 1), incoming = ring.previous(step + 2);
    ring.exchange(ring.next(), bytes_of(first, chunks.size(outgoing)), ring.previous(), room_for(second, chunks.size(incoming)));
    add_own(second, in + chunks.begin(incoming), chunks.size(incoming), reduction);
    std::swap(first, second);
  }
  return first;
}

/// Part r of `out` is there on rank r; afterwards all chunks are everywhere.
template <class Of, class T>
void gather_chunks(Of& ring, T* out, const Chunks& chunks) {
  for (int step = 0; step < ring.size() - 1; ++step) {
    const int outgoing = ring.previous(step), incoming = ring.previous(step + 1);
    ring.exchange(ring.next(), bytes_of(out + chunks.begin(outgoing), chunks.size(outgoing)), ring.previous(),
                  room_for(out + chunks.begin(incoming), chunks.size(incoming)));
  }
}

/// The ranks by hosts; null if these do not make two levels. Found once for a group, by all of its ranks.
const Levels* levels_among(Ring& ring, Group::State& state) {
  if (!state.placed && ring.size() >= 4) {
    std::vector<std::uint64_t> hosts(static_cast<std::size_t>(ring.size()));
    hosts[static_cast<std::size_t>(ring.me())] = state.world->host;
    gather_chunks(ring, hosts.data(), Chunks{ring.size(), ring.size()});
    state.levels = levels_of(hosts, ring.me());
  }
  state.placed = true;
  return state.levels ? &*state.levels : nullptr;
}

/// Each host reduces chunks of its ranks', each part goes round a ring of the hosts, and is gathered within: over the wires of a host goes 2 (h - 1)/h of the bytes,
/// instead of 2 (n - 1)/n (show/cost_model.h: hierarchical_all_reduce).
template <class T>
void all_reduce_in_levels(Ring& ring, const Levels& levels, std::vector<std::byte>& memory, const T* in, T* out, const Collective& what) {
  Circle within(ring, levels.within, levels.place), across(ring, levels.across, levels.host);
  const Chunks chunks{numel(what.shape), within.size()};
  const Chunks pieces{chunks.size(within.me()), across.size()};
  const std::int64_t part = (chunks.count + chunks.n - 1) / chunks.n, piece = (part + pieces.n - 1) / pieces.n;
  const auto bytes = static_cast<std::size_t>(2 * (part + piece)) * sizeof(Partial<T>);
  if (memory.size() < bytes) memory.resize(bytes);
  auto* const first = reinterpret_cast<Partial<T>*>(memory.data());
  Partial<T>* const second = first + 2 * part;
  const Partial<T>* const of_host = reduce_chunks(within, in, chunks, first, first + part, what.reduction);
  const Partial<T>* const of_all = reduce_chunks(across, of_host, pieces, second, second + piece, what.reduction);
  T* const mine = out + chunks.begin(within.me());
  store(of_all, mine + pieces.begin(across.me()), pieces.size(across.me()), what.reduction, ring.size());
  gather_chunks(across, mine, pieces);
  gather_chunks(within, out, chunks);
}

/// Sends from the root along the ring, in pieces: while one arrives the one before it goes on.
template <class T>
void broadcast(Ring& ring, const T* in, T* out, std::int64_t count, int root) {
  const std::int64_t piece = std::max<std::int64_t>(1, (std::int64_t{1} << 18) / static_cast<std::int64_t>(sizeof(T)));
  const int place = (ring.me() - root + ring.size()) % ring.size();  // behind the root
  const bool last = place == ring.size() - 1;
  if (place == 0) std::copy_n(in, count, out);
  const std::int64_t pieces = (count + piece - 1) / piece;
  const auto size = [&](std::int64_t p) { return p < 0 || p >= pieces ? 0 : std::min(piece, count - p * piece); };
  for (std::int64_t p = 0; p <= pieces; ++p) {  // piece p comes, piece p - 1 goes
    ring.exchange(ring.next(), bytes_of(out + std::max<std::int64_t>(p - 1, 0) * piece, last ? 0 : size(p - 1)), ring.previous(),
                  room_for(out + p * piece, place == 0 ? 0 : size(p)));
  }
}

/// Along the ring to the root, which is last.
template <class T>
void reduce(Ring& ring, const T* in, T* out, std::int64_t count, Partial<T>* partial, const Collective& what) {
  const int place = (ring.me() - what.root - 1 + ring.size()) % ring.size();  // behind the one after the root
  if (place == 0) {
    for (std::int64_t i = 0; i < count; ++i) partial[i] = widen(in[i]);
  } else {
    ring.exchange(ring.next(), {}, ring.previous(), room_for(partial, count));
    add_own(partial, in, count, what.reduction);
  }
  if (ring.me() == what.root) return store(partial, out, count, what.reduction, ring.size());
  ring.exchange(ring.next(), bytes_of(partial, count), ring.previous(), {});
  std::fill_n(out, count, T{});
}

template <class T>
void all_to_all(Ring& ring, const T* in, T* out, std::int64_t part) {
  std::copy_n(in + ring.me() * part, part, out + ring.me() * part);
  for (int step = 1; step < ring.size(); ++step) {
    const int to = ring.next(step), from = ring.previous(step);
    ring.exchange(to, bytes_of(in + to * part, part), from, room_for(out + from * part, part));
  }
}

/// Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988: dissemination.
void barrier(Ring& ring) {
  for (int step = 1; step < ring.size(); step *= 2) {
    const std::byte out{1};
    std::byte in{};
    ring.exchange(ring.next(step), {&out, 1}, ring.previous(step), {&in, 1});
  }
}

template <class T>
void carry_out_in(Ring& ring, Group::State& state, const Collective& what, const T* in, T* out, void* scratch) {
  const std::int64_t count = numel(what.shape);
  const int n = ring.size();
  auto* const first = static_cast<Partial<T>*>(scratch);
  switch (what.kind) {
    case Kind::AllReduce: {
      if (const Levels* const levels = levels_among(ring, state)) return all_reduce_in_levels(ring, *levels, state.between, in, out, what);
      const Chunks chunks{count, n};
      const std::int64_t most = (count + n - 1) / n;
      const Partial<T>* mine = reduce_chunks(ring, in, chunks, first, first + most, what.reduction);
      store(mine, out + chunks.begin(ring.me()), chunks.size(ring.me()), what.reduction, n);
      return gather_chunks(ring, out, chunks);
    }
    case Kind::ReduceScatter: {
      const Chunks chunks{count, n};
      return store(reduce_chunks(ring, in, chunks, first, first + count / n, what.reduction), out, count / n, what.reduction, n);
    }
    case Kind::AllGather: std::copy_n(in, count, out + ring.me() * count); return gather_chunks(ring, out, Chunks{count * n, n});
    case Kind::Broadcast: return broadcast(ring, in, out, count, what.root);
    case Kind::Reduce: return reduce(ring, in, out, count, first, what);
    case Kind::AllToAll: return all_to_all(ring, in, out, count / n);
    case Kind::Send: ring.send_header(what.root); return ring.exchange(what.root, bytes_of(in, count), what.root, {});
    case Kind::Receive: ring.expect_header(what.root); return ring.exchange(what.root, {}, what.root, room_for(out, count));
    case Kind::Barrier: return barrier(ring);
  }
}

void require_member(const Group& group, const Collective& collective, const Line& where) {
  const Group::State& state = *group.state();
  if (state.rank >= 0) return;
  throw Error({.op = std::string(name(collective.kind)),
               .got = "rank " + std::to_string(state.world->transport->rank()) + ", which is not in the group " + group.text(),
               .expected = "the ranks of the group alone",
               .where = where});
}

/// `timeline`: where it is recorded, or null; as a part of the run of a plan.
void carry_out_now(Group::State& state, const Collective& collective, const void* in, void* out, void* scratch, const Line& where,
                   runtime::Timeline* timeline, std::int64_t run) {
  const std::lock_guard lock(state.world->exchanging);
  if (state.world->failure) std::rethrow_exception(state.world->failure);
  try {
    const std::int64_t begin = timeline ? runtime::Timeline::now() : 0;
    Ring ring(state, collective, where);
    const std::int64_t met = timeline ? runtime::Timeline::now() : 0;
    visit(collective.dtype, [&](auto zero) {
      using T = decltype(zero);
      carry_out_in(ring, state, collective, static_cast<const T*>(in), static_cast<T*>(out), scratch);
    });
    if (timeline) {
      timeline->add({.kind = runtime::TimelineEvent::Kind::Exchange,
                     .name = std::string(name(collective.kind)) + " " + text_of(collective),
                     .begin = begin,
                     .end = runtime::Timeline::now(),
                     .met = met,
                     .bytes = numel(collective.shape) * static_cast<std::int64_t>(size_of(collective.dtype)),
                     .run = run,
                     .where = to_string(where)});
    }
  } catch (...) {
    state.world->failure = std::current_exception();
    throw;
  }
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::AllReduce: return "all_reduce";
    case Kind::ReduceScatter: return "reduce_scatter";
    case Kind::AllGather: return "all_gather";
    case Kind::Broadcast: return "broadcast";
    case Kind::Reduce: return "reduce";
    case Kind::AllToAll: return "all_to_all";
    case Kind::Send: return "send";
    case Kind::Receive: return "receive";
    case Kind::Barrier: return "barrier";
  }
  return "a collective of another version";
}

std::string_view name(Reduction reduction) { return reduction == Reduction::Sum ? "sum" : reduction == Reduction::Mean ? "mean" : "max"; }

std::string text_of(const Collective& collective) {
  return std::string(tegula::name(collective.dtype)) + " " + to_string(collective.shape);
}

std::size_t scratch_bytes(const Collective& what, int ranks) {
  const std::int64_t count = numel(what.shape);
  const std::size_t element = is_half(what.dtype) ? sizeof(float) : size_of(what.dtype);
  switch (what.kind) {
    case Kind::AllReduce:
    case Kind::ReduceScatter: return 2 * static_cast<std::size_t>((count + ranks - 1) / ranks) * element;
    case Kind::Reduce: return static_cast<std::size_t>(count) * element;
    default: return 0;
  }
}

void carry_out(const Group& group, const Collective& collective, const void* in, void* out, void* scratch, const Line& where) {
  if (group.size() == 1) {
    if (out && in) std::memcpy(out, in, static_cast<std::size_t>(numel(collective.shape)) * size_of(collective.dtype));
    return;
  }
  require_member(group, collective, where);
  group.state()->world->progress.drain();
  runtime::Timeline* const timeline = runtime::Timeline::current();
  carry_out_now(*group.state(), collective, in, out, scratch, where, timeline, timeline ? timeline->run() : 0);
}

std::uint64_t begin(const Group& group, const Collective& collective, const void* in, void* out, void* scratch, const Line& where) {
  if (group.size() == 1) return carry_out(group, collective, in, out, scratch, where), 0;
  require_member(group, collective, where);
  Group::State& state = *group.state();  // which the caller holds until it has finished
  runtime::Timeline* const timeline = runtime::Timeline::current();
  return state.world->progress.begin(
      [=, &state, run = timeline ? timeline->run() : 0] { carry_out_now(state, collective, in, out, scratch, where, timeline, run); });
}

void finish(const Group& group, std::uint64_t ticket) {
  if (group.size() > 1) group.state()->world->progress.finish(ticket);
}

}  // namespace tegula::dist
