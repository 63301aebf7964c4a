#include "tegula/dist/transport/mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tegula/core/code_file.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/dist/transport/mpi/functions.h"

namespace tegula::dist {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr double kOnItsWay = 0.1;  // seconds for the arrival of data sent before a rank stopped

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // bytes of one message: MPI counts in int

/// Loads MPI's functions from TEGULA_MPI_LIBRARY, beside the library or the program, or where the loader looks.
const MpiFunctions& load() {
  const std::string own = code_file(reinterpret_cast<const void*>(&load));
  const std::string folder = own.substr(0, own.rfind('/') + 1);
  std::vector<std::string> names;
  if (const char* named = std::getenv("TEGULA_MPI_LIBRARY"); named && *named) names.emplace_back(named);
  else names = {folder + "libtegula_mpi.so", folder + "../libtegula_mpi.so", folder + "../lib/libtegula_mpi.so", "libtegula_mpi.so"};
  std::string why;
  for (const std::string& name : names) {
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);  // MPI loads parts of its own, which look for its symbols
    if (!handle) {
      why = ::dlerror();
      continue;
    }
    const auto functions = reinterpret_cast<const MpiFunctions* (*)()>(::dlsym(handle, "tegula_mpi_functions"));
    if (functions && functions()->version == kMpiInterface) return *functions();
    why = name + " is of another version of Tegula";
  }
  throw Error({.op = "dist",
               .got = "ranks of mpirun, and no libtegula_mpi.so (" + why + ")",
               .expected = "it beside the library, or in TEGULA_MPI_LIBRARY: it is built where CMake finds MPI",
               .advice = "install libopenmpi-dev and build again, or let the ranks meet over sockets: TEGULA_RENDEZVOUS=host:port"});
}

class MpiTransport final : public Transport {
 public:
  MpiTransport(const MpiFunctions& mpi, const RankSettings& settings) : mpi_(mpi), timeout_(settings.timeout) {
    if (const char* const failure = mpi_.start(&rank_, &size_))
      throw Error({.op = "dist", .got = failure, .expected = "mpirun to have started this rank"});
    if (rank_ != settings.rank || size_ != settings.size) {
      throw Error({.op = "dist",
                   .got = "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " by MPI, rank " +
                          std::to_string(settings.rank) + " of " + std::to_string(settings.size) + " by the environment",
                   .expected = "the same",
                   .advice = "libtegula_mpi.so was built for another MPI than this mpirun's"});
    }
  }
  ~MpiTransport() override { finish(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "MPI"; }

  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in, const Doing& doing) override {
    while (!out.empty() || !in.empty()) {
      const std::size_t going = std::min(out.size(), kMostBytes), coming = std::min(in.size(), kMostBytes);
      void* arrives = coming > 0 ? receive(from, in.data(), coming, 0) : nullptr;
      void* leaves = going > 0 ? send(to, out.data(), going, 0) : nullptr;
      const auto begin = Clock::now();
      for (int turn = 0; arrives || leaves; ++turn) {
        if (arrives && is_done(arrives)) arrives = nullptr;
        if (leaves && is_done(leaves)) leaves = nullptr;
        if (turn % 64 != 63) continue;
        // Data sent before the stop is read first: an exchange that the others have finished also finishes here.
        hear();
        if (!arrives || since_stop() > kOnItsWay) throw_stop(doing);
        if (since(begin) > timeout_) missing(arrives ? from : to, doing);
        if (since(begin) > 2e-4) std::this_thread::sleep_for(std::chrono::microseconds(50));  // the processor may be another rank's
      }
      out = out.subspan(going), in = in.subspan(coming);
    }
  }

  // MPI serves one thread at a time: who exchanges or listens carries them.
  void tell(int to, std::string bytes) override {
    const std::lock_guard lock(notes_mutex_);
    leaving_.push_back(std::make_unique<Leaving>(Leaving{to, std::move(bytes), nullptr}));
  }

  std::vector<Note> notes() override {
    const std::lock_guard lock(notes_mutex_);
    return std::exchange(come_, {});
  }

  std::vector<int> listen(const Doing& doing) override {
    hear();
    throw_stop(doing);
    return {};
  }

  double timeout() const override { return timeout_; }

