#include "tegula/io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <cstdio>

#include "tegula/io/gzip.h"

#include "tests/io/files.h"

namespace tegula::io {
namespace {

using tegula::testing::bytes_of;
using tegula::testing::TemporaryFolder;
using tegula::testing::text_of;

Bytes gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&stream, text.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// The order of calls that reach the disk: these functions replace the C library's in this program.
std::vector<std::string> disk_calls;
std::string name_of(int descriptor) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor)).filename().string();
}

TEST(ReadFile, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x')}) {
    write_atomically(folder / "file", bytes_of(text));
    EXPECT_EQ(text_of(read_file(folder / "file")), text);
  }
}

TEST(ReadFile, NamesTheFileAndTheReasonWhenItCannotRead) {
  const TemporaryFolder folder;
  EXPECT_ERROR(read_file(folder / "none"), (folder / "none") + ": No such file");
  EXPECT_ERROR(read_file(folder / "none", {.op = "idx"}), "idx: got");
  EXPECT_ERROR(read_file(folder.path()), "a folder");
  EXPECT_ERROR(read_file("/dev/zero"), "not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_ERROR(read_file(folder / "pipe"), "not a regular file");
}

TEST(ReadFile, RefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", bytes_of("12345"));
  EXPECT_EQ(read_file(folder / "file", {.limit = 5}).size(), 5u);
  EXPECT_ERROR(read_file(folder / "file", {.limit = 4}), "at most 4 bytes");
}

TEST(InputFile, ReadsPiecesAndReportsTheEnd) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", bytes_of("abcdef"));
  const InputFile file(folder / "file", "test");
  EXPECT_EQ(file.size(), 6u);
  Bytes piece(3);
  file.read_at(2, piece);
  EXPECT_EQ(text_of(piece), "cde");
  EXPECT_ERROR(file.read_at(4, piece), "truncated");
}

TEST(Gzip, ReadsEmptyLargeAndSeveralMembers) {
  EXPECT_EQ(gunzip(gzip(""), "f").size(), 0u);
  const std::string large(3'000'000, 'q');
  EXPECT_EQ(text_of(gunzip(gzip(large), "f")), large);
  Bytes both = gzip("one");
  const Bytes second = gzip("two");
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(text_of(gunzip(both, "f")), "onetwo");
}

TEST(Gzip, EveryTruncationIsAnError) {
  const Bytes whole = gzip("some text that is long enough to have a body, some text");
  for (std::size_t size = 0; size < whole.size(); ++size) { EXPECT_ERROR(gunzip(std::span(whole).first(size), "f"), "truncated"); }
}

TEST(Gzip, CorruptDataAndTrailingBytesAreErrors) {
  Bytes bytes = gzip("some text");
  Bytes longer = bytes;
  longer.push_back(std::byte{7});
  EXPECT_ERROR(gunzip(longer, "f"), "1 bytes after the gzip data");
  bytes[bytes.size() - 6] ^= std::byte{1};  // in the CRC
  EXPECT_ERROR(gunzip(bytes, "f"), "corrupt gzip data");
  EXPECT_ERROR(gunzip(bytes_of("no gzip data"), "f"), "corrupt gzip data");
}

TEST(Gzip, ABombEndsAtTheLimit) {
  std::string zeros;
  zeros.resize(10'000'000);
  const Bytes bomb = gzip(zeros);
  ASSERT_LT(bomb.size(), 20'000u);
  EXPECT_ERROR(gunzip(bomb, "bomb", {.limit = 1'000'000}), "at most 1000000 bytes");
  EXPECT_ERROR(gunzip(bomb, "bomb", {.limit = 9'999'999}), "at most 9999999 bytes");  // a single byte too much
  EXPECT_EQ(gunzip(bomb, "bomb", {.limit = 10'000'000}).size(), 10'000'000u);
}

TEST(Gzip, ABombEndsAt200TimesItsSizeWhateverTheLimit) {
  constexpr std::size_t kPiece = 1 << 20, kPieces = 320;
  const std::string zeros(kPiece, '\0');
  Bytes bomb(8 * kPiece);
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_out = reinterpret_cast<Bytef*>(bomb.data());
  stream.avail_out = static_cast<uInt>(bomb.size());
  for (std::size_t i = 0; i < kPieces; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zeros.data()));
    stream.avail_in = static_cast<uInt>(kPiece);
    deflate(&stream, i + 1 < kPieces ? Z_NO_FLUSH : Z_FINISH);
  }
  bomb.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_ERROR(gunzip(bomb, "bomb"),
               "more than " + std::to_string(200 * bomb.size()) + " bytes when decompressed, out of " + std::to_string(bomb.size()));
}

TEST(Files, ALoopOfLinksIsAnError) {
  const TemporaryFolder folder;
  const std::string loop = folder / "loop";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_FALSE(is_there(loop));
  EXPECT_FALSE(is_folder(loop));
  EXPECT_ERROR(read_file(loop), "Too many levels of symbolic links");
  EXPECT_ERROR(make_folder(loop + "/below", "op"), "op: got " + loop + "/below: ");
  make_folder(folder / "a/b", "op");
  make_folder(folder / "a/b", "op");
  EXPECT_TRUE(is_folder(folder / "a/b"));
  EXPECT_TRUE(is_there(folder / "a/b"));
}

