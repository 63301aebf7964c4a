// Kernels as data: the lowering's result, and the passes' changes.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/passes/compare_in_vector.h"
#include "tegula/simt/passes/fetch_ahead.h"
#include "tegula/simt/passes/keep_packed.h"
#include "tegula/simt/passes/merge_barriers.h"
#include "tegula/simt/passes/place_barriers.h"
#include "tegula/simt/print/print.h"
#include "tegula/simt/verify/verify.h"
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

int occurrences_in(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
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
  EXPECT_EQ(with_barriers({read_of(1), kWork, write_of(1), kWork}), "// work\n// work\n")
      << "the same pointer: each thread its own element";
  EXPECT_EQ(with_barriers({read_of(1), kWork, read_of(2), kWork}), "// work\n// work\n") << "nobody writes";
}

TEST(PlaceBarriers, ThreadsThatHaveMetNeedNotMeetAgain) {
  const Combine meeting{.registers = {}, .counter = {}, .meets = true};
  const std::string text = with_barriers({write_of(1), meeting, read_of(2), kWork});
  EXPECT_EQ(text.find("__syncthreads"), std::string::npos) << text;
}

TEST(PlaceBarriers, AnIterationFollowsTheOneBefore) {
  For loop{.type = computed(DType::i64),
           .name = "i",
           .begin = 0,
           .end = 9,
           .step = 1,
           .body = {write_of(1), kWork},
           .program = For::OfProgram{}};
  EXPECT_NE(with_barriers({loop}).find("__syncthreads"), std::string::npos) << "the pointer is elsewhere in the next iteration";
  loop.program->moving.insert(1);
  EXPECT_EQ(with_barriers({loop}).find("__syncthreads"), std::string::npos) << "its tiles never meet";
}

TEST(PlaceBarriers, TheNextLoopsRingWaitsForTheReadersOfTheLast) {
  const auto loop = [](const std::string& ring) {
    return For{
        .type = computed(DType::i64), .name = "i", .begin = 0, .end = 9, .step = 1, .body = {kWork}, .program = For::OfProgram{{}, ring}};
  };
  const auto text = [&](const std::string& first, const std::string& second) {
    return with_barriers({UseRing{first}, OpenRing{}, loop(first), UseRing{second}, OpenRing{}, loop(second)});
  };
  EXPECT_EQ(text("1024 0/2", "1024 0/2").find("__syncthreads"), std::string::npos) << "a thread's bytes lie where they lay";
  EXPECT_NE(text("1024 0/2", "2048 0/4").find("__syncthreads"), std::string::npos);
}

