#pragma once
// Tests of this program that run in a process of their own.

#include <map>
#include <string>

namespace tegula::test {

/// Runs the tests that `filter` names, disabled ones too, in another process, with `environment` beside this process's own. All of them run,
/// whichever share of the tests this process has (GTEST_TOTAL_SHARDS). Expects that at least one runs and all pass; returns what they print.
std::string run_own_tests(const std::string& filter, const std::map<std::string, std::string>& environment = {});

}  // namespace tegula::test
