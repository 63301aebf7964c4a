#include "tegula/simt/machine/arrivals.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tegula::simt {

namespace {

constexpr std::size_t kPieceBytes = 16;

std::uint64_t address_of(const Access& access) { return access.addresses[std::countr_zero(access.mask)]; }

}  // namespace

void Arrivals::begin(const Access& counter, int arrivals) {
  const auto [at, is_new] =
      counters_.try_emplace(address_of(counter), Counter{.arrivals = arrivals, .left = arrivals, .ticket = new_ticket()});
  if (!is_new) memory_.find(Finding::Kind::Race, counter, std::countr_zero(counter.mask), " (a counter that is begun twice)");
}

void Arrivals::end(const Access& counter) {
  const Counter* const one = find(counter);
  if (one && (one->missing != 0 || one->left != one->arrivals))
    memory_.find(Finding::Kind::OnItsWay, counter, std::countr_zero(counter.mask), " (a counter that ends before its phase)");
  counters_.erase(address_of(counter));
}

Arrivals::Counter* Arrivals::find(const Access& access) {
  const auto found = counters_.find(address_of(access));
  if (found != counters_.end()) return &found->second;
  memory_.find(Finding::Kind::Undefined, access, std::countr_zero(access.mask), " (no counter)");
  return nullptr;
}

void Arrivals::expect(const Access& counter, std::int64_t bytes) {
  Counter* const one = find(counter);
  if (!one) return;
  one->missing += bytes;
  arrive(counter);
}

void Arrivals::arrive(const Access& counter) {
  memory_.check_runs(counter, std::countr_zero(counter.mask));
  Counter* const one = find(counter);
  if (!one) return;
  if (one->left == 0)
    return memory_.find(Finding::Kind::Race, counter, std::countr_zero(counter.mask), " (where more arrive than it counts in a phase)");
  --one->left;
  memory_.release(counter, one->known);
  close(*one);
}

void Arrivals::close(Counter& counter) {
  if (counter.left != 0 || counter.missing != 0) return;
  counter.left = counter.arrivals, counter.parity = !counter.parity;
  counter.last_ticket = std::exchange(counter.ticket, new_ticket());
  counter.last_known = std::exchange(counter.known, {});
}

void Arrivals::bring(const Access& by, const Access& counter, std::vector<Piece> pieces, bool at_once) {
  const Counter* const one = find(counter);
  if (!one) return;
  Box box{.counter = address_of(counter), .pieces = {}, .by = by};
  std::uint64_t addresses[kLanes] = {};
  const int lane = std::countr_zero(by.mask);
  Access to = by;
  to.addresses = addresses, to.offset = 0, to.bytes = kPieceBytes;
  memory_.check_runs(by, lane);
  for (Piece& piece : pieces) {
    Access element = to;  // from wherever elements lie
    element.bytes = element.element;
    std::size_t there = 0;
    for (; there < piece.there; there += element.element) {
      addresses[lane] = piece.from + there;
      if (!memory_.may_read(element, lane)) break;
    }
    piece.there = there, addresses[lane] = piece.to;
    if (memory_.begin_copy(to, lane, one->ticket)) box.pieces.push_back(piece);
  }
  if (at_once) come(box);
  else boxes_.push_back(std::move(box));
}

void Arrivals::come(const Box& box) {
  std::uint64_t addresses[kLanes] = {};
  const int lane = std::countr_zero(box.by.mask);
  Access to = box.by;
  to.addresses = addresses, to.offset = 0, to.bytes = kPieceBytes;
  if (!box.pieces.empty()) addresses[lane] = box.pieces.front().to, memory_.check_runs(to, lane);
  for (const Piece& piece : box.pieces) {
    auto* const place = reinterpret_cast<std::byte*>(piece.to);
    std::memcpy(place, reinterpret_cast<const std::byte*>(piece.from), piece.there);
    std::memset(place + piece.there, 0, kPieceBytes - piece.there);
    addresses[lane] = piece.to;
    memory_.end_copy(to, lane);
  }
  const auto counter = counters_.find(box.counter);
  if (counter == counters_.end()) return;
  counter->second.missing -= static_cast<std::int64_t>(box.pieces.size() * kPieceBytes);
  close(counter->second);
}

bool Arrivals::has_ended(const Access& counter, bool parity) {
  const Counter* const one = find(counter);
  if (!one || one->parity == parity) return !one;
  memory_.has_seen(one->last_ticket, counter);
  memory_.acquire(counter, one->last_known);
  return true;
}

void Arrivals::come(std::minstd_rand& random) {
  std::ranges::shuffle(boxes_, random);
  const std::size_t count = 1 + random() % boxes_.size();
  const std::vector<Box> coming(boxes_.end() - static_cast<std::ptrdiff_t>(count), boxes_.end());
  boxes_.resize(boxes_.size() - count);
  for (const Box& box : coming) come(box);
}

}  // namespace tegula::simt