TEST(Gzip, APromiseTakesNoMemory) {
  // Ten megabytes of headers of empty members; the last four bytes, where the length stands, promise two gigabytes.
  const Bytes empty = gzip("");
  Bytes bytes;
  while (bytes.size() < 10'000'000) bytes.insert(bytes.end(), empty.begin(), empty.end());
  bytes.back() = std::byte{0x7f};
  const long before = testing::peak_memory();
  EXPECT_ERROR(gunzip(bytes, "f"), "corrupt gzip data");
  EXPECT_LT(testing::peak_memory() - before, 16 << 20);
}

TEST(WriteAtomically, ReplacesTheFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", bytes_of("old"));
  ASSERT_EQ(::chmod((folder / "file").c_str(), 0640), 0);
  write_atomically(folder / "file", bytes_of("new"));
  EXPECT_EQ(text_of(read_file(folder / "file")), "new");
  EXPECT_EQ(folder.files(), 1);
  struct stat status{};
  ASSERT_EQ(::stat((folder / "file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(WriteAtomically, BytesReachTheDiskBeforeTheNameAndTheNameBeforeTheEnd) {
  const TemporaryFolder folder;
  disk_calls.clear();
  write_atomically(folder / "file", bytes_of("text"));
  ASSERT_EQ(disk_calls.size(), 3u);
  EXPECT_TRUE(disk_calls[0].starts_with("fsync file.tmp-")) << disk_calls[0];
  EXPECT_EQ(disk_calls[1], "rename to file");
  EXPECT_EQ(disk_calls[2], "fsync " + std::filesystem::path(folder.path()).filename().string());
}

TEST(WriteAtomically, RemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      AtomicFile file(path);
      file.write(bytes_of("half"));
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(folder.files(), 1);  // also the one before is gone
  }
  write_atomically(folder / "file.tmp-notes", bytes_of("a user's"));
  write_atomically(folder / "other.tmp-1-1", bytes_of("another file's"));
  write_atomically(path, bytes_of("whole"));
  EXPECT_EQ(folder.files(), 3);
  EXPECT_EQ(text_of(read_file(path)), "whole");
}

TEST(WriteAtomically, TwoWritersOfOneFileLetEachOtherWork) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "file");
  first.write(bytes_of("first"));
  AtomicFile second(folder / "file");
  second.write(bytes_of("second"));
  EXPECT_EQ(folder.files(), 2);
  first.commit();
  EXPECT_EQ(text_of(read_file(folder / "file")), "first");
  second.commit();
  EXPECT_EQ(text_of(read_file(folder / "file")), "second");
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteAtomically, ASymbolicLinkStaysAndTheFileBehindItIsReplaced) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "store");
  write_atomically(folder / "store/real", bytes_of("old"));
  std::filesystem::create_symlink("store/real", folder / "link");
  std::filesystem::create_symlink("link", folder / "second");
  std::filesystem::create_symlink("store/new", folder / "dangling");
  write_atomically(folder / "second", bytes_of("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(text_of(read_file(folder / "store/real")), "new");
  write_atomically(folder / "dangling", bytes_of("made"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "dangling"));
  EXPECT_EQ(text_of(read_file(folder / "store/new")), "made");
  std::filesystem::create_symlink("circle", folder / "circle");
  EXPECT_ERROR(write_atomically(folder / "circle", {}), "circle");
}

TEST(WriteAtomically, CanBeAskedBeforehandAndLeavesNothing) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(require_writable(folder / "file", "test"));
  EXPECT_EQ(folder.files(), 0);
  EXPECT_ERROR(require_writable(folder / "missing/file", "test"), "test: got");
}

TEST(WriteAtomically, WithoutCommitTheOldFileStays) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", bytes_of("old"));
  {
    AtomicFile file(folder / "file");
    file.write(bytes_of("half"));
  }
  EXPECT_EQ(text_of(read_file(folder / "file")), "old");
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteAtomically, AFullDiskIsAnErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", bytes_of("old"));
  // A limit on file size stands in for the full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = testing::message_of([&] { write_atomically(folder / "file", bytes_of(std::string(5000, 'x'))); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("the old file, if any, is untouched"), std::string::npos) << message;
  EXPECT_EQ(text_of(read_file(folder / "file")), "old");
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteAtomically, RefusesFoldersDevicesAndMissingFolders) {
  const TemporaryFolder folder;
  EXPECT_ERROR(write_atomically(folder.path(), {}), "a folder");
  EXPECT_ERROR(write_atomically("/dev/null", {}), "not a regular file");
  EXPECT_ERROR(write_atomically(folder / "missing/file", {}), "create the folder " + (folder / "missing") + " first");
  EXPECT_EQ(folder.files(), 0);
  EXPECT_ERROR(write_atomically(folder / std::string(300, 'x'), {}), "a shorter name");
  write_atomically(folder / "file", {});
  EXPECT_ERROR(write_atomically(folder / "file/inside", {}), "is no folder");
  // Nobody, not even root, makes files in /proc: the folder is there, so nothing is said about creating it.
  const std::string message = testing::message_of([] { write_atomically("/proc/tegula-test", {}); });
  EXPECT_NE(message.find("/proc"), std::string::npos) << message;
  EXPECT_EQ(message.find("create the folder"), std::string::npos) << message;
}

}  // namespace
}  // namespace tegula::io

extern "C" int fsync(int descriptor) {
  tegula::io::disk_calls.push_back("fsync " + tegula::io::name_of(descriptor));
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  tegula::io::disk_calls.push_back("rename to " + std::filesystem::path(to).filename().string());
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
