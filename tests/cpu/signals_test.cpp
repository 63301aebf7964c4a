// Signals while the CPU computes: no handler of a program ever runs on a stack that a library has pointed into the heap.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tegula/core/signals.h"
#include "tegula/cpu/parallel.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

std::atomic<const char*> stack_begin{nullptr}, stack_end{nullptr};  // of the thread that computes
std::atomic<int> signals{0}, strays{0};

void look(int) {
  const auto* const frame = static_cast<const char*>(__builtin_frame_address(0));  // a local's address may be AddressSanitizer's heap
  ++signals;
  if (frame < stack_begin.load() || frame >= stack_end.load()) ++strays;
}

void note_stack() {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  void* begin = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(pthread_attr_getstack(&attributes, &begin, &size), 0);
  pthread_attr_destroy(&attributes);
  stack_begin = static_cast<const char*>(begin), stack_end = static_cast<const char*>(begin) + size;
}

/// A timer that strikes every 300 µs, with a handler as programs have them: a plain one, on the stack that it finds.
class Timer {
 public:
  Timer() {
    note_stack();
    signals = strays = 0;
    struct sigaction action{};
    action.sa_handler = look;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    const itimerval every{{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~Timer() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  struct sigaction before_{};
};

/// Runs it in a child, since the heap may not outlive it, until 400 signals came; none may come on a strange stack.
void expect_survives(const std::string& name, const std::function<void()>& call) {
  call();  // compiles everything
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    {
      const Timer timer;
      while (signals < 400) {
        call();
        std::free(std::malloc(static_cast<std::size_t>(100 + signals * 37 % 5000)));
      }
    }
    _exit(strays == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << name << " was killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << name << " runs handlers on another stack";
}

class Signals : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(before_); }
  int before_ = num_threads();
};

TEST_P(Signals, StrikeProductsOfAllTranspositions) {
  for (const bool left : {false, true}) {
    for (const bool right : {false, true}) {
      for (const auto& [m, n, k] : {std::array{192, 64, 768}, {64, 64, 1024}, {768, 64, 192}, {200, 200, 200}}) {
        const Tensor a = normal(left ? Shape{k, m} : Shape{m, k}), b = normal(right ? Shape{n, k} : Shape{k, n});
        expect_survives("a product", [&] { eval(matmul(left ? transpose(a) : a, right ? transpose(b) : b)); });
      }
    }
  }
}

TEST_P(Signals, StrikeProductsOfManyAndOfHalves) {
  const Tensor a = normal({8, 160, 200}), b = normal({8, 160, 200});
  expect_survives("a batched product", [&] { eval(matmul(transpose(a), b)); });
  const Tensor ha = cast(normal({512, 200}), bf16), hb = cast(normal({512, 256}), bf16);
  expect_survives("a product in bf16", [&] { eval(matmul(transpose(ha), hb)); });
}

TEST_P(Signals, StrikeConvolutions) {
  for (const std::int64_t channels : {3, 32}) {
    for (const std::int64_t kernel : {1, 3, 7}) {
      const Tensor x = normal({8, channels, 24, 24}), w = normal({32, channels, kernel, kernel});
      auto both = jit([kernel](Tensor image, Tensor weight) {
        const Tensor loss = sum(square(conv2d(image, weight, {.padding = kernel / 2})));
        return grad(loss, std::vector<Tensor>{image, weight});
      });
      expect_survives("a convolution", [&] { eval(both(x, w)[0]); });
    }
  }
  const Tensor x = normal({8, 64, 200}), w = normal({64, 64, 5});
  expect_survives("a convolution of lines", [&] { eval(conv1d(x, w)); });
}

TEST_P(Signals, StrikeATrainingOfAnLstm) {
  nn::LSTM lstm(64, 128);
  optim::Adam adam(parameters(lstm));
  const Tensor x = normal({32, 24, 64});
  auto step = jit([&](Tensor in) {
    const Tensor loss = mean(square(lstm(in).output));
    adam.step(grad(loss, parameters(lstm)));
    return loss;
  });
  expect_survives("an LSTM", [&] { eval(step(x)); });
}

INSTANTIATE_TEST_SUITE_P(OneThreadAndTwo, Signals, testing::Values(1, 2));

bool is_blocked(int number) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, number) == 1;
}

TEST(HeldSignals, HoldsWhatOthersSendAndNotWhatTheThreadRaises) {
  EXPECT_FALSE(is_blocked(SIGINT));
  {
    const HeldSignals held;
    for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGPROF, SIGCHLD, SIGWINCH, SIGUSR1, SIGURG}) EXPECT_TRUE(is_blocked(number));
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) EXPECT_FALSE(is_blocked(number));
    { const HeldSignals inner; }
    EXPECT_TRUE(is_blocked(SIGINT)) << "an inner scope lets nothing through";
  }
  EXPECT_FALSE(is_blocked(SIGINT));
}

TEST(HeldSignals, KeepsWhatTheProgramHasBlockedItself) {
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mine, &before);
  { const HeldSignals held; }
  EXPECT_TRUE(is_blocked(SIGUSR2));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(HeldSignals, ThreadsOfThePoolTakeNone) {
  if (num_threads() < 2) GTEST_SKIP() << "one thread";
  const auto caller = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  for (int round = 0; round < 1000 && elsewhere == 0; ++round) {
    host::parallel(2, [&](int, int) {
      if (std::this_thread::get_id() == caller) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++elsewhere;
      EXPECT_TRUE(is_blocked(SIGINT));
      EXPECT_TRUE(is_blocked(SIGALRM));
      EXPECT_FALSE(is_blocked(SIGSEGV)) << "a crash is told to who handles it";
    });
  }
  EXPECT_GT(elsewhere, 0);
}

}  // namespace
}  // namespace tegula
