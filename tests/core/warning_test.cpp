// Warnings: each once, to stderr or to the program's handler.

#include "tegula/core/warning.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tegula {
namespace {

TEST(Warning, GoesToStderrOnceUnlessTheProgramSetsAHandler) {
  set_warning_handler(nullptr);
  testing::internal::CaptureStderr();
  warn("test.one", "a sentence");
  warn("test.one", "a sentence");
  warn("test.one", "another sentence");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tegula: test.one: a sentence\ntegula: test.one: another sentence\n");
}

TEST(Warning, TheHandlerGetsEachDistinctOneOnceAndNothingIsPrinted) {
  std::vector<std::string> seen;
  testing::internal::CaptureStderr();
  set_warning_handler([&](const std::string& name, const std::string& text) { seen.push_back(name + "|" + text); });
  for (int i = 0; i < 3; ++i) {
    warn("test.a", "x");
    warn("test.b", "x");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"test.a|x", "test.b|x"}));
  set_warning_handler([&](const std::string&, const std::string& text) { seen.push_back("second " + text); });
  warn("test.a", "x");  // a new handler has heard nothing yet
  EXPECT_EQ(seen.back(), "second x");
  set_warning_handler(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Warning, GoesToAnotherCopyOfTheLibraryThatKnowsTheHandler) {
  static std::vector<std::string> said;
  forward_warnings([](const std::string& name, const std::string& text) { said.push_back("warned " + name + " " + text); },
                   [](const std::string& name, const std::string& text) { said.push_back("shown " + name + " " + text); });
  warn("a", "b");
  warn("a", "b");
  show_text("c", "d");
  forward_warnings(nullptr, nullptr);
  EXPECT_EQ(said, (std::vector<std::string>{"warned a b", "warned a b", "shown c d"})) << "the other copy drops what it has said";
}

TEST(Warning, WhatWasAskedForComesEveryTime) {
  testing::internal::CaptureStderr();
  show_text("print.plan", "one\ntwo\n");
  show_text("print.plan", "one\ntwo\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tegula: print.plan:\none\ntwo\ntegula: print.plan:\none\ntwo\n");
}

}  // namespace
}  // namespace tegula
