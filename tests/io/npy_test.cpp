// NumPy's files. The seeds of the fuzzers were written by NumPy 2.

#include "tegula/io/npy.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>

#include "tegula/core/warning.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

std::string seed(const std::string& kind, const std::string& name) { return source_folder() + "/tests/fuzz/" + kind + "/" + name; }

template <class T>
std::vector<T> values_of(const HostArray& array) {
  const auto values = array.values<T>();
  return {values.begin(), values.end()};
}

std::string npy(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  return text + header + data;
}
HostArray parsed(const std::string& header, const std::string& data) {
  const std::string text = npy(header, data);
  return parse_npy(testing::bytes_of(text), "file");
}

TEST(Npy, ReadsWhatNumPyWrote) {
  const HostArray plain = read_npy(seed("npy", "f32"));
  EXPECT_EQ(plain.dtype, f32);
  EXPECT_EQ(plain.shape, (Shape{2, 3}));
  EXPECT_EQ(values_of<float>(plain), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const HostArray fortran = read_npy(seed("npy", "fortran_big"));  // '>f8', the first axis fastest
  EXPECT_EQ(fortran.shape, (Shape{2, 3, 4}));
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(fortran.values<double>()[i], static_cast<double>(i));
  EXPECT_EQ(values_of<std::uint16_t>(read_npy(seed("npy", "u16"))), (std::vector<std::uint16_t>{0, 1, 2, 3, 4}));
  const HostArray scalar = read_npy(seed("npy", "scalar_bool"));
  EXPECT_EQ(scalar.shape, Shape{});
  EXPECT_TRUE(scalar.values<bool>()[0]);
  EXPECT_EQ(read_npy(seed("npy", "none")).shape, (Shape{0, 3}));
  EXPECT_EQ(static_cast<float>(read_npy(seed("npy", "version2")).values<Half>()[3]), 3.0f);
}

TEST(Npy, EveryDTypeComesBackAsItWas) {
  const testing::TemporaryFolder folder;
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 3, 2}}) {
      HostArray array = HostArray::empty(dtype, shape);
      auto* bytes = static_cast<unsigned char*>(array.buffer->data());
      for (std::size_t i = 0; i < array.bytes(); ++i) bytes[i] = dtype == boolean ? i % 2 : static_cast<unsigned char>(17 * i + 3);
      if (dtype == bf16 || is_float8(dtype)) {
        EXPECT_ERROR(write_npy(folder / "x.npy", array), "a tensor of " + std::string(name(dtype)) + ", expected a dtype that NumPy has");
        continue;
      }
      write_npy(folder / "x.npy", array);
      const HostArray again = read_npy(folder / "x.npy");
      EXPECT_EQ(again.dtype, dtype);
      EXPECT_EQ(again.shape, shape);
      EXPECT_TRUE(array.bytes() == 0 || std::memcmp(again.buffer->data(), bytes, array.bytes()) == 0);
      EXPECT_EQ((std::filesystem::file_size(folder / "x.npy") - array.bytes()) % 64, 0U);
    }
  }
}

TEST(Npy, BothByteOrdersAndUnsignedNumbers) {
  EXPECT_EQ(values_of<std::int16_t>(parsed("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }\n", {"\1\2\xff\xfe", 4})),
            (std::vector<std::int16_t>{0x0102, -2}));
  EXPECT_EQ(values_of<std::uint32_t>(parsed("{'shape': (1,), 'fortran_order': False, 'descr': \"<u4\"}", "\xff\xff\xff\xff")),
            (std::vector<std::uint32_t>{0xffffffff}));
  EXPECT_EQ(
      values_of<std::uint64_t>(parsed("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", "\xff\xff\xff\xff\xff\xff\xff\xff")),
      (std::vector<std::uint64_t>{18446744073709551615u}));
  EXPECT_TRUE(parsed("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\5").values<bool>()[0]);  // any other byte is true
}

