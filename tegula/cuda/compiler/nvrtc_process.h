#pragma once
// Compiling in processes beside this one. In a process NVRTC reads one unit at a time, whatever the number of threads (its front end is
// under a lock); that is a third of a second of a first step of 24 units, which processes do side by side.

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tegula::gpu {

constexpr int kCompilerSocket = 3;  // the first of them in the other program

/// Programs that compile received units and end by themselves when nothing has come for ten seconds, or with this process. May be used
/// from several threads.
class CompilerProcesses {
 public:
  /// Up to `count` of the program at `path`; none are started yet. The program is started once for all missing ones, and takes their number
  /// as its argument: it opens NVRTC, which its children then share.
  CompilerProcesses(std::filesystem::path path, int count) : path_(std::move(path)), count_(count) {}
  CompilerProcesses(const CompilerProcesses&) = delete;
  CompilerProcesses& operator=(const CompilerProcesses&) = delete;
  ~CompilerProcesses();

  /// $TEGULA_COMPILERS of them, else as many as there are processors, 16 at most and none where there are fewer than 4; of the program
  /// tegula-nvrtc beside the file that this code is in. Lives as long as the process.
  static CompilerProcesses& get();

  /// Starts the processes that do not run. They take a moment to be ready.
  void start();
  /// The cubin of a unit. Waits for one of the processes to be free; nothing when none runs, or the unit could not be compiled there: the
  /// caller compiles it here, and finds out why. `version` is that of NVRTC here.
  std::optional<std::vector<char>> compile(const std::string& source, const std::vector<std::string>& options, int version);
  int running() const;
  int count() const { return count_; }

 private:
  struct Process {
    int socket;
    bool busy = false;
  };
  const std::filesystem::path path_;
  const int count_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Process> processes_;
  bool starting_ = false;
};

/// The main loop of such a process: compiles the units that come through the socket until it closes. Returns the exit status.
int serve_compilations(int socket);
/// Forks children of this process that do so, one for each socket; false if not all could be started.
bool fork_servers(int count);

}  // namespace tegula::gpu
