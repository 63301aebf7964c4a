#include "tegula/dist/engines/engines.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <span>
#include <string>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/dist/engines/engine_choice.h"
#include "tegula/dist/exchange/exchange.h"

namespace tegula::dist {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
std::int64_t now() { return Clock::now().time_since_epoch().count(); }
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr auto kTick = milliseconds(20), kShortTick = milliseconds(1);
constexpr double kStatusSeconds = 0.5;
/// A device may take long for work that all ranks have queued; four times the timeout is too long.
constexpr double kPatience = 4;

runtime::Communicates* engine_of(runtime::Device& device) { return device.communicates(); }

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

/// "all_reduce of f32 (4,), number 2 of the group of 3 at a.cpp:12".
std::string text_of(const Ledger::Late& late) {
  const std::string place = to_string(late.intent->where);
  return late.intent->text + ", number " + std::to_string(late.number) + " of the group of " + std::to_string(late.size) +
         (place.empty() ? "" : " at " + place);
}

Error error_of(const Ledger::Late& late, const std::string& got) {
  return Error(
      {.op = late.intent->text, .got = got, .expected = "all ranks of the group to do the same collectives", .where = late.intent->where});
}

/// The list that an intent belongs to.
Channel channel_of(const Group& group, const Intent& intent) {
  const Header& header = intent.header;
  Channel channel{.members = header.members};
  if (header.kind == Kind::Send || header.kind == Kind::Receive) {
    const int other = group.state()->ranks[static_cast<std::size_t>(header.root)];
    channel.from = header.kind == Kind::Send ? header.sender : other;
    channel.to = header.kind == Kind::Send ? other : header.sender;
  }
  return channel;
}

}  // namespace

Engines& Engines::of(World& world) {
  const std::lock_guard lock(world.naming);
  if (!world.engines) world.engines = std::make_unique<Engines>(world);
  return static_cast<Engines&>(*world.engines);  // the only kind there is
}

std::shared_ptr<runtime::Communicator> Engines::communicator(const Group& group, runtime::Device& device, const Line& where) {
  const Key key{group.state()->ranks, device.number()};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = communicators_.find(key); found != communicators_.end()) return found->second;
  }
  std::shared_ptr<runtime::Communicator> made = make(group, device, where);
  const std::lock_guard lock(mutex_);
  communicators_[key] = made;
  if (!made) return nullptr;
  if (std::ranges::find(devices_, engine_of(device)) == devices_.end()) {
    devices_.push_back(engine_of(device));
    engine_of(device)->confirm_by([this] { confirm(); });
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  return made;
}

std::shared_ptr<runtime::Communicator> Engines::make(const Group& group, runtime::Device& device, const Line& where) {
  const Wish wish = wish_of_environment();
  if (wish == Wish::None || (wish == Wish::Own && !engine_of(device))) return nullptr;
  device.synchronize();  // exchanges that are still queued come first
  const auto size = static_cast<std::size_t>(group.size());
  const Candidate mine = candidate(group.state()->ranks[static_cast<std::size_t>(group.rank())], wish, engine_of(device));
  std::vector<Candidate> all(size);
  carry_out(group, {Kind::AllGather, DType::u8, {static_cast<std::int64_t>(sizeof mine)}}, &mine, all.data(), nullptr, where);
  if (const std::string why = objection(all); !why.empty()) {
    if (!must(all)) return nullptr;
    throw Error({.op = "nccl",
                 .got = why,
                 .expected = "NCCL, the same one, and a GPU of its own for each rank, as TEGULA_ENGINE=nccl demands",
                 .advice = "without that variable the host exchanges what is on GPUs",
                 .where = where});
  }
  runtime::Communicates::Id id{};
  if (group.rank() == 0) id = engine_of(device)->draw_id();
  const runtime::Communicates::Id drawn = id;
  carry_out(group, {Kind::Broadcast, DType::u8, {static_cast<std::int64_t>(sizeof id)}}, drawn.data(), id.data(), nullptr, where);
  return join(group, *engine_of(device), id, where);
}

