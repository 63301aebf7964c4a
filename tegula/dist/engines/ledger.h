#pragma once
// The list of collectives that a rank has queued on the devices' own engine, which compares nothing: ranks exchange their lists, and compare them beside the work.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/dist/exchange/header.h"

namespace tegula::dist {

/// A collective of a program, queued any number of times.
struct Intent {
  Header header;
  Line where{};
  std::string text;  // "all_reduce of f32 (3, 4)"
};

/// One list that all who are in it must have in the same order: a group's collectives, or the messages from one of its ranks to another.
struct Channel {
  std::uint64_t members = 0;  // Header::members
  int from = -1, to = -1;  // in the run; of messages
  auto operator<=>(const Channel&) const = default;
};

/// A note between ranks: the number-th entry of a list, and a hash of all entries up to it.
struct LedgerNote {
  enum class Kind : std::uint8_t { Says, Asks, Confirms } kind = Kind::Says;  // a rank that agrees with an Asks answers Confirms
  Channel channel;
  std::uint64_t number = 0, hash = 0;
  Header header;
};

/// Thread-safe.
class Ledger {
 public:
  using Ranks = std::vector<int>;  // in the run, by their place in the group

  /// Adds a queued entry. AtOnce: asks other ranks to compare it; WithStatus: with the next status, for a replay of entries that were compared before.
  enum class Telling : std::uint8_t { AtOnce, WithStatus };
  void add(const Channel& channel, const Ranks& ranks, const std::shared_ptr<const Intent>& intent, Telling telling);

  /// The notes to send, with their receivers. `status`: also the last entries of lists that have grown since the last status.
  struct Outgoing {
    int to;
    LedgerNote note;
  };
  std::vector<Outgoing> outgoing(bool status);

  /// Takes a note of another rank. The note is kept until this rank has come as far.
  void heard(int from, const LedgerNote& note);
  /// Throws Error where a rank does something else than this one, naming both lines.
  void compare();

  /// True if a rank that was asked has not answered yet.
  bool awaits() const;

  /// A collective that this rank has queued, and others of its list have not, as far as they have said: all of them, or those of `among`.
  struct Late {
    std::shared_ptr<const Intent> intent;
    std::uint64_t number = 0;
    std::size_t size = 0;  // ranks of the group
    std::vector<int> ranks;  // in the run
  };
  std::optional<Late> late(const std::vector<int>* among = nullptr) const;
  /// The collective that was queued last, or null.
  std::shared_ptr<const Intent> last() const;

 private:
  static constexpr std::size_t kKept = 1024;  // newest entries that are kept
  struct Entry {
    std::uint64_t hash = 0;
    std::shared_ptr<const Intent> intent;
  };
  struct List {
    Ranks ranks;
    std::uint64_t number = 0, hash = 0x9e3779b97f4a7c15, told = 0;
    std::uint64_t asked = 0, confirmed = 0;
    std::vector<Entry> entries{kKept};
    std::map<int, std::uint64_t> reached;  // by the others, as far as they said
  };
  static LedgerNote newest(const Channel& channel, const List& list);

  mutable std::mutex mutex_;
  std::map<Channel, List> lists_;
  std::vector<Outgoing> outgoing_;
  struct Waiting {
    int from;
    LedgerNote note;
  };
  std::vector<Waiting> waiting_;
  std::shared_ptr<const Intent> last_;
};

}  // namespace tegula::dist
