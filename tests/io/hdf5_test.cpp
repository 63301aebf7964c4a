// HDF5 files: those that h5py writes (tests/golden/hdf5, made with h5py 3.16 in the formats of HDF5 1.0, 1.8, 1.14 and 2.0), and files that must be refused.

#include "tegula/io/hdf5/hdf5.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tegula/io/gzip.h"
#include "tests/io/files.h"
#include "tests/support/sanitizers.h"

namespace tegula::io {
namespace {

Bytes golden(const std::string& name) {
  const std::string path = source_folder() + "/tests/golden/hdf5/" + name + ".h5.gz";
  return gunzip(read_file(path), path);
}

const Hdf5Object& object(const std::vector<Hdf5Object>& all, const std::string& path) {
  const auto found = std::ranges::find(all, path, &Hdf5Object::path);
  if (found == all.end()) throw Error({.op = "test", .got = "no " + path, .expected = "it"});
  return *found;
}

template <class T>
std::vector<T> numbers(const Hdf5Object& object) {
  return {object.array.values<T>().begin(), object.array.values<T>().end()};
}

class Hdf5 : public ::testing::TestWithParam<const char*> {};

TEST_P(Hdf5, GroupsAndTextsAreRead) {
  const auto all = parse_hdf5(golden(GetParam()), "x.h5");
  const Hdf5Object& root = all.front();
  EXPECT_EQ(root.path, "");
  EXPECT_EQ(root.texts.at("text"), std::vector<std::string>{"{\"a\":1}"});
  EXPECT_EQ(root.texts.at("bytes"), std::vector<std::string>{"xyz"});
  EXPECT_EQ(root.texts.at("list"), (std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(root.texts.at("longer list"), (std::vector<std::string>{"aa", "bbbb"}));
  EXPECT_FALSE(root.texts.contains("number"));
  // Ten attributes and twelve arrays: more than a header holds in the newer formats. A second name of a group is "again" or "many".
  const bool is_again = std::ranges::any_of(all, [](const auto& o) { return o.path == "again"; });
  const std::string many = is_again ? "again" : "many";
  EXPECT_EQ(object(all, many).texts.size(), 10u);
  EXPECT_EQ(object(all, many).texts.at("attribute 7"), std::vector<std::string>{"value 7"});
  for (int i = 0; i < 12; ++i) {
    const Hdf5Object& array = object(all, many + "/array number " + std::to_string(i));
    EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(numbers<float>(array).front(), static_cast<float>(i));
    EXPECT_EQ(numbers<float>(array).back(), static_cast<float>(i + 5));
  }
  for (const Hdf5Object& one : all) EXPECT_TRUE(one.path != "soft" && one.path != "elsewhere") << "links that are no objects";
}

TEST_P(Hdf5, NumbersOfEveryKindAreRead) {
  const auto all = parse_hdf5(golden(GetParam()), "x.h5");
  const auto at = [&](const std::string& name) -> const Hdf5Object& { return object(all, "kinds/of/types/" + name); };
  EXPECT_EQ(numbers<float>(at("f4be")), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(numbers<double>(at("f8")), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(numbers<Half>(at("f2")).back(), Half(3.F));
  EXPECT_EQ(numbers<std::int8_t>(at("i1")), (std::vector<std::int8_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers<std::uint16_t>(at("u2")), (std::vector<std::uint16_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers<std::int32_t>(at("i4be")), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers<std::uint64_t>(at("u8")), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(at("bool").array.dtype, boolean);
  EXPECT_EQ(at("scalar").array.shape, Shape{});
  EXPECT_EQ(numbers<double>(at("scalar")), std::vector<double>{2.5});
  EXPECT_EQ(at("empty").array.shape, (Shape{0, 3}));
  EXPECT_EQ(at("texts").type, "texts");
  EXPECT_FALSE(at("texts").array.buffer);
}

TEST_P(Hdf5, ChunksAreJoined) {
  const auto all = parse_hdf5(golden(GetParam()), "x.h5");
  std::vector<std::uint16_t> twelve(12);
  std::iota(twelve.begin(), twelve.end(), std::uint16_t{0});
  EXPECT_EQ(numbers<std::uint16_t>(object(all, "chunks/one")), twelve);
  std::vector<std::int32_t> expected(210);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(numbers<std::int32_t>(object(all, "chunks/packed")), expected);  // shuffled, compressed, with checksums
  EXPECT_EQ(numbers<std::int32_t>(object(all, "chunks/plain")), expected);
}

TEST_P(Hdf5, ShapesAreReadWithoutNumbers) {
  for (const Hdf5Object& one : parse_hdf5(golden(GetParam()), "x.h5", Contents::Shapes)) EXPECT_FALSE(one.array.buffer) << one.path;
}

TEST_P(Hdf5, TruncatedFilesAreRefused) {
  const Bytes whole = golden(GetParam());
  // The end of a file may be room that nothing lies in.
  for (std::size_t length = 0; length < whole.size() / 2; length += 97)
    EXPECT_THROW(parse_hdf5(std::span(whole).first(length), "x.h5"), Error) << length;
}

INSTANTIATE_TEST_SUITE_P(Formats, Hdf5, ::testing::Values("earliest", "v108", "latest"));

TEST(Hdf5Files, EveryIndexOfChunksIsRead) {
  // The indices of HDF5 1.10: one chunk, by number with and without pages, by number for an axis without a limit, by place, and none at all.
  const auto all = parse_hdf5(golden("indices"), "x.h5");
  std::vector<std::int16_t> expected(4300);
  std::iota(expected.begin(), expected.end(), std::int16_t{0});
  for (const char* name : {"single", "fixed", "fixed packed", "extensible", "extensible packed", "tree", "tree packed", "implicit"})
    EXPECT_EQ(numbers<std::int16_t>(object(all, name)), expected) << name;
}

TEST(Hdf5Files, LayoutsOfHdf5Version2AreRead) {
  // Version 5 of the layout message: sizes of packed chunks take eight bytes.
  const auto all = parse_hdf5(golden("indices2"), "x.h5");
  std::vector<std::int16_t> expected(600);
  std::iota(expected.begin(), expected.end(), std::int16_t{0});
  for (const char* name : {"single", "fixed", "fixed packed", "extensible", "extensible packed", "tree", "tree packed", "implicit"})
    EXPECT_EQ(numbers<std::int16_t>(object(all, name)), expected) << name;
  // Later versions are named: one of the places with 5 and 2 is the begin of such a message, version and class.
  const Bytes whole = golden("indices2");
  int refused = 0;
  for (std::size_t at = 0; at + 1 < whole.size(); ++at) {
    if (whole[at] != std::byte{5} || whole[at + 1] != std::byte{2}) continue;
    Bytes other = whole;
    other[at] = std::byte{6};
    refused +=
        testing::message_of([&] { parse_hdf5(other, "x.h5"); }).find("a layout of version 6, expected 3, 4 or 5") != std::string::npos;
  }
  EXPECT_EQ(refused, 4);
}

TEST(Hdf5Files, SmallFilesTakeLittleMemory) {
  // Every address is set to places of other things in turn: circles, trees without an end, arrays over each other.
  const long before = testing::peak_memory();
  for (const char* name : {"earliest", "v108", "latest", "indices", "indices2"}) {
    const Bytes whole = golden(name);
    const std::size_t places = whole.size() < 100'000 ? 400 : 40;
    for (std::size_t at = 8; at + 8 <= whole.size(); at += whole.size() / places) {
      for (const std::uint64_t value :
           {std::uint64_t{96}, std::uint64_t{1} << 40, ~std::uint64_t{0}, static_cast<std::uint64_t>(whole.size() / 2)}) {
        Bytes damaged = whole;
        std::memcpy(damaged.data() + at / 8 * 8, &value, 8);
        try {
          for (const Hdf5Object& one : parse_hdf5(damaged, "x.h5"))
            EXPECT_LE(one.array.buffer ? one.array.bytes() : 0, 1040 * whole.size());
        } catch (const Error& error) { EXPECT_EQ(error.report().op, "hdf5"); }
      }
    }
  }
#ifdef TEGULA_SANITIZER
  static_cast<void>(before);
#else
  EXPECT_LT(testing::peak_memory() - before, 200 << 20);
#endif
}

TEST(Hdf5Files, OtherFilesAreNamed) {
  EXPECT_ERROR(parse_hdf5(testing::bytes_of("\x89PNG\r\n\x1a\n...."), "x.h5"), "a PNG picture");
  EXPECT_ERROR(parse_hdf5(testing::bytes_of("\x89HDF\r\n\x1a\n"), "x.h5"), "without the signature");
}

}  // namespace
}  // namespace tegula::io