  void finish() noexcept override {
    if (!stopped_.exchange(true)) mpi_.finish();  // a run that failed has messages in flight, and others that will not come
  }

  void stop(const std::string& sentence) noexcept override {
    if (stopped_.exchange(true)) return;
    sentence_ = sentence;
    std::vector<void*> words;
    for (int r = 0; r < size_; ++r) {
      if (r != rank_) words.push_back(send(r, sentence_.data(), sentence_.size(), 1));
    }
    for (const auto begin = Clock::now(); since(begin) < 1;) {
      std::erase_if(words, [&](void* word) { return is_done(word); });
      if (words.empty()) return;
    }
  }

 private:
  // One thread at a time is what MPI was asked for: stop() may be another one's, while a collective is under way.
  void* send(int to, const void* bytes, std::size_t count, int channel) {
    const std::lock_guard lock(calls_);
    return mpi_.send(to, bytes, count, channel);
  }
  void* receive(int from, void* bytes, std::size_t count, int channel) {
    const std::lock_guard lock(calls_);
    return mpi_.receive(from, bytes, count, channel);
  }
  bool is_done(void* request) {
    const std::lock_guard lock(calls_);
    return mpi_.is_done(request);
  }
  bool waits(int channel, int* from, std::size_t* count) {
    const std::lock_guard lock(calls_);
    return mpi_.waits(channel, from, count);
  }

  struct Leaving {
    int to;
    std::string bytes;
    void* request;
  };

  void carry_notes() {
    const std::lock_guard lock(notes_mutex_);
    std::erase_if(leaving_, [&](const auto& note) {
      if (!note->request) note->request = send(note->to, note->bytes.data(), note->bytes.size(), 2);
      return is_done(note->request);
    });
    std::size_t count = 0;
    for (int from = 0; waits(2, &from, &count);) {
      Note& note = come_.emplace_back(Note{from, std::string(count, ' ')});
      for (void* word = receive(from, note.bytes.data(), count, 2); !is_done(word);) {}
    }
  }

  /// Reads the messages that have come beside the data.
  void hear() {
    carry_notes();
    const std::lock_guard lock(heard_mutex_);
    int from = 0;
    std::size_t count = 0;
    if (heard_ || !waits(1, &from, &count)) return;
    std::string sentence(count, ' ');
    for (void* word = receive(from, sentence.data(), count, 1); !is_done(word);) {}
    heard_ = {Clock::now(), std::move(sentence)};
  }
  /// 0 while none was heard of.
  double since_stop() {
    const std::lock_guard lock(heard_mutex_);
    return heard_ ? since(heard_->when) : 0;
  }
  /// Nothing where none was heard of.
  void throw_stop(const Doing& doing) {
    const std::lock_guard lock(heard_mutex_);
    if (!heard_) return;
    stopped_ = true;
    throw PeerError({.op = doing.text(), .got = "a run that has stopped: " + heard_->sentence, .where = doing.where});
  }

  [[noreturn]] void missing(int rank, const Doing& doing) {
    const std::string seconds = " within " + number_text(timeout_) + " s (TEGULA_TIMEOUT)";
    const std::string place = to_string(doing.where);
    const std::string what = "rank " + std::to_string(rank) + " did not come to " + doing.text() + (place.empty() ? "" : " at " + place) +
                             seconds + ", or waits for another one that did not";
    stop(what);
    throw PeerError(
        {.op = doing.text(), .got = what, .expected = "all ranks of the group to do the same collectives", .where = doing.where});
  }

  const MpiFunctions& mpi_;
  std::mutex calls_;
  int rank_ = 0, size_ = 1;
  double timeout_;
  std::string sentence_;
  std::mutex notes_mutex_;  // protects leaving_ and come_
  std::vector<std::unique_ptr<Leaving>> leaving_;
  std::vector<Note> come_;
  struct Heard {
    Clock::time_point when;
    std::string sentence;
  };
  std::mutex heard_mutex_;
  std::optional<Heard> heard_;  // from a rank that has stopped
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::shared_ptr<Transport> mpi_transport(const RankSettings& settings) { return std::make_shared<MpiTransport>(load(), settings); }

}  // namespace tegula::dist