TEST(PlaceBarriers, ClustersWaitOnce) {
  EXPECT_EQ(with_barriers({MeetCluster{}, kWork, MeetCluster{}, write_of(1), read_of(2)}, 2),
            "cluster_wait();\n// work\ncluster_barrier();\n");
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

// ---- Packed values.
const Declare kPacked{.what = {Name("v", 1), packed(DType::bf16, 8), {2}}};
Loop load_vectors() {
  Block body{LoadWide{.wide = 8, .count = 8, .pointer = "x", .target = held(Name("v", 1), Place::Vector)}};
  return {.name = "c", .end = 2, .body = std::move(body)};
}
Loop store_vectors() {
  Block body{StoreOne{.computed = DType::f32, .value = widened(held(Name("v", 1), Place::Vector), 0), .pointer = "y"}};
  return {.name = "c", .end = 2, .body = std::move(body)};
}
const Combine kColumns{.registers = {}, .counter = {}};
std::size_t kept(Block body) {
  Kernel kernel{.parameters = {}, .entry = {}, .body = std::move(body)};
  keep_packed(kernel);
  const std::string text = print(kernel.body, 0);
  return text.find("keep_packed(v1)");
}

TEST(KeepPacked, WhatIsReadBehindAReductionStaysPacked) {
  EXPECT_NE(kept({kPacked, load_vectors(), Reduced{}, store_vectors()}), std::string::npos);
  EXPECT_EQ(kept({kPacked, load_vectors(), store_vectors(), Reduced{}}), std::string::npos) << "nobody reads it again";
}

TEST(KeepPacked, WhatIsLoadedLateIsAskedForAsAWhole) {
  EXPECT_NE(kept({kPacked, kColumns, load_vectors(), store_vectors()}), std::string::npos);
  EXPECT_EQ(kept({kPacked, load_vectors(), kColumns, store_vectors()}), std::string::npos) << "it is there already";
}

// ---- Barriers side by side.
int barriers_left(Block body) {
  Kernel kernel{.parameters = {}, .entry = {}, .body = std::move(body)};
  merge_barriers(kernel);
  return occurrences_in(print(kernel.body, 0), "__syncthreads();");
}

TEST(MergeBarriers, ASecondOneWithNothingBetweenGoes) {
  EXPECT_EQ(barriers_left({Barrier{}, Barrier{}, Barrier{}}), 1);
  EXPECT_EQ(barriers_left({Barrier{}, kWork, Origin{}, Barrier{}}), 1) << "notes are not executed";
  EXPECT_EQ(barriers_left({Scope{.body = {Barrier{}, Barrier{}}}, store_vectors(), Barrier{}}), 2);
}

TEST(MergeBarriers, ThoseWithWorkBetweenOrForSomeThreadsStay) {
  EXPECT_EQ(barriers_left({Barrier{}, store_vectors(), Barrier{}}), 2);
  EXPECT_EQ(barriers_left({Barrier{}, Scope{.body = {Barrier{}}}}), 2) << "only within one block";
  EXPECT_EQ(barriers_left({Statement(Barrier{}, Expression("first")), Barrier{}}), 2) << "not all threads come to the first";
}

// ---- Rings.
TEST(FetchAhead, ALoopsLoadsBeginSomeIterationsBefore) {
  Ring ring{.stages = 3, .ahead = 2, .stage_bytes = 2048, .layout = "2048 0/4", .loads = {}, .addresses = {{Name("v", 1), {}}}};
  ring.loads.push_back({.value = Name("v", 3), .pointer = 2, .dtype = DType::f32, .bytes = 16});
  For loop{
      .type = computed(DType::i64), .name = Name("v", 0), .begin = number(std::int64_t{0}, DType::i64), .end = "n", .step = {}, .body = {}};
  loop.step = number(std::int64_t{1}, DType::i64);
  loop.program = For::OfProgram{.moving = {}, .ring = {}, .fetches = ring};
  loop.body.push_back(Declare{.what = {Name("v", 1), computed(DType::i64), {}}, .value = Expression(Name("v", 0)) * 512, .constant = true});
  loop.body.push_back(Touch{.root = 0, .pointer = 2});
  loop.body.push_back(Declare{.what = {Name("v", 3), computed(DType::f32), {1, 4}}});
  LoadWide load{
      .wide = 4, .count = 4, .pointer = group(Expression("x") + Expression(Name("v", 1))), .target = held(Name("v", 3), Place::Vector)};
  loop.body.push_back(Loop{.name = "c", .end = 1, .body = {std::move(load)}});
  loop.program->own = loop.body.size();
  Kernel kernel{
      .column_threads = 128, .parameters = {{.name = "x", .declared = {}}, {.name = "n", .declared = {}}}, .entry = {}, .body = {}};
  kernel.body.push_back(loop);
  fetch_ahead(kernel);
  place_barriers(kernel);
  const std::string text = print(kernel.body, 0);
  EXPECT_EQ(occurrences_in(text, "copy_ahead<4, 4>"), 2) << text;
  EXPECT_NE(text.find("const long long later = v0 + 2 * 1ll;"), std::string::npos) << text;
  EXPECT_NE(text.find("load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 2048"), std::string::npos) << text;
  EXPECT_EQ(faults(kernel), std::vector<std::string>{}) << text;
}

}  // namespace