// On a thread of its own: where a rank ends meanwhile, NCCL may wait for it for ever.
std::shared_ptr<runtime::Communicator> Engines::join(const Group& group, runtime::Communicates& device, const runtime::Communicates::Id& id,
                                                     const Line& where) {
  std::promise<std::shared_ptr<runtime::Communicator>> promise;
  auto joined = promise.get_future();
  std::thread([&device, id, rank = group.rank(), size = group.size(), promise = std::move(promise)]() mutable {
    try {
      promise.set_value(device.join(id, rank, size));
    } catch (...) { promise.set_exception(std::current_exception()); }
  }).detach();
  const Doing waiting{[&] { return "the group of " + std::to_string(group.size()) + " meeting by " + device.engine(); }, where};
  for (const auto begin = Clock::now(); joined.wait_for(kTick) != std::future_status::ready;) {
    const std::lock_guard lock(world_.exchanging);
    listen(waiting);
    if (since(begin) < world_.transport->timeout()) continue;
    const std::string got = waiting.text() + " within " + number_text(world_.transport->timeout()) + " s (TEGULA_TIMEOUT)";
    world_.transport->stop(got);
    throw Error(
        {.op = "nccl", .got = got, .expected = "all ranks to come", .advice = "NCCL_DEBUG=INFO says what it waits for", .where = where});
  }
  try {
    return joined.get();
  } catch (const Error& error) {
    Report report = error.report();
    report.where = where;
    throw Error(std::move(report));
  }
}

void Engines::require() const {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  std::rethrow_exception(failure_);
}

void Engines::queue(const Group& group, runtime::Device& device, const std::shared_ptr<const Intent>& intent) {
  require();
  const Channel channel = channel_of(group, *intent);
  const std::vector<int>& ranks = group.state()->ranks;
  const bool recorded = engine_of(device)->ahead_of_replays([this, group, channel, &ranks, intent] {
    require();
    ledger_.add(channel, ranks, intent, Ledger::Telling::WithStatus);
  });
  if (recorded) return;
  ledger_.add(channel, ranks, intent, Ledger::Telling::AtOnce);
  woken_.notify_one();
}

void Engines::confirm() {
  const auto begin = Clock::now();
  for (int turn = 0; ledger_.awaits(); ++turn) {
    require();
    try {
      look(false);
      if (since(begin) > world_.transport->timeout()) {
        const Doing last = doing();
        throw Error({.op = last.text(), .got = "no word from the next rank, which should have queued the same", .where = last.where});
      }
    } catch (...) { give_up(std::current_exception()); }
    std::this_thread::sleep_for(std::chrono::microseconds(turn < 20 ? 20 : 500));
  }
  require();
}

Doing Engines::doing() const {
  const auto last = ledger_.last();
  return {[last] { return last ? last->text : std::string("its work"); }, last ? last->where : Line()};
}

void Engines::watch() {
  auto told = Clock::now();
  std::unique_lock lock(mutex_);
  while (!closing_ && !failed_) {
    woken_.wait_for(lock, now() - lively_ < Clock::duration(std::chrono::seconds(1)).count() ? kShortTick : kTick);
    if (closing_) return;
    lock.unlock();
    const bool status = since(told) > kStatusSeconds;
    if (status) told = Clock::now();
    try {
      look(status);
    } catch (...) { give_up(std::current_exception()); }
    lock.lock();
  }
}

void Engines::look(bool status) {
  talk(status);
  // Beside an exchange of the host's: that one listens itself.
  if (const std::unique_lock lock(world_.exchanging, std::try_to_lock); lock) {
    if (world_.failure) std::rethrow_exception(world_.failure);
    listen(doing());
  }
  talk(false);
  look_after_devices();
}

