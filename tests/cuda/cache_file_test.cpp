// The cache on disk: whatever lies there, it is read only when it is ours, and costs at most a compilation.

#include "tegula/runtime/cache_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tegula/cuda/compiler/cubin_file.h"
#include "tegula/cuda/compiler/tuning.h"

namespace tegula::gpu {
namespace {

using runtime::CacheLock, runtime::read_cache_file, runtime::Trust, runtime::write_cache_file;

class CacheFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()); }
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("tegula-cache-" + std::to_string(getpid()));
};

TEST_F(CacheFile, ComesBackAndIsThisUsersAlone) {
  const auto path = folder / "made" / "file";
  const mode_t before = umask(0);
  write_cache_file(path, "text");
  umask(before);
  EXPECT_EQ(read_cache_file(path, Trust::Owner), "text");
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(path.parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(read_cache_file(folder / "none", Trust::Owner), std::nullopt);
}

TEST_F(CacheFile, WhatOthersMayWriteIsNotRead) {
  const auto path = folder / "file";
  for (const mode_t mode : {0602, 0620, 0666}) {
    write_cache_file(path, "text");
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(read_cache_file(path, Trust::Owner), std::nullopt) << mode;
    EXPECT_EQ(read_cache_file(path, Trust::Any), "text") << mode;
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write_cache_file(path, "text");
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(read_cache_file(path, Trust::Owner), std::nullopt);
}

TEST_F(CacheFile, NothingButRegularFilesIsOpened) {
  std::filesystem::create_directory(folder / "folder");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder / "zeros");
  write_cache_file(folder / "file", "text");
  std::filesystem::create_symlink("file", folder / "link");
  for (const char* name : {"folder", "pipe", "zeros", "link"})
    EXPECT_EQ(read_cache_file(folder / name, Trust::Owner), std::nullopt) << name;
  for (const char* name : {"folder", "pipe", "zeros"}) EXPECT_EQ(read_cache_file(folder / name, Trust::Any), std::nullopt) << name;
  EXPECT_EQ(read_cache_file(folder / "link", Trust::Any), "text");
  const std::ptrdiff_t before = files();
  write_cache_file(folder / "folder", "text");  // cannot be replaced
  EXPECT_EQ(files(), before);
}

TEST_F(CacheFile, APlantedLinkIsNotWrittenThrough) {
  const auto victim = folder / "victim";
  std::ofstream(victim) << "untouched";
  for (int i = 0; i < 300; ++i)
    std::filesystem::create_symlink("victim", folder / ("file." + std::to_string(getpid()) + "." + std::to_string(i)));
  write_cache_file(folder / "file", "text");
  EXPECT_EQ(read_cache_file(folder / "file", Trust::Owner), "text");
  EXPECT_EQ(read_cache_file(victim, Trust::Any), "untouched");
}

TEST_F(CacheFile, ACubinUnderAnothersNameIsNone) {
  const std::vector<char> one{'o', 'n', 'e'}, two{'t', 'w', 'o'};
  write_cubin(folder / "1.cubin", "key of one", one);
  write_cubin(folder / "2.cubin", "key of two", two);
  EXPECT_EQ(read_cubin(folder / "1.cubin", "key of one"), one);
  EXPECT_EQ(read_cubin(folder / "2.cubin", "key of two"), two);
  std::filesystem::rename(folder / "2.cubin", folder / "1.cubin");
  EXPECT_EQ(read_cubin(folder / "1.cubin", "key of one"), std::nullopt);
  std::filesystem::resize_file(folder / "1.cubin", std::filesystem::file_size(folder / "1.cubin") - 1);
  EXPECT_EQ(read_cubin(folder / "1.cubin", "key of two"), std::nullopt);
}

TEST_F(CacheFile, ProcessesThatStoreAtOnceLoseNothing) {
  constexpr int kProcesses = 4, kEntries = 25;
  const std::string path = (folder / "tuning.json").string();
  for (int p = 0; p < kProcesses; ++p) {
    if (fork() != 0) continue;
    TuningFile file(path);
    for (int i = 0; i < kEntries; ++i) file.store("card", std::to_string(p) + "." + std::to_string(i), "x", 1);
    _exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) wait(nullptr);
  TuningFile file(path);
  int found = 0;
  for (int p = 0; p < kProcesses; ++p) {
    for (int i = 0; i < kEntries; ++i) found += file.find("card", std::to_string(p) + "." + std::to_string(i)).has_value();
  }
  EXPECT_EQ(found, kProcesses * kEntries);
  EXPECT_EQ(files(), 2);  // and the lock
}

TEST_F(CacheFile, ALockThatNobodyGivesUpIsNotWaitedForLong) {
  const std::string path = (folder / "tuning.json").string();
  const CacheLock held(path);
  TuningFile file(path);
  file.store("card", "a", "1", 1);
  EXPECT_EQ(TuningFile(path).find("card", "a"), "1");
}

TEST_F(CacheFile, TextThatIsNoUtf8ComesBack) {
  const std::string path = (folder / "tuning.json").string();
  const std::string key = "/home/jos\xe9/lib 100%\n", choice = "\xff%25";
  TuningFile(path).store(key, key, choice, 1);
  EXPECT_EQ(TuningFile(path).find(key, key), choice);
  TuningFile(path).store("card", "b", "2", 1);  // merges
  EXPECT_EQ(TuningFile(path).find(key, key), choice);
}

}  // namespace
}  // namespace tegula::gpu
