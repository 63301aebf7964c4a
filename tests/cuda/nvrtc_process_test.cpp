// Compiling in other processes: they return what this process would compile, and this one goes on whatever becomes of them.

#include "tegula/cuda/compiler/nvrtc_process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/cuda/compiler/nvrtc_library.h"

namespace tegula::gpu {
namespace {

const std::vector<std::string> kOptions{"--gpu-architecture=sm_90", "--std=c++17"};
std::string kernel(int number) {
  return "extern \"C\" __global__ void k" + std::to_string(number) + "(int* x) { *x = " + std::to_string(number) + "; }\n";
}

class NvrtcProcess : public testing::Test {
 protected:
  void SetUp() override {
#ifndef TEGULA_NVRTC
    GTEST_SKIP() << "built without the CUDA toolkit";
#else
    if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << why;
    path = TEGULA_NVRTC;
#endif
  }
  std::string path;
};

/// A program that anyone may run.
std::string script(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::current_path() / name;
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST_F(NvrtcProcess, CompilesWhatThisOneDoes) {
  const int version = Nvrtc::get().version;
  CompilerProcesses processes(path, 3);
  EXPECT_EQ(processes.compile(kernel(0), kOptions, version), std::nullopt);  // none runs
  processes.start();
  processes.start();
  EXPECT_EQ(processes.running(), 3);
  std::array<std::optional<std::vector<char>>, 8> found;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { found[static_cast<std::size_t>(i)] = processes.compile(kernel(i), kOptions, version); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(found[static_cast<std::size_t>(i)].has_value()) << i;
    EXPECT_EQ(*found[static_cast<std::size_t>(i)], Unit(kernel(i), kOptions).cubin()) << i;
  }
  // A unit that does not compile, or that another version of the compiler was asked for, is left to the caller.
  EXPECT_EQ(processes.compile("this is no program", kOptions, version), std::nullopt);
  EXPECT_EQ(processes.compile(kernel(1), kOptions, version + 10), std::nullopt);
  EXPECT_EQ(processes.running(), 3);
  EXPECT_TRUE(processes.compile(kernel(2), kOptions, version).has_value());
}

TEST_F(NvrtcProcess, NobodyWaitsForAProgramThatFails) {
  const int version = Nvrtc::get().version;
  for (const std::string& program : {std::string("/nowhere/tegula-nvrtc"), script("fails.sh", "exit 1"), script("ends.sh", "exit 0"),
                                     script("talks.sh", "echo nonsense of more than sixteen bytes >&3 & exit 0")}) {
    CompilerProcesses processes(program, 2);
    processes.start();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(processes.compile(kernel(i), kOptions, version), std::nullopt) << program;
    EXPECT_EQ(processes.running(), 0) << program;
  }
}

TEST(NvrtcProcesses, AHelperThatDoesNotReadIsGivenUp) {
  CompilerProcesses processes(script("sleeps.sh", "sleep 120 & exit 0"), 1);  // holds its socket and never looks
  processes.start();
  ASSERT_EQ(processes.running(), 1);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(processes.compile(std::string(8 << 20, ' '), kOptions, 1), std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));  // and not when its socket closes
  EXPECT_EQ(processes.running(), 0);
}

TEST_F(NvrtcProcess, WithoutFilesForSocketsNoneRuns) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 40;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  CompilerProcesses processes(path, 64);  // descriptors above the limit
  processes.start();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(processes.running(), 0);
  EXPECT_EQ(processes.compile(kernel(0), kOptions, Nvrtc::get().version), std::nullopt);
}

TEST_F(NvrtcProcess, RequestsThatMakeNoSenseEndTheServer) {
  std::mt19937 random(7);
  const auto serve = [&](const std::vector<char>& bytes) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    std::thread writer([&] {
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t sent = send(ends[0], bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += static_cast<std::size_t>(sent);
      }
      shutdown(ends[0], SHUT_WR);
    });
    const int status = serve_compilations(ends[1]);
    close(ends[1]);
    writer.join();
    close(ends[0]);
    return status;
  };
  EXPECT_EQ(serve({}), 0);
  struct {
    std::uint32_t kind = 0x54434d51;
    std::int32_t options = 0;
    std::uint64_t bytes = 0;
  } header;
  const auto request = [&](std::int32_t options, std::uint64_t size, const std::vector<char>& body) {
    header.options = options, header.bytes = size;
    std::vector<char> all(reinterpret_cast<const char*>(&header), reinterpret_cast<const char*>(&header) + sizeof header);
    all.insert(all.end(), body.begin(), body.end());
    return all;
  };
  EXPECT_EQ(serve(request(0, 0, {})), 1);                                // no source
  EXPECT_EQ(serve(request(-1, 8, std::vector<char>(8))), 1);             // a source, but fewer options than none
  EXPECT_EQ(serve(request(0, 8, std::vector<char>(8, '\x7f'))), 1);      // a part longer than all
  EXPECT_EQ(serve(request(0, std::uint64_t{1} << 60, {})), 0);           // more than anybody sends
  EXPECT_EQ(serve(request(0, 100, std::vector<char>(20))), 0);           // ends in the middle
  for (int round = 0; round < 200; ++round) {
    std::vector<char> body(random() % 64);
    for (char& byte : body) byte = static_cast<char>(random() % 4 == 0 ? random() : 0);
    const int status = serve(request(static_cast<std::int32_t>(random() % 4), body.size(), body));
    EXPECT_TRUE(status == 0 || status == 1);
  }
}

}  // namespace
}  // namespace tegula::gpu
