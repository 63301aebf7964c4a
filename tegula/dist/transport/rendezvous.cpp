#include "tegula/dist/transport/rendezvous.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <list>
#include <span>
#include <thread>
#include <vector>

#include "tegula/core/json.h"
#include "tegula/dist/transport/endpoint.h"
#include "tegula/dist/transport/sockets.h"

namespace tegula::dist {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kVersion = 1;  // version of the ranks' protocol
constexpr double kPatienceWithOne = 10;  // seconds in which a client must identify itself
constexpr std::uint32_t kMostHello = 1 << 14;  // bytes
constexpr std::size_t kMostGuests = 256;  // bound on clients that connect and send nothing: they must not use up the process's descriptors

// Lower case, two digits a byte.
std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string drawn() {
  std::array<unsigned char, 32> bytes;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return hex(bytes);
}

// HMAC-SHA256 (RFC 2104, FIPS 180-4).
std::string seal(const std::string& secret, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           digest.data(), &size) == nullptr) {
    throw Error({.op = "dist", .got = "no SHA-256 from OpenSSL's libcrypto", .expected = "a library that has it"});
  }
  return hex({digest.data(), size});
}

// In a time that does not depend on where they differ.
bool same(const std::string& a, const std::string& b) { return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

/// A rank's first message after connecting.
struct Hello {
  int rank = -1, size = 0, channel = 0;  // channel 0: data, 1: control
  std::string address;  // address at which it listens itself
};

std::string sealed_part(const Hello& hello, const std::string& theirs, const std::string& ours) {
  return "client " + theirs + " " + ours + " " + std::to_string(hello.rank) + " " + std::to_string(hello.size) + " " +
         std::to_string(hello.channel) + " " + hello.address;
}

[[noreturn]] void fail(const Meeting& meeting, const std::string& got, const std::string& expected, const std::string& advice = "") {
  throw Error({.op = "dist: rank " + std::to_string(meeting.rank) + " of " + std::to_string(meeting.size),
               .got = got,
               .expected = expected,
               .advice = advice});
}

std::string names(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

class Meet {
 public:
  explicit Meet(const Meeting& meeting) : meeting_(meeting), links_(static_cast<std::size_t>(meeting.size)) {}

  std::vector<Link> run() {
    std::vector<std::string> addresses(links_.size());
    if (meeting_.rank == 0) {
      const Listener listener = listen_at(meeting_.address);
      take_in(listener, addresses, 0);
      const std::string table = json(addresses).dump();
      for (std::size_t r = 1; r < links_.size(); ++r) send_message(links_[r].control, table);
      return std::move(links_);
    }
    // The address to listen at is known once rank 0 is reached; the second connection sends it.
    Hello hello{.rank = meeting_.rank, .size = meeting_.size};
    links_[0].data = reach(meeting_.address, 0, hello);
    const Listener listener =
        listen_beside(links_[0].data, meeting_.address.substr(meeting_.address.find(':') + 1) + "." + std::to_string(meeting_.rank));
    hello.channel = 1;
    hello.address = listener.address;
    links_[0].control = reach(meeting_.address, 0, hello);
    std::string table;
    if (!receive_message(links_[0].control, table, left() + 5)) {
      fail(meeting_, "no word from rank 0, at " + meeting_.address, "the addresses of all ranks",
           "look at what rank 0 said: other ranks did not come, or have another secret or number of ranks");
    }
    const json told = try_parse_json(table);
    if (!told.is_array() || told.size() != links_.size()) fail(meeting_, "a list of addresses that is none", "what rank 0 sends");
    for (int r = 1; r < meeting_.rank; ++r) {
      for (const int channel : {0, 1}) {
        hello.channel = channel;
        (channel == 0 ? links_[static_cast<std::size_t>(r)].data : links_[static_cast<std::size_t>(r)].control) =
            reach(told[static_cast<std::size_t>(r)].get<std::string>(), r, hello);
      }
    }
    take_in(listener, addresses, meeting_.rank);
    return std::move(links_);
  }

 private:
  double left() const { return meeting_.patience - std::chrono::duration<double>(Clock::now() - begin_).count(); }

  // Connects, and proves to know the secret.
  Descriptor reach(const std::string& address, int to, const Hello& hello) {
    Descriptor socket;
    while (!(socket = try_connect(address))) {
      if (left() <= 0) {
        fail(meeting_, "nobody at " + address + " within " + std::to_string(static_cast<int>(meeting_.patience)) + " s",
             "rank " + std::to_string(to) + " to listen there",
             "this rank is too late, the run has begun or ended without it; or rank " + std::to_string(to) + " was never started");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const std::string gone = "rank " + std::to_string(to) + " to answer at " + address;
    std::string text;
    if (!receive_message(socket, text, std::max(10.0, left()))) fail(meeting_, "no greeting", gone);
    const json greeting = try_parse_json(text);
    if (!greeting.is_object() || greeting.value("tegula", 0) != kVersion || !greeting.contains("number")) {
      fail(meeting_, "another program, or another version of Tegula, at " + address, "rank " + std::to_string(to) + " of this run");
    }
    const std::string theirs = greeting.value("number", ""), ours = drawn();
    send_message(socket, json{{"rank", hello.rank},
                              {"size", hello.size},
                              {"channel", hello.channel},
                              {"address", hello.address},
                              {"number", ours},
                              {"seal", seal(meeting_.secret, sealed_part(hello, theirs, ours))}}
                             .dump());
    if (!receive_message(socket, text, std::max(10.0, left()))) fail(meeting_, "no answer", gone);
    const json answer = try_parse_json(text);
    if (!answer.is_object()) fail(meeting_, "an answer that is none", gone);
    if (answer.contains("refused")) {
      fail(meeting_, "rank " + std::to_string(to) + " at " + address + " says: " + answer.value("refused", ""), "to be let in",
           "give all ranks the same TEGULA_SECRET and TEGULA_SIZE, and each its own TEGULA_RANK");
    }
    if (!same(answer.value("seal", ""), seal(meeting_.secret, "server " + ours)))
      fail(meeting_, "a program at " + address + " that does not know the secret", gone, "give all ranks the same TEGULA_SECRET");
    return socket;
  }

  // A client that has connected and not identified itself.
  struct Guest {
    Descriptor socket;
    std::string number;  // that it was greeted with
    ArrivingMessage said{kMostHello};
    Clock::time_point since = Clock::now();
  };

  std::vector<int> missing_behind(int self) const {
    std::vector<int> ranks;
    for (int r = self + 1; r < meeting_.size; ++r) {
      const Link& link = links_[static_cast<std::size_t>(r)];
      if (!link.data || !link.control) ranks.push_back(r);
    }
    return ranks;
  }

  // Waits for the ranks after `self`, twice each. All clients are read concurrently, so that a silent one delays nobody.
  void take_in(const Listener& listener, std::vector<std::string>& addresses, int self) {
    const Clock::time_point begin = Clock::now();
    const double patience =
        self == 0 ? left() : std::max(left(), kPatienceWithOne);  // all later ranks are known to have come to rank 0 before
    std::string refused;
    std::list<Guest> guests;
    while (!missing_behind(self).empty()) {
      const double rest = patience - std::chrono::duration<double>(Clock::now() - begin).count();
      std::vector<pollfd> polled{{listener.socket.get(), POLLIN, 0}};
      for (const Guest& guest : guests) polled.push_back({guest.socket.get(), POLLIN, 0});
      ::poll(polled.data(), polled.size(), static_cast<int>(std::clamp(rest, 0.0, 0.2) * 1e3));
      std::size_t at = 1;
      for (auto guest = guests.begin(); guest != guests.end(); ++at) {
        using State = ArrivingMessage::State;
        const State state = polled[at].revents != 0 ? guest->said.take(guest->socket) : State::Partial;
        const bool too_long = std::chrono::duration<double>(Clock::now() - guest->since).count() > kPatienceWithOne;
        if (state == State::Partial && !too_long) {
          ++guest;
          continue;
        }
        const std::string why = state == State::Whole ? let_in(*guest, addresses, self) : "it said nothing";
        if (!why.empty()) refused = why;
        guest = guests.erase(guest);
      }
      if (polled[0].revents != 0) {
        if (Descriptor socket = accept_within(listener, 0)) greet(std::move(socket), guests);
        else std::this_thread::sleep_for(std::chrono::milliseconds(20));  // no descriptor is free
      }
      if (rest <= 0 && !missing_behind(self).empty()) {
        fail(meeting_,
             names(missing_behind(self)) + " did not come to " + listener.address + " within " +
                 std::to_string(static_cast<int>(meeting_.patience)) + " s" + (refused.empty() ? "" : "; one was sent away: " + refused),
             std::to_string(meeting_.size) + " ranks", "see why they did not start, or give them longer (TEGULA_PATIENCE)");
      }
    }
  }

  static void greet(Descriptor socket, std::list<Guest>& guests) {
    const std::string number = drawn();
    if (!send_message(socket, json{{"tegula", kVersion}, {"number", number}}.dump())) return;
    if (guests.size() == kMostGuests) guests.pop_front();
    guests.push_back({.socket = std::move(socket), .number = number});
  }

  // Why it was sent away, or nothing.
  std::string let_in(Guest& guest, std::vector<std::string>& addresses, int self) {
    Descriptor& socket = guest.socket;
    const std::string& ours = guest.number;
    const json said = try_parse_json(guest.said.text());
    const auto refuse = [&](const std::string& why) {
      send_message(socket, json{{"refused", why}}.dump());
      return why;
    };
    if (!said.is_object()) return refuse("no rank of Tegula");
    Hello hello;
    std::string theirs, sealed;
    try {
      hello = {.rank = said.at("rank"), .size = said.at("size"), .channel = said.at("channel"), .address = said.at("address")};
      theirs = said.at("number"), sealed = said.at("seal");
    } catch (const json::exception&) { return refuse("no rank of Tegula"); }
    if (!same(sealed, seal(meeting_.secret, sealed_part(hello, ours, theirs)))) return refuse("its secret is another one than this run's");
    // From here on it belongs to the run, and an error ends both.
    if (hello.size != meeting_.size) {
      const std::string why = "rank " + std::to_string(hello.rank) + " was started as one of " + std::to_string(hello.size) +
                              " ranks, rank " + std::to_string(self) + " as one of " + std::to_string(meeting_.size);
      refuse(why);
      fail(meeting_, why, "the same number of ranks everywhere", "start all ranks with the same TEGULA_SIZE");
    }
    const bool possible = hello.rank > self && hello.rank < meeting_.size && (hello.channel == 0 || hello.channel == 1);
    Link unused;
    Link& link = possible ? links_[static_cast<std::size_t>(hello.rank)] : unused;
    Descriptor& place = hello.channel == 0 ? link.data : link.control;
    if (!possible || place) {
      const std::string why = "rank " + std::to_string(hello.rank) + (possible ? " is there already" : " does not exist here");
      refuse(why);
      fail(meeting_, "two programs that say they are rank " + std::to_string(hello.rank), "each rank once",
           "give each its own TEGULA_RANK");
    }
    if (!send_message(socket, json{{"seal", seal(meeting_.secret, "server " + theirs)}}.dump())) return "it went away";
    if (hello.channel == 1) addresses[static_cast<std::size_t>(hello.rank)] = hello.address;
    place = std::move(socket);
    return "";
  }

  const Meeting& meeting_;
  const Clock::time_point begin_ = Clock::now();
  std::vector<Link> links_;
};

}  // namespace

std::unique_ptr<Transport> meet(const Meeting& meeting) {
  if (meeting.size < 1 || meeting.rank < 0 || meeting.rank >= meeting.size) {
    throw Error({.op = "dist",
                 .got = "rank " + std::to_string(meeting.rank) + " of " + std::to_string(meeting.size),
                 .expected = "ranks from 0 on, below their number"});
  }
  try {
    return socket_transport(meeting.rank, meeting.size == 1 ? std::vector<Link>(1) : Meet(meeting).run(), meeting.timeout);
  } catch (const json::exception& error) {
    fail(meeting, std::string("an answer that makes no sense: ") + error.what(), "ranks of this run at " + meeting.address);
  }
}

}  // namespace tegula::dist