TEST(Npy, RefusesWhatItCannotHold) {
  EXPECT_ERROR(parse_npy(testing::bytes_of("text"), "file"), "no .npy file");
  EXPECT_ERROR(parsed("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678"), "elements of type '<c8'");
  EXPECT_ERROR(parsed("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", ""), "elements of type '|O'");
  EXPECT_ERROR(parsed("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"), "records");
  EXPECT_ERROR(parsed("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"), "4 bytes of data for shape (2,)");
  EXPECT_ERROR(parsed("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""), "0 bytes of data");
  EXPECT_ERROR(parsed("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""), "a bad size");
  EXPECT_ERROR(parsed("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "1234"), "more than 8 axes");
  EXPECT_ERROR(parsed("{'descr': '<f4', 'shape': (1,), }", "1234"), "without descr, fortran_order or shape");
  EXPECT_ERROR(parsed("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", "1234"), "text behind the header");
  EXPECT_ERROR(parse_npy(testing::bytes_of(npy(std::string(200, 'x'), "").substr(0, 40)), "file"),
               "a header that ends at byte 210 of a file of 40");
}

TEST(Npz, ReadsWhatNumPyWrote) {
  const NamedArrays plain = read_npz(seed("npz", "plain"));
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_EQ(plain[0].first, "a");
  EXPECT_EQ(values_of<std::int32_t>(plain[0].second), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(values_of<double>(plain[1].second), (std::vector<double>{1, 0, 0, 1}));
  const NamedArrays compressed = read_npz(seed("npz", "compressed"));
  ASSERT_EQ(compressed.size(), 2U);
  EXPECT_EQ(compressed[0].second.shape, (Shape{4, 5}));
  EXPECT_EQ(compressed[1].first, "name with blank");
}

TEST(Npz, ComesBackAsItWasAndTheSameArraysGiveTheSameBytes) {
  const testing::TemporaryFolder folder;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const NamedArrays arrays{{"layer.weight", HostArray::from(std::span<const float>(numbers), {2, 3})}, {"ü", HostArray::empty(u8, {0})}};
  write_npz(folder / "a.npz", arrays);
  write_npz(folder / "b.npz", arrays);
  EXPECT_EQ(read_file(folder / "a.npz"), read_file(folder / "b.npz"));
  const NamedArrays again = read_npz(folder / "a.npz");
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].first, "layer.weight");
  EXPECT_EQ(values_of<float>(again[0].second), numbers);
  EXPECT_EQ(again[1].first, "ü");
  EXPECT_ERROR(write_npz(folder / "a.npz", {arrays[0], arrays[0]}), "twice or empty");
  EXPECT_EQ(folder.files(), 2);
}

/// An archive of stored members, as NumPy writes it.
struct ArchiveMember {
  std::string name, contents;  // packed, where a method is given
  int method = 0;
  std::uint64_t size = contents.size();
};
std::string archive_of(const std::vector<ArchiveMember>& members) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
    return out;
  };
  std::string all, directory;
  for (const auto& [name, contents, method, size] : members) {
    const std::string fields = number(0, 2) + number(static_cast<std::uint64_t>(method), 2) + number(0, 2) + number(0x21, 2) +
                               number(::crc32(0, reinterpret_cast<const Bytef*>(contents.data()), static_cast<uInt>(contents.size())), 4) +
                               number(contents.size(), 4) + number(size, 4) + number(name.size(), 2) + number(0, 2);
    directory += "PK\1\2" + number(20, 2) + number(20, 2) + fields + number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                 number(all.size(), 4) + name;
    all += "PK\3\4" + number(20, 2) + fields + name + contents;
  }
  const std::size_t begin = all.size();
  return all + directory + "PK\5\6" + number(0, 4) + number(members.size(), 2) + number(members.size(), 2) + number(directory.size(), 4) +
         number(begin, 4) + number(0, 2);
}

TEST(Npz, AMemberThatIsNoNumbersSpoilsNoOther) {
  const testing::TemporaryFolder folder;
  const std::string texts = npy("{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", std::string(12, '\0'));
  const std::string records = npy("{'descr': [('a', '<f4'), ('b]', '|S2')], 'fortran_order': False, 'shape': (1,), }", "123456");
  const std::string numbers = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "\1\2");
  const std::string path = folder / "graph.npz";
  write_atomically(path, testing::bytes_of(archive_of({{"names.npy", texts}, {"x.npy", numbers}, {"nodes.npy", records}})));
  std::vector<std::string> told;
  set_warning_handler([&](const std::string&, const std::string& text) { told.push_back(text); });
  const NamedArrays arrays = read_npz(path);
  set_warning_handler({});
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_EQ(arrays[0].first, "x");
  EXPECT_EQ(told, (std::vector<std::string>{path + ": left out member names, elements of type '<U3'",
                                            path + ": left out member nodes, records (a structured dtype)"}));
  EXPECT_EQ(values_of<std::uint8_t>(read_npz(path, "x")), (std::vector<std::uint8_t>{1, 2}));
  EXPECT_ERROR(read_npz(path, "names"), "graph.npz, names.npy: elements of type '<U3'");
  EXPECT_ERROR(read_npz(path, "y"), "no member y, expected one of names, x, nodes");
  const auto members = list_npz(path);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[1].header.shape, (Shape{2}));
  EXPECT_EQ(members[0].header.unreadable, "elements of type '<U3'");
}

TEST(Npz, AMemberThatAsksForMoreThanItHasIsNotInflated) {
  const std::string header = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000,), }", "");
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(1 << 20, '\0'), piece = header;
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  for (int i = 0; i <= 64; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_in = static_cast<uInt>(piece.size());
    deflate(&stream, i < 64 ? Z_NO_FLUSH : Z_FINISH);
    piece.assign(1 << 20, '\0');
  }
  packed.resize(stream.total_out);
  const std::uint64_t size = stream.total_in;
  deflateEnd(&stream);
  const std::string archive = archive_of({{"a.npy", packed, 8, size}});
  const long before = testing::peak_memory();
  EXPECT_ERROR(parse_npz(testing::bytes_of(archive), "file"), "file, a.npy: 67108864 bytes of data for shape (1000000000,)");
  EXPECT_LT(testing::peak_memory() - before, 16 << 20);
}

TEST(Npz, DamageIsFound) {
  EXPECT_ERROR(parse_npz({}, "file"), "file: an empty file");
  Bytes bytes = read_file(seed("npz", "plain"));
  EXPECT_ERROR(parse_npz(std::span(bytes).first(bytes.size() / 2), "file"), "a zip archive");
  // A byte of an array: the CRC notices.
  const std::string text = testing::text_of(bytes);
  bytes[text.find("NUMPY") + 130] ^= std::byte{1};
  EXPECT_ERROR(parse_npz(bytes, "file"), "CRC");
}

TEST(Npy, FilesOfAnotherProgram) {
  const std::string shared = testing::shared_data();
  if (shared.empty()) GTEST_SKIP() << "skipped: no shared data";
  const std::string folder = shared + "/format-conformance/numpy-and-pth/candle/";
  EXPECT_EQ(read_npy(folder + "test.npy").size(), 10);
  const NamedArrays arrays = read_npz(folder + "test.npz");
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].first, "x");
}

}  // namespace
}  // namespace tegula::io
