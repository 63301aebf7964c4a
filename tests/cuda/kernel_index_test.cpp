// The index of kernels without their texts: a line is found under what its text is made from, whole or not at all, and a process that finds all makes
// no text. The processes run on a GPU, or on the driver of the tests as "paper" with its compiler.

#include "tegula/cuda/compiler/kernel_index.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tegula/runtime/cache_file.h"
#include "tegula/tegula.h"
#include "tegula/tile/builder.h"
#include "tests/support/own_tests.h"

namespace tegula::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBuild = "0123abcd";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& text) { runtime::write_cache_file(path, text); }

std::string id_of(int number) {
  std::string id = std::to_string(number);
  return std::string(32 - id.size(), 'a') + id;
}

KnownKernel kernel_of(int number) {
  simt::TensorMap map{.pointer = 3,
                      .dtype = DType::f16,
                      .columns = {2, 0},
                      .rows = {-1, std::int64_t{1} << 40},
                      .stride = {5, -7},
                      .planes = {{{{1, 0}, {-1, 12}}, simt::TensorMap::Size{4, 9}, 3, 2}, {{}, {}, 1, 1}},
                      .box_columns = 64,
                      .box_rows = number,
                      .pitch = 64,
                      .row_step = 2,
                      .inside = true};
  return {{.name = "k_rows_" + std::to_string(number),
           .source = {},
           .threads = 256,
           .cluster = 4,
           .shared_bytes = 100'000,
           .stays = number % 2 == 0,
           .early = true,
           .maps = std::vector<simt::TensorMap>(static_cast<std::size_t>(number % 3), map)},
          "k_rows_" + std::to_string(number) + " sm_90 00ff",
          std::size_t{4321}};
}

bool equal(const KnownKernel& a, const KnownKernel& b) {
  const auto& [name, source, threads, cluster, shared_bytes, stays, early, maps] = a.generated;
  const Generated& g = b.generated;
  return name == g.name && source == g.source && threads == g.threads && cluster == g.cluster && shared_bytes == g.shared_bytes &&
         stays == g.stays && early == g.early && maps == g.maps && a.key == b.key && a.characters == b.characters;
}

class KernelIndexFile : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  void store(int count, const char* build = kBuild) const {
    KernelIndex index(path, build);
    for (int i = 0; i < count; ++i) index.note(id_of(i), kernel_of(i));
    index.flush();
  }
  const fs::path folder = fs::path(testing::TempDir()) / ("tegula-index-" + std::to_string(getpid()));
  const fs::path path = folder / "made" / "one.kernels";
};

TEST_F(KernelIndexFile, GivesBackWhatAnotherProcessHasNoted) {
  store(7);
  KernelIndex index(path, kBuild);
  for (int i = 0; i < 7; ++i) {
    const auto found = index.find(id_of(i));
    ASSERT_TRUE(found) << i;
    EXPECT_TRUE(equal(*found, kernel_of(i))) << i;
  }
  EXPECT_FALSE(index.find(id_of(7)));
  EXPECT_FALSE(index.find(""));
}

TEST_F(KernelIndexFile, LinesOfAnotherBuildAreNone) {
  store(3, "another build");
  KernelIndex index(path, kBuild);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(index.find(id_of(i))) << i;
}

TEST_F(KernelIndexFile, NothingIsKeptWithoutAPath) {
  KernelIndex index({}, kBuild);
  index.note(id_of(1), kernel_of(1));
  index.flush();
  EXPECT_FALSE(index.find(id_of(1)));
}

TEST_F(KernelIndexFile, AlteredLinesAreNone) {
  store(3);
  const std::string whole = text_of(path);
  std::size_t missing = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned char flip : {1, 0x80}) {
      std::string text = whole;
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ flip);
      write(path, text);
      KernelIndex index(path, kBuild);
      for (int i = 0; i < 3; ++i) {
        const auto found = index.find(id_of(i));
        ASSERT_TRUE(!found || equal(*found, kernel_of(i))) << at << " " << i;
        missing += !found;
      }
    }
  }
  EXPECT_GE(missing, 2 * whole.size() - 10) << "all but the newlines belong to some line";
}

