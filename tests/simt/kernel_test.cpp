// Kernels as data: what the lowering makes, what passes change.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/passes/compare_in_vector.h"
#include "tegula/simt/passes/place_barriers.h"
#include "tegula/simt/print/print.h"
#include "tests/support/source_folder.h"

namespace {

using namespace tegula;
using namespace tegula::simt;
namespace fs = std::filesystem;

int occurrences(const std::string& room, const std::regex& what) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(source_folder() + "/tegula/simt/" + room)) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    count += static_cast<int>(std::distance(std::sregex_iterator(source.begin(), source.end(), what), std::sregex_iterator()));
  }
  return count;
}

// 153 lines of text were put together by the generator of November 2026.
TEST(KernelText, NothingIsRawText) {
  const std::regex raw(R"(\braw\(|Kind::Text)");
  const int left = occurrences("lower", raw) + occurrences("passes", raw) + occurrences("kernel", raw);
  std::cout << "raw texts that the lowering leaves to the printer: " << left << "\n";
  EXPECT_EQ(left, 0);
}

TEST(KernelText, OnlyThePrinterWritesCuda) {
  const std::regex cuda(R"(__syncthreads|#pragma unroll|load_wide<|atomicAdd\()");
  EXPECT_EQ(occurrences("lower", cuda) + occurrences("passes", cuda) + occurrences("kernel", cuda), 0);
  EXPECT_GT(occurrences("print", cuda), 0);
}

Touch read_of(tile::Id pointer) { return {.root = 0, .pointer = pointer}; }
Touch write_of(tile::Id pointer) { return {.root = 0, .pointer = pointer, .writes = true}; }
const Note kWork{"work"};

std::string with_barriers(Block body, int cluster = 1) {
  Kernel kernel{.cluster = cluster, .parameters = {}, .entry = {}, .body = std::move(body)};
  place_barriers(kernel);
  return print(kernel.body, 0);
}

TEST(PlaceBarriers, WhatIsWrittenIsReadBehindABarrier) {
  EXPECT_EQ(with_barriers({write_of(1), kWork, read_of(2), kWork}), "// work\n__syncthreads();\n// work\n");
  EXPECT_EQ(with_barriers({read_of(1), kWork, write_of(2), kWork}), "// work\n__syncthreads();\n// work\n");
}

TEST(PlaceBarriers, OneThreadsOwnPlacesNeedNone) {
  EXPECT_EQ(with_barriers({read_of(1), kWork, write_of(1), kWork}), "// work\n// work\n") << "the same pointer: each thread its own element";
  EXPECT_EQ(with_barriers({read_of(1), kWork, read_of(2), kWork}), "// work\n// work\n") << "nobody writes";
}

TEST(PlaceBarriers, ThreadsThatHaveMetNeedNotMeetAgain) {
  const Combine meeting{.registers = {}, .counter = {}, .meets = true};
  const std::string text = with_barriers({write_of(1), meeting, read_of(2), kWork});
  EXPECT_EQ(text.find("__syncthreads"), std::string::npos) << text;
}

TEST(PlaceBarriers, AnIterationFollowsTheOneBefore) {
  For loop{.type = computed(DType::i64), .name = "i", .begin = 0, .end = 9, .step = 1, .body = {write_of(1), kWork}, .program = For::OfProgram{}};
  EXPECT_NE(with_barriers({loop}).find("__syncthreads"), std::string::npos) << "the pointer is elsewhere in the next iteration";
  loop.program->moving.insert(1);
  EXPECT_EQ(with_barriers({loop}).find("__syncthreads"), std::string::npos) << "its tiles never meet";
}

TEST(PlaceBarriers, TheNextLoopsRingWaitsForTheReadersOfTheLast) {
  const auto loop = [](const std::string& ring) {
    return For{.type = computed(DType::i64), .name = "i", .begin = 0, .end = 9, .step = 1, .body = {kWork}, .program = For::OfProgram{{}, ring}};
  };
  const auto text = [&](const std::string& first, const std::string& second) {
    return with_barriers({UseRing{first}, OpenRing{}, loop(first), UseRing{second}, OpenRing{}, loop(second)});
  };
  EXPECT_EQ(text("1024 0/2", "1024 0/2").find("__syncthreads"), std::string::npos) << "a thread's bytes lie where they lay";
  EXPECT_NE(text("1024 0/2", "2048 0/4").find("__syncthreads"), std::string::npos);
}

TEST(PlaceBarriers, ClustersWaitOnce) {
  EXPECT_EQ(with_barriers({MeetCluster{}, kWork, MeetCluster{}, write_of(1), read_of(2)}, 2), "cluster_wait();\n// work\ncluster_barrier();\n");
}

std::string walked(Expression value) {
  EachOfVector vector{.count = 4, .body = {Assign{.target = simt::element("x", "k"), .value = std::move(value)}}};
  Kernel kernel{.parameters = {}, .entry = {}, .body = {std::move(vector)}};
  compare_in_vector(kernel);
  return print(kernel.body, 0);
}

TEST(CompareInVector, OneVectorOfManyIsCompared) {
  const Expression label = call("place_of", "v3"), same = binary("col", "==", label);
  const std::string text = walked(choose(same, 1, 0));
  EXPECT_NE(text.find("if (static_cast<unsigned int>(place_of(v3) - first) < 4u)"), std::string::npos) << text;
  EXPECT_NE(text.find("x[k] = false ? 1 : 0;"), std::string::npos) << text;
  const std::string two = walked(choose(same, 1, group(binary("col", "!=", call("place_of", "v4")))));
  EXPECT_EQ(two.find("else"), std::string::npos) << "two labels may lie in two vectors: " << two;
}

}  // namespace
