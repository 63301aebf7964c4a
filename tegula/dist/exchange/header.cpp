#include "tegula/dist/exchange/header.h"

#include <algorithm>
#include <cstring>

#include "tegula/core/fnv_hash.h"

namespace tegula::dist {
namespace {

Collective read(const Header& header) {
  Collective out{.kind = header.kind, .dtype = header.dtype, .reduction = header.reduction, .root = header.root};
  for (int i = 0; i < std::min<int>(header.rank_of_shape, kMaxRank); ++i) out.shape.push_back(header.sizes[i]);
  return out;
}

bool has_root(Kind kind) { return kind == Kind::Broadcast || kind == Kind::Reduce; }
bool reduces(Kind kind) { return kind == Kind::AllReduce || kind == Kind::ReduceScatter || kind == Kind::Reduce; }

/// "all_reduce (sum) of f32 (3, 4) on rank 1 at a.cpp:12".
std::string said_by(const Header& header) {
  const Collective collective = read(header);
  std::string text(name(header.kind));
  if (reduces(header.kind)) text += " (" + std::string(name(header.reduction)) + ")";
  if (has_root(header.kind)) text += " with root " + std::to_string(header.root);
  if (header.kind != Kind::Barrier) text += " of " + text_of(collective);
  text += " on rank " + std::to_string(header.sender);
  const std::string place(header.place, ::strnlen(header.place, sizeof header.place));
  return text + (place.empty() ? "" : " at " + place);
}

Kind sent_as(Kind kind) { return kind == Kind::Receive ? Kind::Send : kind; }

/// Returns true if the two are at different places of one jit.
bool differ_in_order(const Header& a, const Header& b) { return a.trace != 0 && a.trace == b.trace && a.number != b.number; }

bool agree_but_for_order(const Header& a, const Header& b) {
  return a.magic == b.magic && sent_as(a.kind) == sent_as(b.kind) && a.dtype == b.dtype && a.reduction == b.reduction &&
         a.rank_of_shape == b.rank_of_shape && (!has_root(a.kind) || a.root == b.root) && a.members == b.members &&
         std::equal(a.sizes, a.sizes + kMaxRank, b.sizes);
}

}  // namespace

std::uint64_t hash_of(const std::vector<int>& ranks) {
  FnvHash hash;
  for (const int rank : ranks) hash.add(static_cast<std::uint64_t>(rank));
  return hash.value();
}

Header header_of(const std::vector<int>& ranks, int me, const Collective& what, const Line& where) {
  Header header{.kind = what.kind,
                .dtype = what.dtype,
                .reduction = what.reduction,
                .rank_of_shape = static_cast<std::uint8_t>(what.shape.rank()),
                .root = what.root,
                .sender = ranks[static_cast<std::size_t>(me)],
                .members = hash_of(ranks),
                .trace = what.trace,
                .number = what.number};
  for (int i = 0; i < what.shape.rank(); ++i) header.sizes[i] = what.shape[i];
  const std::string place = to_string(where);
  const std::size_t kept = std::min(place.size(), sizeof header.place - 1);
  std::memcpy(header.place, place.data() + (place.size() - kept), kept);
  return header;
}

bool agree(const Header& a, const Header& b) { return agree_but_for_order(a, b) && !differ_in_order(a, b); }

std::string difference(const Header& mine, const Header& theirs) {
  const bool readable = theirs.magic == mine.magic;
  const bool first = readable && theirs.sender < mine.sender;
  std::string one = said_by(mine), other = readable ? said_by(theirs) : "something else on another rank";
  if (readable && agree_but_for_order(mine, theirs)) {
    one += ", number " + std::to_string(mine.number) + " of the group in its jit";
    other += ", number " + std::to_string(theirs.number) + " of the group in its jit";
  }
  return (first ? other : one) + " and " + (first ? one : other) +
         (readable && theirs.members != mine.members && theirs.kind == mine.kind ? ", in other groups" : "");
}

Error disagreement(const Header& mine, const Header& theirs, const Line& where) {
  return Error({.op = std::string(name(mine.kind)),
                .got = difference(mine, theirs),
                .expected = "the same collectives of the same dtypes and shapes, in the same order, on all ranks of a group",
                .where = where});
}

}  // namespace tegula::dist