TEST_F(KernelIndexFile, TruncatedFilesGiveWhatIsWhole) {
  store(3);
  const std::string whole = text_of(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write(path, whole.substr(0, size));
    KernelIndex index(path, kBuild);
    for (int i = 0; i < 3; ++i) {
      const auto found = index.find(id_of(i));
      ASSERT_TRUE(!found || equal(*found, kernel_of(i))) << size << " " << i;
    }
    index.note(id_of(9), kernel_of(9));  // behind a torn line
    index.flush();
    ASSERT_TRUE(KernelIndex(path, kBuild).find(id_of(9))) << size;
  }
}

TEST_F(KernelIndexFile, AKernelUnderAnothersIdIsNone) {
  store(2);
  std::string text = text_of(path);
  const std::size_t a = text.find(id_of(0)), b = text.find(id_of(1));
  text.replace(a, 32, id_of(1)).replace(b, 32, id_of(0));
  write(path, text);
  KernelIndex index(path, kBuild);
  EXPECT_FALSE(index.find(id_of(0)));
  EXPECT_FALSE(index.find(id_of(1)));
}

TEST_F(KernelIndexFile, HostileFilesAreNone) {
  const std::string line = id_of(0) + " k 1 1 1 0 0 99999999999999999999 1 k sm_90 0 ";
  for (const std::string& text : {std::string(), std::string(1 << 20, 'a'), std::string(1 << 16, '\n'), std::string(4096, '\0'),
                                  id_of(0) + "\n", id_of(0) + std::string(16, '0') + "\n", line + std::string(16, '0') + "\n"}) {
    write(path, text);
    EXPECT_FALSE(KernelIndex(path, kBuild).find(id_of(0)));
  }
  store(1);
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(KernelIndex(path, kBuild).find(id_of(0))) << "which others may write";
  const std::string before = text_of(path);
  store(1);
  EXPECT_EQ(text_of(path), before);
}

TEST_F(KernelIndexFile, TheLastLineOfAnIdCounts) {
  store(1);
  KernelIndex index(path, kBuild);
  index.note(id_of(0), kernel_of(5));
  index.flush();
  const auto found = KernelIndex(path, kBuild).find(id_of(0));
  ASSERT_TRUE(found);
  EXPECT_TRUE(equal(*found, kernel_of(5)));
}

TEST_F(KernelIndexFile, ProcessesThatStoreAtOnceLoseNothing) {
  constexpr int kProcesses = 4, kEach = 40;
  for (int p = 0; p < kProcesses; ++p) {
    if (fork() != 0) continue;
    KernelIndex index(path, kBuild);
    for (int i = 0; i < kEach; ++i) {
      index.note(id_of(p * kEach + i), kernel_of(p * kEach + i));
      if (i % 3 == 0) index.flush();
    }
    index.flush();
    _exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) wait(nullptr);
  KernelIndex index(path, kBuild);
  for (int i = 0; i < kProcesses * kEach; ++i) {
    const auto found = index.find(id_of(i));
    ASSERT_TRUE(found) << i;
    EXPECT_TRUE(equal(*found, kernel_of(i))) << i;
  }
}

tile::Program scaled(const std::string& name, const std::string& pointer, double by, std::int64_t columns) {
  tile::Builder b(name);
  const tile::Value x = b.pointer(pointer, f32, true);
  const tile::Value places = x + b.arange(0, columns);
  b.store(places, b.load(places) * b.constant(by, f32));
  return b.finish();
}

TEST(KernelId, DiffersWhereATextMay) {
  const Specialisation plain{.facts = {4}};
  Specialisation odd = plain, many = plain, guarded = plain, axis = plain, maps = plain;
  odd.facts = {3}, many.many_sets = true, guarded.guarded = true, axis.one_axis = true, maps.maps = true;
  const tile::Program program = scaled("rows", "x", 2, 128);
  const std::set<std::string> ids{
      kernel_id(program, plain, 90),
      kernel_id(program, plain, 80),
      kernel_id(program, odd, 90),
      kernel_id(program, many, 90),
      kernel_id(program, guarded, 90),
      kernel_id(program, axis, 90),
      kernel_id(program, maps, 90),
      kernel_id(scaled("columns", "x", 2, 128), plain, 90),
      kernel_id(scaled("rows", "y", 2, 128), plain, 90),
      kernel_id(scaled("rows", "x", 3, 128), plain, 90),
      kernel_id(scaled("rows", "x", 2, 256), plain, 90),
  };
  EXPECT_EQ(ids.size(), 11u);
  EXPECT_EQ(kernel_id(program, plain, 90), kernel_id(scaled("rows", "x", 2, 128), plain, 90));
  EXPECT_EQ(kernel_id(program, plain, 90).size(), 32u);
}

}  // namespace
}  // namespace tegula::gpu

