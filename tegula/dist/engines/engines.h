#pragma once
// The devices' own engines of collectives (NCCL): the groups that have one, and a thread that ends hangs.

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/dist/engines/ledger.h"
#include "tegula/dist/exchange/group_state.h"
#include "tegula/runtime/collective.h"

namespace tegula::dist {

/// The engines of one run, as one of its ranks sees it. While there is a communicator, a thread tells the other ranks what this one has queued, compares their lists
/// with its own, and watches the devices. If a rank has ended, stopped, queued something else, or does not come, or if NCCL has failed, all communicators are aborted, and the
/// device's next synchronize() throws the reason.
///
/// The results of single calls are not shown before the next rank has confirmed that it queued the same: synchronize() waits for that. Replays are not
/// confirmed; ranks that differ there learn it within a second.
class Engines : public OwnEngines {
 public:
  static Engines& of(World& world);
  explicit Engines(World& world) : world_(world) {}
  ~Engines() override { close(); }

  /// The communicator of a group on a device, or null: turns of the host. All ranks of the group call this at its first collective on their devices, which
  /// decides it for good (engine_choice.h). Throws Error where TEGULA_ENGINE=nccl and it cannot be had.
  std::shared_ptr<runtime::Communicator> communicator(const Group& group, runtime::Device& device, const Line& where);

  /// Called before a call is queued or recorded. Throws the error that has ended the exchanges of this run.
  void queue(const Group& group, runtime::Device& device, const std::shared_ptr<const Intent>& intent);

  /// Ends the thread; the other ranks learn how far this one has come.
  void close() noexcept override;

 private:
  using Key = std::pair<std::vector<int>, int>;  // the group's ranks in the run, the device's number
  std::shared_ptr<runtime::Communicator> make(const Group& group, runtime::Device& device, const Line& where);
  std::shared_ptr<runtime::Communicator> join(const Group& group, runtime::Communicates& device, const runtime::Communicates::Id& id,
                                              const Line& where);
  void require() const;
  void confirm();
  void watch();
  void look(bool status);
  void talk(bool status);
  void listen(const Doing& doing);
  void look_after_devices();
  Doing doing() const;
  void give_up(std::exception_ptr failure) noexcept;

  World& world_;
  Ledger ledger_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::map<Key, std::shared_ptr<runtime::Communicator>> communicators_;  // null: turns of the host
  std::vector<runtime::Communicates*> devices_;  // that have joined
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::atomic<std::int64_t> lively_{0};  // time of the latest question: soon after it the thread polls often
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace tegula::dist
