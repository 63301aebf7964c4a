#include "tegula/dist/transport/sockets.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>

#include "tegula/core/text.h"

namespace tegula::dist {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A message on a control socket: a byte for its kind, the length of the text (u32), the text.
enum class Word : unsigned char { Stopped, Waiting, Goodbye, Note };
constexpr std::size_t kHead = 5;
constexpr std::size_t kMostText = 1 << 16;
constexpr double kGrace = 2;  // seconds in which the others answer, or a sentence may still arrive behind the end of another rank

void make_nonblocking(const Descriptor& socket) { ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL, 0) | O_NONBLOCK); }

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

/// The state of another rank.
struct Peer {
  Link link;
  std::string inbox;       // control words received so far
  std::string outbox;      // control words not sent yet
  bool ended = false;      // its sockets are closed
  bool finished = false;   // it said so before
  bool stopped = false;    // it gave up,
  std::string sentence;    // for this reason
  std::string waits_for;   // the collective it waits in, once it was asked
};

class SocketTransport final : public Transport {
 public:
  SocketTransport(int rank, std::vector<Link> links, double timeout) : rank_(rank), peers_(links.size()), timeout_(timeout) {
    for (std::size_t r = 0; r < links.size(); ++r) {
      peers_[r].link = std::move(links[r]);
      if (static_cast<int>(r) == rank) continue;
      make_nonblocking(peers_[r].link.data);
      make_nonblocking(peers_[r].link.control);
    }
  }
  ~SocketTransport() override { finish(); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  std::string name() const override { return "sockets"; }

  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in, const Doing& doing) override {
    if (!broken_.empty()) fail(doing, broken_);
    asked_ = false;
    auto moved = Clock::now();
    while (!out.empty() || !in.empty()) {
      bool any = false;
      if (!out.empty()) {
        const ssize_t count = ::send(peer(to).link.data.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) out = out.subspan(static_cast<std::size_t>(count)), any = true;
        else if (count < 0 && errno != EAGAIN && errno != EINTR) lost(to, doing);
      }
      if (!in.empty()) {
        const ssize_t count = ::recv(peer(from).link.data.get(), in.data(), in.size(), MSG_DONTWAIT);
        if (count > 0) in = in.subspan(static_cast<std::size_t>(count)), any = true;
        else if (count == 0 || (errno != EAGAIN && errno != EINTR)) lost(from, doing);
      }
      if (any) {
        moved = Clock::now();
        continue;
      }
      wait(out.empty() ? -1 : to, in.empty() ? -1 : from, doing);
      if (since(moved) > timeout_) missing(out.empty() ? from : to, doing);
    }
  }

  void tell(int to, std::string bytes) override { say(peer(to), Word::Note, bytes); }

  std::vector<Note> notes() override {
    const std::lock_guard lock(control_);
    return std::exchange(notes_, {});
  }

  std::vector<int> listen(const Doing& doing) override {
    if (!broken_.empty()) fail(doing, broken_);
    if (gave_up_) fail(doing, "a run that this rank has stopped");
    asked_ = true;  // no answer to questions: this rank waits in no exchange
    take_all(doing);
    std::vector<int> finished;
    for (int r = 0; r < size(); ++r) {
      if (r != rank_ && peer(r).ended && !peer(r).finished) lost(r, doing);
      if (peer(r).finished) finished.push_back(r);
    }
    return finished;
  }

  double timeout() const override { return timeout_; }

  void stop(const std::string& sentence) noexcept override {
    if (told_.exchange(true)) return;
    gave_up_ = true;
    tell_all(Word::Stopped, sentence);
  }

  void finish() noexcept override {
    if (!told_.exchange(true)) tell_all(Word::Goodbye, "");
  }