namespace tegula {
namespace {

namespace fs = std::filesystem;

class CudaKernelIndex : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    if (const char* driver = std::getenv("TEGULA_FAKE_DRIVER")) {
      const char* const kernels = std::getenv("TEGULA_KERNELS");
      if (std::string(driver) != "paper" || !kernels) GTEST_SKIP() << "compiles nothing";
      is_paper_ = true;
      if (*kernels) fs::create_directories(kernels);
    }
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  /// Runs a test of this program with the caches of `folder_`; where nothing may be compiled, a kernel that is not in the cache ends it.
  void run(const std::string& test, bool may_compile, const std::string& check = "") {
    std::map<std::string, std::string> all{{"TEGULA_CACHE_DIR", folder_.string()}, {"TEGULA_CHECK", check}};
    if (is_paper_ && !may_compile) all.emplace("TEGULA_KERNELS", "");
    test::run_own_tests("CudaKernelIndex.DISABLED_" + test, all);
  }
  fs::path index() const {
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().extension() == ".kernels") return entry.path();
    return {};
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("tegula-kernels-" + std::to_string(getpid()));
  bool is_paper_ = false;
};

Tensor answer() {
  set_default_device(cuda());
  const Tensor x = reshape(cast(arange(4096), f32), {32, 128});
  return sum(exp(softmax(x) * 3.0f)) + mean(relu(x - 7.0f));
}

// The other process's part.
TEST_F(CudaKernelIndex, DISABLED_Answers) { eval(answer()); }
TEST_F(CudaKernelIndex, DISABLED_FindsTheIndexWrong) { EXPECT_THROW(eval(answer()), Error); }

TEST_F(CudaKernelIndex, AWarmStartFindsAllOfItsKernels) {
  run("Answers", true);
  ASSERT_FALSE(index().empty());
  const std::string text = text_of(index());
  EXPECT_GT(text.size(), 100u);
  run("Answers", false);
  EXPECT_EQ(text_of(index()), text) << "a kernel whose text was made is noted";
  run("Answers", false, "plan");  // whose texts are compared
  EXPECT_EQ(text_of(index()), text);
}

TEST_F(CudaKernelIndex, WithoutTheIndexTextsFindTheCode) {
  run("Answers", true);
  const fs::path path = index();
  const std::string text = text_of(path);
  for (const std::string& damaged : {std::string(), text.substr(0, text.size() / 2), "x" + text.substr(1) + "y", std::string(1000, 'z')}) {
    runtime::write_cache_file(path, damaged);
    run("Answers", false);
    const std::string mended = text_of(path);
    run("Answers", false);
    EXPECT_EQ(text_of(path), mended);
  }
}

TEST_F(CudaKernelIndex, WhereTheCodeIsMissingTextsAreMade) {
  run("Answers", true);
  const std::string text = text_of(index());
  std::size_t removed = 0;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().extension() == ".cubin") removed += fs::remove(entry.path());
  EXPECT_GT(removed, 0u);
  run("Answers", true);
  EXPECT_EQ(text_of(index()), text);
  std::size_t again = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) again += entry.path().extension() == ".cubin";
  EXPECT_EQ(again, removed) << "the same units under the same names";
}

// The index is of another generator, under this one's name.
TEST_F(CudaKernelIndex, APlanCheckComparesTheIndexWithTheTexts) {
  run("Answers", true);
  const fs::path path = index();
  std::vector<std::string> ids;
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);)
    if (line.size() > 48) ids.push_back(line.substr(0, 32));
  ASSERT_GE(ids.size(), 2u);
  gpu::KernelIndex forged(path, path.stem().string());
  std::vector<gpu::KnownKernel> kernels;
  for (const std::string& id : ids) {
    const auto kernel = forged.find(id);
    ASSERT_TRUE(kernel);
    kernels.push_back(*kernel);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) forged.note(ids[i], kernels[(i + 1) % ids.size()]);
  forged.flush();
  run("FindsTheIndexWrong", false, "plan");
}

}  // namespace
}  // namespace tegula
