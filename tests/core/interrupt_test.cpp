// Ctrl-C as a request.

#include "tegula/core/interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace tegula {
namespace {

/// Returns the status of a child that does this, or minus the signal that ended it.
template <class F>
int ended(F&& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);  // whatever started the test ignores
    std::fclose(stderr);
    _exit(work());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Interrupt, TheFirstIsARequestAndTheSecondEndsTheProgram) {
  EXPECT_EQ(ended([] {
              stop_on_interrupt();
              if (interrupted() != 0) return 1;
              raise(SIGINT);
              return interrupted() == SIGINT ? 0 : 2;
            }),
            0);
  EXPECT_EQ(ended([] {
              stop_on_interrupt();
              raise(SIGINT);
              raise(SIGINT);
              return 3;
            }),
            -SIGINT);
  EXPECT_EQ(ended([] {
              stop_on_interrupt();
              raise(SIGINT);
              raise(SIGTERM);
              return 3;
            }),
            -SIGTERM);
}

volatile sig_atomic_t own = 0;

TEST(Interrupt, TheSecondIsForTheHandlerThatWasThereBefore) {
  EXPECT_EQ(ended([] {
              std::signal(SIGINT, [](int) { own = own + 1; });
              stop_on_interrupt();
              raise(SIGINT);
              if (own != 0) return 1;
              raise(SIGINT);
              return own == 1 ? 0 : 2;
            }),
            0);
}

TEST(Interrupt, WhatIsIgnoredStaysIgnored) {
  EXPECT_EQ(ended([] {
              std::signal(SIGINT, SIG_IGN);  // as nohup and shells do for background processes
              stop_on_interrupt();
              raise(SIGINT);
              raise(SIGINT);
              return interrupted();
            }),
            0);
}

TEST(Interrupt, AScopeGivesTheHandlersBackAndForgetsEarlierRequests) {
  EXPECT_EQ(ended([] {
              {
                const InterruptScope outer;
                { const InterruptScope inner; }
                raise(SIGTERM);
              }
              if (interrupted() != SIGTERM) return 1;  // a question after the scope gets the signal
              {
                const InterruptScope again;
                if (interrupted() != 0) return 2;
                raise(SIGTERM);
                if (interrupted() != SIGTERM) return 3;
              }
              { const InterruptScope unused; }
              raise(SIGTERM);
              return 4;
            }),
            -SIGTERM);
}

}  // namespace
}  // namespace tegula