 private:
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  // Until something can move, a word comes, or a second has passed.
  void wait(int to, int from, const Doing& doing) {
    std::vector<pollfd>& polled = polled_;
    polled.clear();
    if (to >= 0) polled.push_back({peer(to).link.data.get(), POLLOUT, 0});
    if (from >= 0) polled.push_back({peer(from).link.data.get(), POLLIN, 0});
    for (const Peer& other : peers_) {
      if (other.link.control && !other.ended) polled.push_back({other.link.control.get(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), 1000);
    take_all(doing, from);
    for (int r = 0; r < size(); ++r) {
      // These two may have sent data before they ended, which is still to be read; the end of their data shows that.
      if (r == rank_ || r == from || r == to) continue;
      if (peer(r).ended && !peer(r).finished) lost(r, doing);
    }
  }

  /// True if bytes from the rank can be read.
  bool has_sent(int rank) {
    pollfd data{peer(rank).link.data.get(), POLLIN, 0};
    char byte;
    return ::poll(&data, 1, 0) == 1 && ::recv(data.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }

  // Takes what the control sockets have. Throws where a rank has stopped; but what it sent ahead of that, while this one waits for it, is read first:
  // an exchange that the others have ended ends here as well.
  void take_all(const Doing& doing, int from = -1) {
    bool asked = false;
    for (Peer& other : peers_) {
      if (!other.link.control || other.ended) continue;
      char bytes[4096];
      ssize_t count = 0;
      while ((count = ::recv(other.link.control.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        other.inbox.append(bytes, static_cast<std::size_t>(count));
      if (count == 0 || (errno != EAGAIN && errno != EINTR)) other.ended = true;
      asked |= take_words(other);
    }
    for (int r = 0; r < size(); ++r) {
      if (peer(r).stopped && (from < 0 || !has_sent(from))) stopped(r, doing);
    }
    {
      const std::lock_guard lock(control_);
      for (Peer& other : peers_) flush(other);
    }
    if (asked && !asked_) {  // a rank that waits in vain asks which ranks wait, too
      asked_ = true;
      tell_all(Word::Waiting, doing_text(doing));
    }
  }

  /// True when the rank says that it waits.
  bool take_words(Peer& other) {
    bool waits = false;
    std::uint32_t length = 0;
    while (other.inbox.size() >= kHead) {
      std::memcpy(&length, other.inbox.data() + 1, sizeof length);
      if (length > kMostText) {
        other.ended = true;
        return waits;
      }
      if (other.inbox.size() < kHead + length) return waits;
      std::string text = other.inbox.substr(kHead, length);
      switch (static_cast<Word>(other.inbox[0])) {
        case Word::Stopped: other.stopped = true, other.sentence = std::move(text); break;
        case Word::Waiting: other.waits_for = std::move(text), waits = true; break;
        case Word::Goodbye: other.finished = true; break;
        case Word::Note: {
          const std::lock_guard lock(control_);
          notes_.push_back({static_cast<int>(&other - peers_.data()), std::move(text)});
          break;
        }
      }
      other.inbox.erase(0, kHead + length);
    }
    return waits;
  }

  void tell_all(Word word, const std::string& sentence) noexcept {
    for (Peer& other : peers_) {
      try {
        say(other, word, sentence);
      } catch (...) {  // no memory for the sentence: they see that this rank has gone
      }
    }
  }

  void say(Peer& other, Word word, const std::string& text) {
    if (!other.link.control) return;
    const auto length = static_cast<std::uint32_t>(std::min(text.size(), kMostText));
    char head[kHead] = {static_cast<char>(word)};
    std::memcpy(head + 1, &length, sizeof length);
    const std::lock_guard lock(control_);
    other.outbox.append(head, kHead).append(text, 0, length);
    flush(other);
  }

  // Sends as much as the socket takes; a rank that has ended does not read.
  static void flush(Peer& other) {
    while (!other.outbox.empty()) {
      const ssize_t count = ::send(other.link.control.get(), other.outbox.data(), other.outbox.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count <= 0) return;
      other.outbox.erase(0, static_cast<std::size_t>(count));
    }
  }

  static std::string doing_text(const Doing& doing) {
    const std::string place = to_string(doing.where);
    return doing.text() + (place.empty() ? "" : " at " + place);
  }

  [[noreturn]] void fail(const Doing& doing, const std::string& what, const std::string& expected = "") {
    broken_ = what;
    throw PeerError({.op = doing.text(), .got = what, .expected = expected, .where = doing.where});
  }

  [[noreturn]] void stopped(int rank, const Doing& doing) {
    const std::string sentence = peer(rank).sentence;
    stop(sentence);  // those that did not hear it from the first one
    fail(doing, "a run that has stopped: " + sentence);
  }

  // The rank's sockets are closed. Perhaps it ended because another one stopped: that sentence says more.
  [[noreturn]] void lost(int rank, const Doing& doing) {
    for (const auto begin = Clock::now(); since(begin) < (peer(rank).finished ? 0.2 : kGrace);) {
      take_all(doing);
      std::vector<pollfd> polled;
      for (const Peer& other : peers_) {
        if (other.link.control && !other.ended) polled.push_back({other.link.control.get(), POLLIN, 0});
      }
      if (polled.empty()) break;
      ::poll(polled.data(), polled.size(), 50);
    }
    take_all(doing);
    const std::string who = "rank " + std::to_string(rank);
    const std::string what =
        peer(rank).finished
            ? who + " has finished, while rank " + std::to_string(rank_) + " waits in " + doing_text(doing)
            : who + " has ended without a word (killed?), while rank " + std::to_string(rank_) + " waits in " + doing_text(doing);
    stop(what);
    fail(doing, what, "all ranks of the group to do the same collectives");
  }

  // Nothing has moved for too long: a rank that is not in a collective either is the missing one.
  [[noreturn]] void missing(int rank, const Doing& doing) {
    asked_ = true;
    tell_all(Word::Waiting, doing_text(doing));
    const auto silent = [&] {
      std::vector<int> ranks;
      for (int r = 0; r < size(); ++r) {
        if (r != rank_ && peer(r).waits_for.empty()) ranks.push_back(r);
      }
      return ranks;
    };
    for (const auto begin = Clock::now(); since(begin) < kGrace && !silent().empty();) {
      std::vector<pollfd> polled;
      for (const Peer& other : peers_) {
        if (other.link.control && !other.ended) polled.push_back({other.link.control.get(), POLLIN, 0});
      }
      ::poll(polled.data(), polled.size(), 50);
      take_all(doing);
    }
    std::string what;
    if (const auto ranks = silent(); !ranks.empty()) {
      what = list_of(ranks) + " did not come to " + doing_text(doing);
    } else {  // all wait, for each other
      what = "all ranks wait for each other: rank " + std::to_string(rank_) + " in " + doing_text(doing);
      for (int r = 0; r < size(); ++r) {
        if (r == rank || peers_.size() <= 4) what += r == rank_ ? "" : ", rank " + std::to_string(r) + " in " + peer(r).waits_for;
      }
    }
    what += " within " + number_text(timeout_) + " s (TEGULA_TIMEOUT)";
    stop(what);
    fail(doing, what, "all ranks of the group to do the same collectives");
  }

  int rank_;
  std::vector<Peer> peers_;
  double timeout_;
  std::vector<pollfd> polled_;
  std::string broken_;  // why nothing can be exchanged any more
  bool asked_ = false;  // the others know the collective in which this rank waits
  std::mutex control_;  // protects outboxes and notes_
  std::vector<Note> notes_;  // not fetched yet
  std::atomic<bool> told_{false};  // that this rank has stopped, or finished
  std::atomic<bool> gave_up_{false};
};

}  // namespace

std::unique_ptr<Transport> socket_transport(int rank, std::vector<Link> links, double timeout) {
  return std::make_unique<SocketTransport>(rank, std::move(links), timeout);
}

std::vector<std::unique_ptr<Transport>> local_transports(int size, double timeout) {
  std::vector<std::vector<Link>> links(static_cast<std::size_t>(size));
  for (auto& of_rank : links) of_rank.resize(static_cast<std::size_t>(size));
  for (std::size_t a = 0; a < links.size(); ++a) {
    for (std::size_t b = a + 1; b < links.size(); ++b) {
      for (Descriptor Link::* side : {&Link::data, &Link::control}) {
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
          throw Error({.op = "dist", .got = std::string("socketpair: ") + std::strerror(errno), .advice = "close other programs or files"});
        }
        links[a][b].*side = Descriptor(pair[0]);
        links[b][a].*side = Descriptor(pair[1]);
      }
    }
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < size; ++r) transports.push_back(socket_transport(r, std::move(links[static_cast<std::size_t>(r)]), timeout));
  return transports;
}

}  // namespace tegula::dist
