#include "tegula/core/check.h"

#include <gtest/gtest.h>

namespace tegula {
namespace {

TEST(Check, AnotherCopyOfTheLibraryAsksTheProgram) {
  const Checking own(Check::Plan, false);
  ask_for_checks([](Check check) { return check == Check::Plan; });
  EXPECT_TRUE(checking(Check::Plan));
  EXPECT_FALSE(checking(Check::Nan));
  set_checking(Check::Nan, true);
  EXPECT_FALSE(checking(Check::Nan)) << "its own checks do not count";
  ask_for_checks(nullptr);
  EXPECT_TRUE(checking(Check::Nan));
  set_checking(Check::Nan, false);
  EXPECT_FALSE(checking(Check::Plan));
}

}  // namespace
}  // namespace tegula
