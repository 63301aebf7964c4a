#include "tegula/dist/engines/ledger.h"

#include <algorithm>
#include <utility>

namespace tegula::dist {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccd;
  return hash ^ (hash >> 29);
}

/// Equal for headers that agree.
std::uint64_t hash_of(const Header& header) {
  const Kind kind = header.kind == Kind::Receive ? Kind::Send : header.kind;
  const bool has_root = kind == Kind::Broadcast || kind == Kind::Reduce;
  std::uint64_t hash = mixed(header.members, static_cast<std::uint64_t>(kind));
  hash = mixed(hash, static_cast<std::uint64_t>(header.dtype));
  hash = mixed(hash, static_cast<std::uint64_t>(header.reduction));
  hash = mixed(hash, has_root ? static_cast<std::uint64_t>(header.root) : 0);
  for (int i = 0; i < header.rank_of_shape; ++i) hash = mixed(hash, static_cast<std::uint64_t>(header.sizes[i]) + 1);
  return hash;
}

/// The receivers of a note: for a group's collective the next rank in the ring, with a status all of them; for a message, the rank at its other end.
std::vector<int> audience(const Channel& channel, const Ledger::Ranks& ranks, int me, bool all) {
  if (channel.from >= 0) return {channel.from == me ? channel.to : channel.from};
  std::vector<int> others;
  const auto place = static_cast<std::size_t>(std::ranges::find(ranks, me) - ranks.begin());
  for (std::size_t step = 1; step < (all ? ranks.size() : 2); ++step) others.push_back(ranks[(place + step) % ranks.size()]);
  return others;
}

}  // namespace

LedgerNote Ledger::newest(const Channel& channel, const List& list) {
  const Entry& entry = list.entries[list.number % kKept];
  return {.channel = channel, .number = list.number, .hash = entry.hash, .header = entry.intent->header};
}

void Ledger::add(const Channel& channel, const Ranks& ranks, const std::shared_ptr<const Intent>& intent, Telling telling) {
  const std::lock_guard lock(mutex_);
  List& list = lists_[channel];
  if (list.ranks.empty()) list.ranks = ranks;
  list.hash = mixed(list.hash, hash_of(intent->header));
  list.entries[++list.number % kKept] = {list.hash, intent};
  last_ = intent;
  if (telling == Telling::WithStatus) return;
  list.asked = list.number;
  LedgerNote note = newest(channel, list);
  note.kind = LedgerNote::Kind::Asks;
  for (const int to : audience(channel, ranks, intent->header.sender, false)) outgoing_.push_back({to, note});
}

bool Ledger::awaits() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(lists_, [](const auto& list) { return list.second.confirmed < list.second.asked; });
}

std::vector<Ledger::Outgoing> Ledger::outgoing(bool status) {
  const std::lock_guard lock(mutex_);
  std::vector<Outgoing> all = std::exchange(outgoing_, {});
  if (!status) return all;
  for (auto& [channel, list] : lists_) {
    if (list.told == list.number) continue;
    list.told = list.number;
    const LedgerNote note = newest(channel, list);
    for (const int to : audience(channel, list.ranks, note.header.sender, true)) all.push_back({to, note});
  }
  return all;
}

void Ledger::heard(int from, const LedgerNote& note) {
  const std::lock_guard lock(mutex_);
  if (note.kind != LedgerNote::Kind::Confirms) {
    waiting_.push_back({from, note});
  } else if (const auto found = lists_.find(note.channel); found != lists_.end()) {
    found->second.confirmed = std::max(found->second.confirmed, note.number);
  }
}

void Ledger::compare() {
  const std::lock_guard lock(mutex_);
  std::vector<Waiting> still;
  for (Waiting& waiting : waiting_) {
    const LedgerNote& theirs = waiting.note;
    const auto found = lists_.find(theirs.channel);
    if (found == lists_.end()) {  // this rank has not begun it
      still.push_back(std::move(waiting));
      continue;
    }
    List& list = found->second;
    list.reached[waiting.from] = std::max(list.reached[waiting.from], theirs.number);
    if (theirs.number > list.number) {
      still.push_back(std::move(waiting));
      continue;
    }
    const Entry& mine = list.entries[theirs.number % kKept];
    const bool forgotten = theirs.number + kKept <= list.number;  // the hash of a later one tells
    if (!forgotten && !agree(mine.intent->header, theirs.header))
      throw disagreement(mine.intent->header, theirs.header, mine.intent->where);
    if (forgotten || mine.hash == theirs.hash) {
      // Without being asked, too: it may have finished since.
      if (audience(theirs.channel, list.ranks, mine.intent->header.sender, false)[0] == waiting.from)
        list.confirmed = std::max(list.confirmed, theirs.number);
      LedgerNote answer = theirs;
      answer.kind = LedgerNote::Kind::Confirms;
      if (theirs.kind == LedgerNote::Kind::Asks) outgoing_.push_back({waiting.from, answer});
      continue;
    }
    throw Error({.op = std::string(name(mine.intent->header.kind)),
                 .got = "rank " + std::to_string(waiting.from) + " with other collectives than rank " +
                        std::to_string(mine.intent->header.sender) + " before this one, number " + std::to_string(theirs.number),
                 .expected = "the same ones in the same order on all ranks of a group",
                 .where = mine.intent->where});
  }
  waiting_ = std::move(still);
}

std::optional<Ledger::Late> Ledger::late(const std::vector<int>* among) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [channel, list] : lists_) {
    const Entry& mine = list.entries[list.number % kKept];
    const int me = mine.intent->header.sender;
    std::vector<int> ranks;
    std::uint64_t first = list.number;
    for (const int other : audience(channel, list.ranks, me, true)) {
      if (among && std::ranges::find(*among, other) == among->end()) continue;
      const auto reached = list.reached.find(other);
      const std::uint64_t number = reached == list.reached.end() ? 0 : reached->second;
      if (number >= list.number) continue;
      ranks.push_back(other);
      first = std::min(first, number + 1);
    }
    if (ranks.empty()) continue;
    std::ranges::sort(ranks);
    const bool kept = first + kKept > list.number;
    return Late{.intent = kept ? list.entries[first % kKept].intent : mine.intent,
                .number = kept ? first : list.number,
                .size = list.ranks.size(),
                .ranks = std::move(ranks)};
  }
  return {};
}

std::shared_ptr<const Intent> Ledger::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace tegula::dist
