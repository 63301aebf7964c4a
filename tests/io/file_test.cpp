#include "tegula/io/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <csignal>

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

TEST(ReadFile, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x')}) {
    write_atomically(folder / "file", bytes_of(text));
    EXPECT_EQ(text_of(read_file(folder / "file")), text);
    EXPECT_EQ(text_of(read_file_or_gzip(folder / "file")), text);
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

TEST(Gzip, IsToldByContentsNotByName) {
  const TemporaryFolder folder;
  const std::string text = "tiles of a roof, tiles of a roof";
  write_atomically(folder / "plain.gz", bytes_of(text));
  write_atomically(folder / "packed", gzip(text));
  EXPECT_EQ(text_of(read_file_or_gzip(folder / "plain.gz")), text);
  EXPECT_EQ(text_of(read_file_or_gzip(folder / "packed")), text);
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
  EXPECT_EQ(gunzip(bomb, "bomb", {.limit = 10'000'000}).size(), 10'000'000u);
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
  EXPECT_ERROR(write_atomically(folder / "missing/file", {}), "create the folder");
  EXPECT_EQ(folder.files(), 0);
}

}  // namespace
}  // namespace tegula::io
