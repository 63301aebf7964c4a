// tegula launch -n 4 program …: the program four times, as the ranks of one run on this machine.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/core/error.h"

extern char** environ;

namespace tegula::app {
namespace {

using Clock = std::chrono::steady_clock;

struct LaunchChoice {
  std::int64_t ranks = 0, restarts = 0;
  std::vector<std::string> devices;
  double timeout = 0;  // 0: as the environment says
};

volatile sig_atomic_t interrupted = 0, interruptions = 0;  // the signal that asked the launcher to end last, and how many did
volatile sig_atomic_t by_terminal = 0;                     // which has told the ranks, too

void note_interrupt(int which, siginfo_t* info, void*) {
  interrupted = which;
  interruptions = interruptions + 1;
  by_terminal = info->si_code == SI_KERNEL;
}

[[noreturn]] void fail(const std::string& got, const std::string& advice) {
  throw Error({.op = "tegula launch", .got = got, .expected = "", .advice = advice});
}

std::string new_secret() {
  unsigned char bytes[32];
  for (std::size_t done = 0; done < sizeof bytes;) {
    const ssize_t count = ::getrandom(bytes + done, sizeof bytes - done, 0);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += format("%02x", byte);
  return text;
}

/// A folder that only this user can look into, for the ranks' sockets; it goes with the run.
struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      fail("no folder for the ranks' sockets: " + std::string(std::strerror(errno)), "make room in the temporary folder");
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

/// The environment of a rank: this program's, with other values of some variables.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const bool replaced = std::ranges::any_of(variables, [&](const auto& v) { return text.starts_with(v.first + "="); });
    if (!replaced) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// The ranks of one attempt.
class Ranks {
 public:
  Ranks(std::vector<std::string> program, const LaunchChoice& choice, std::int64_t attempt)
      : program_(std::move(program)),
        processes_(static_cast<std::size_t>(choice.ranks), 0) {
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / static_cast<int>(choice.ranks));
    const std::string secret = new_secret();
    ::sigemptyset(&children_);
    ::sigaddset(&children_, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children_, nullptr);
    const char* const engine = std::getenv("TEGULA_ENGINE");
    const std::string wished = engine ? engine : "";
    for (std::int64_t r = 0; r < choice.ranks; ++r) {
      std::vector<std::pair<std::string, std::string>> variables{{"TEGULA_RANK", std::to_string(r)},
                                                                 {"TEGULA_SIZE", std::to_string(choice.ranks)},
                                                                 {"TEGULA_LOCAL_RANK", std::to_string(r)},
                                                                 {"TEGULA_LAUNCHED", "1"},
                                                                 {"TEGULA_ENGINE", wished == "mpi" ? "sockets" : wished},
                                                                 {"TEGULA_RESTARTS", std::to_string(attempt)},
                                                                 {"TEGULA_RENDEZVOUS", "unix:" + folder_.path + "/meeting"},
                                                                 {"TEGULA_SECRET", secret}};
      if (choice.timeout > 0) variables.emplace_back("TEGULA_TIMEOUT", format("%g", choice.timeout));
      // Ranks share the processors, unless the user has divided them.
      if (!std::getenv("OMP_NUM_THREADS")) variables.emplace_back("OMP_NUM_THREADS", std::to_string(threads));
      if (!choice.devices.empty())
        variables.emplace_back("CUDA_VISIBLE_DEVICES", choice.devices[static_cast<std::size_t>(r) % choice.devices.size()]);
      start(static_cast<std::size_t>(r), environment_with(variables));
    }
  }
  ~Ranks() { end_all(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Waits for all. The status of the first one that failed, or 0. Every one that failed is named with its status, in the order of time as far as it can be seen:
  /// of a rank that fails and those that end because it does the first need not be the cause.
  int wait() {
    constexpr double kGrace = 15;  // seconds in which the others may say why they end
    int first = 0;
    bool asked = false;
    Clock::time_point since{}, since_asked{};
    std::vector<std::string> later;  // reports on those that failed after the first
    while (std::ranges::any_of(processes_, [](pid_t p) { return p > 0; })) {
      int status = 0;
      const pid_t ended = ::waitpid(-1, &status, WNOHANG);
      if (ended == 0 || (ended < 0 && errno == EINTR)) {
        if (interruptions == 1 && !asked) {  // trainings finish their step and save
          asked = true, since_asked = Clock::now();
          for (const pid_t process : processes_)
            if (process > 0 && !by_terminal) ::kill(process, SIGTERM);
        }
        if (interruptions > 1 || (asked && std::chrono::duration<double>(Clock::now() - since_asked).count() > kGrace)) {
          end_all();
          return 128 + interrupted;
        }
        if (first != 0 && std::chrono::duration<double>(Clock::now() - since).count() > kGrace) {
          report(later);
          std::fprintf(stderr, "tegula launch: the other ranks did not end by themselves, they are ended now\n");
          end_all();
          return first;
        }
        const timespec most{.tv_sec = 0, .tv_nsec = 100'000'000};
        ::sigtimedwait(&children_, nullptr, &most);  // until the next one ends: who ends while others are looked at is seen behind them
        continue;
      }
      if (ended < 0) break;
      const auto found = std::ranges::find(processes_, ended);
      if (found == processes_.end()) continue;
      *found = 0;
      if (interruptions > 0) continue;  // they were asked to end
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      const std::string what = fate(found - processes_.begin(), status);
      if (first != 0) {
        later.push_back(what);
        continue;
      }
      since = Clock::now();
      first = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      std::fprintf(stderr, "tegula launch: %s\n", what.c_str());
    }
    if (interruptions > 0) return 128 + interrupted;
    report(later);
    return first;
  }

 private:
  static std::string fate(std::ptrdiff_t rank, int status) {
    return WIFSIGNALED(status) ? format("rank %td was ended by signal %d (%s)", rank, WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                               : format("rank %td ended with status %d", rank, WEXITSTATUS(status));
  }
  static void report(const std::vector<std::string>& later) {
    for (std::size_t i = 0; i < later.size(); ++i)
      std::fprintf(stderr, "%s%s%s", i ? ", " : "tegula launch: then ", later[i].c_str(), i + 1 == later.size() ? "\n" : "");
  }

  void start(std::size_t rank, std::vector<std::string> environment) {
    const std::vector<char*> arguments = pointers(program_), variables = pointers(environment);
    int report[2];  // closed by a program that runs; else it has the reason
    if (::pipe2(report, O_CLOEXEC) != 0) fail(std::string("pipe: ") + std::strerror(errno), "close other programs or files");
    const pid_t parent = ::getpid(), child = ::fork();  // before this process has any other thread
    if (child == 0) {
      ::sigprocmask(SIG_UNBLOCK, &children_, nullptr);
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      ::execvpe(arguments[0], arguments.data(), variables.data());
      const int reason = errno;
      if (::write(report[1], &reason, sizeof reason) < 0) ::_exit(126);
      ::_exit(127);
    }
    ::close(report[1]);
    int reason = 0;
    const bool failed = child > 0 && ::read(report[0], &reason, sizeof reason) == sizeof reason;
    ::close(report[0]);
    if (child < 0) fail(std::string("fork: ") + std::strerror(errno), "close other programs");
    processes_[rank] = child;
    if (!failed) return;
    end_all();
    fail("the program " + program_[0] + ": " + std::strerror(reason),
         "write it as in a shell, behind the options: tegula launch -n 2 ./train");
  }

  // Politely, and after two seconds not.
  void end_all() {
    for (const int signal : {SIGTERM, SIGKILL}) {
      for (const pid_t process : processes_) {
        if (process > 0) ::kill(process, signal);
      }
      for (const auto begin = Clock::now(); std::chrono::duration<double>(Clock::now() - begin).count() < 2 || signal == SIGKILL;) {
        bool any = false;
        for (pid_t& process : processes_) {
          if (process > 0 && ::waitpid(process, nullptr, WNOHANG) != 0) process = 0;
          any |= process > 0;
        }
        if (!any) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  Folder folder_;
  std::vector<std::string> program_;
  std::vector<pid_t> processes_;  // 0: has ended
  sigset_t children_{};  // SIGCHLD, which wait() waits for
};

void run(const LaunchChoice& choice, const std::vector<std::string>& program) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    action.sa_sigaction = note_interrupt;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
  int status = 0;
  for (std::int64_t attempt = 0; attempt <= choice.restarts; ++attempt) {
    status = Ranks(program, choice, attempt).wait();
    if (status == 0 || interrupted) break;
    if (attempt < choice.restarts) {
      std::fprintf(stderr, "tegula launch: all ranks start again (%lld of %lld)\n", static_cast<long long>(attempt + 1),
                   static_cast<long long>(choice.restarts));
    }
  }
  std::fflush(nullptr);
  if (status != 0) std::exit(status);
}

}  // namespace

void add_launch(Command& app) {
  auto choice = std::make_shared<LaunchChoice>();
  Command command = app.command("launch", "run a program several times, as the ranks of one training: launch -n 2 tegula train mnist-cnn");
  command.option("-n,--ranks", choice->ranks, "how many").check(positive()).shows_default("2, or one for each of --devices").type("N");
  command
      .option(
          "--devices",
          [choice](const std::string& list) {
            std::istringstream words(list);
            for (std::string device; std::getline(words, device, ',');) choice->devices.push_back(device);
          },
          "GPUs by number, such as 0,1: rank r sees the r-th alone, in turn where there are fewer, and calls it cuda")
      .check(not_empty())
      .type("LIST");
  command.option("--restarts", choice->restarts, "how often all start again when one fails; `train --checkpoint` goes on from its file")
      .check(not_negative())
      .shows_default()
      .type("N");
  command.option("--timeout", choice->timeout, "seconds that a rank waits for the others in a collective")
      .check(positive_real())
      .shows_default("TEGULA_TIMEOUT, else 300")
      .type("S");
  command.runs_program([choice](const std::vector<std::string>& program) {
    if (choice->ranks == 0) choice->ranks = choice->devices.empty() ? 2 : static_cast<std::int64_t>(choice->devices.size());
    run(*choice, program);
  });
}

}  // namespace tegula::app
