#include "tegula/simt/machine/departures.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tegula::simt {

namespace {

constexpr std::size_t kPieceBytes = 16;

int lane_of(const Access& by) { return std::countr_zero(by.mask); }

}  // namespace

int Departures::thread_of(const Access& by) { return by.block << 16 | (by.first_thread + lane_of(by)); }

Access Departures::piece_access(const Box& box, std::uint64_t* addresses, const Arrivals::Piece& piece) {
  Access access = box.by;
  access.addresses = addresses, access.offset = 0, access.bytes = kPieceBytes;
  addresses[lane_of(box.by)] = piece.to;
  return access;
}

void Departures::take(const Access& by, std::vector<Arrivals::Piece> pieces, bool at_once) {
  const int thread = thread_of(by);
  Box box{.thread = thread, .group = groups_[thread], .pieces = {}, .by = by};
  std::uint64_t addresses[kLanes] = {};
  for (const Arrivals::Piece& piece : pieces)
    if (memory_.take_piece(piece_access(box, addresses, piece), lane_of(by), box.defined)) box.pieces.push_back(piece);
  if (at_once) leave(box);
  boxes_.push_back(std::move(box));
}

void Departures::leave(Box& box) {
  box.has_left = true;
  std::uint64_t addresses[kLanes] = {};
  Access element = box.by;
  element.addresses = addresses, element.offset = 0, element.bytes = element.element;
  const int lane = lane_of(box.by);
  for (const Arrivals::Piece& piece : box.pieces) {
    for (std::size_t i = 0; i < piece.there; i += element.element) {
      addresses[lane] = piece.from + i;
      if (memory_.write(element, box.defined ? element.mask : 0) != 0)
        std::memcpy(reinterpret_cast<std::byte*>(piece.from + i), reinterpret_cast<const std::byte*>(piece.to + i), element.element);
    }
  }
}

void Departures::close(const Access& by) { ++groups_[thread_of(by)]; }

void Departures::await(const Access& by, int unfinished) {
  const int thread = thread_of(by), last = groups_[thread] - unfinished;
  std::uint64_t addresses[kLanes] = {};
  std::erase_if(boxes_, [&](Box& box) {
    if (box.thread != thread || box.group >= last) return false;
    if (!box.has_left) leave(box);
    for (const Arrivals::Piece& piece : box.pieces) memory_.give_piece(piece_access(box, addresses, piece), lane_of(box.by));
    return true;
  });
}

bool Departures::is_taking() const { return !std::ranges::all_of(boxes_, &Box::has_left); }

void Departures::leave(std::minstd_rand& random) {
  for (Box& box : boxes_)
    if (!box.has_left && random() % 4 == 0) leave(box);
}

void Departures::end() {
  for (const Box& box : boxes_) memory_.find(Finding::Kind::OnItsWay, box.by, lane_of(box.by), " (when the block ends)");
  boxes_.clear();
}

}  // namespace tegula::simt