// Sends this rank's notes; compares and answers those of the others.
void Engines::talk(bool status) {
  for (const Note& note : world_.transport->notes()) {
    LedgerNote read;
    if (note.bytes.size() != sizeof read) continue;  // from another version
    std::memcpy(&read, note.bytes.data(), sizeof read);
    ledger_.heard(note.from, read);
    lively_ = now();
  }
  ledger_.compare();
  for (const Ledger::Outgoing& outgoing : ledger_.outgoing(status))
    world_.transport->tell(outgoing.to, {reinterpret_cast<const char*>(&outgoing.note), sizeof outgoing.note});
}

// Under World::exchanging.
void Engines::listen(const Doing& doing) {
  const std::vector<int> finished = world_.transport->listen(doing);
  if (finished.empty()) return;
  talk(false);  // their last words
  if (const auto late = ledger_.late(&finished)) {
    const std::string got = list_of(late->ranks) + (late->ranks.size() == 1 ? " has" : " have") + " finished, while rank " +
                            std::to_string(world_.transport->rank()) + " waits in " + text_of(*late);
    throw error_of(*late, got);
  }
}

void Engines::look_after_devices() {
  std::vector<std::shared_ptr<runtime::Communicator>> communicators;
  std::vector<runtime::Communicates*> devices;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, communicator] : communicators_) {
      if (communicator) communicators.push_back(communicator);
    }
    devices = devices_;
  }
  const std::string me = "rank " + std::to_string(world_.transport->rank());
  for (const auto& communicator : communicators) {
    if (const std::string failure = communicator->failure(); !failure.empty()) {
      const Doing last = doing();
      throw Error({.op = last.text(), .got = failure + " on " + me, .advice = "NCCL_DEBUG=WARN has NCCL say more", .where = last.where});
    }
  }
  const double timeout = world_.transport->timeout();
  for (runtime::Communicates* const device : devices) {
    const double stalled = device->stalled();
    if (stalled < timeout) continue;
    const std::string seconds = " within " + number_text(timeout) + " s (TEGULA_TIMEOUT)";
    if (const auto late = ledger_.late()) throw error_of(*late, list_of(late->ranks) + " did not come to " + text_of(*late) + seconds);
    if (stalled < kPatience * timeout) continue;  // all ranks have queued the same
    const Doing last = doing();
    throw Error({.op = last.text(),
                 .got = "nothing finished on the GPU of " + me + ", though all ranks have come, for four times TEGULA_TIMEOUT",
                 .advice = "NCCL_DEBUG=INFO says what NCCL waits for; a step that takes as long needs a larger TEGULA_TIMEOUT",
                 .where = last.where});
  }
}

void Engines::give_up(std::exception_ptr failure) noexcept {
  std::vector<std::shared_ptr<runtime::Communicator>> communicators;
  std::vector<runtime::Communicates*> devices;
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    failure_ = failure;
    failed_ = true;
    for (const auto& [key, communicator] : communicators_) {
      if (communicator) communicators.push_back(communicator);
    }
    devices = devices_;
  }
  if (const std::unique_lock lock(world_.exchanging, std::try_to_lock); lock && !world_.failure) world_.failure = failure;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) { world_.transport->stop(error.report().got); } catch (const std::exception& error) {
    world_.transport->stop(error.what());
  }
  for (runtime::Communicates* const device : devices) device->fail(failure);
  for (const auto& communicator : communicators) communicator->abort();
}

void Engines::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  woken_.notify_one();
  if (!thread_.joinable()) return;
  thread_.join();
  for (runtime::Communicates* const device : devices_) device->confirm_by(nullptr);
  if (failed_) return;
  if (const std::unique_lock lock(world_.exchanging, std::try_to_lock); lock && !world_.failure) {
    try {
      talk(true);
    } catch (...) {  // the others see that this rank has gone
    }
  }
}

}  // namespace tegula::dist
