#include "tests/support/own_tests.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tegula/io/child.h"

namespace tegula::test {

std::string run_own_tests(const std::string& filter, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> command{"/usr/bin/env", "-u", "GTEST_TOTAL_SHARDS", "-u", "GTEST_SHARD_INDEX", "-u", "GTEST_SHARD_STATUS_FILE"};
  for (const auto& [name, value] : environment) command.push_back(name + "=" + value);
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.push_back("--gtest_also_run_disabled_tests");
  command.push_back("--gtest_filter=" + filter);
  const io::ChildResult child = io::run_child(command, {});
  const std::string printed(reinterpret_cast<const char*>(child.output.data()), child.output.size());
  EXPECT_EQ(child.exit_code, 0) << child.messages << printed;
  EXPECT_NE(printed.find("[  PASSED  ] "), std::string::npos) << printed;
  EXPECT_EQ(printed.find("[  PASSED  ] 0 tests"), std::string::npos) << filter << " names no test\n" << printed;
  return printed;
}

}  // namespace tegula::test
