// PyTorch's files: written and read, third-party files, and files that must be refused.

#include "tegula/io/pytorch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tegula/core/warning.h"
#include "tegula/io/weights.h"
#include "tegula/io/zip_archive.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

using namespace std::string_literals;
using testing::bytes_of;
using testing::TemporaryFolder;

constexpr ZipUser kZip{.op = "test", .kind = "an archive"};

std::string word(std::uint32_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }
std::string global(const std::string& name) {
  return "c" + name.substr(0, name.rfind('.')) + "\n" + name.substr(name.rfind('.') + 1) + "\n";
}
std::string text(const std::string& t) { return "X" + word(static_cast<std::uint32_t>(t.size())) + t; }
std::string natural(int n) { return "J" + word(static_cast<std::uint32_t>(n)); }
std::string tuple(const std::vector<int>& some) {
  std::string out = "(";
  for (const int n : some) out += natural(n);
  return out + "t";
}
std::string storage(const std::string& key, int count, const std::string& kind = "torch.FloatStorage", const std::string& view = "") {
  return "(" + text("storage") + global(kind) + text(key) + text("cpu") + natural(count) + view + "tQ";
}
std::string tensor(const std::string& storage, int offset, const std::vector<int>& sizes, const std::vector<int>& strides) {
  return global("torch._utils._rebuild_tensor_v2") + "(" + storage + natural(offset) + tuple(sizes) + tuple(strides) + "\x89" +
         global("collections.OrderedDict") + ")RtR";
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "}(";
  for (const auto& [name, value] : entries) out += text(name) + value;
  return out + "u";
}

/// An archive of one pickle and storages of f32 numbers 0, 1, 2 …, "0" of six and "1" of three.
Bytes archive(const std::string& pickle, std::vector<std::pair<std::string, std::string>> more = {}) {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  const auto bytes = std::as_bytes(std::span(numbers));
  const std::string whole = "\x80\x02" + pickle + ".";
  std::vector<std::pair<std::string, std::span<const std::byte>>> members{
      {"archive/data.pkl", bytes_of(whole)}, {"archive/data/0", bytes}, {"archive/data/1", bytes.first(12)}};
  for (const auto& [name, contents] : more) members.emplace_back("archive/" + name, bytes_of(contents));
  return zip_archive(members, "test", kZip);
}
NamedArrays read(const std::string& pickle, const std::string& entry = "") { return parse_pytorch(archive(pickle), "x.pt", entry); }

std::vector<float> numbers(const HostArray& array) { return {array.values<float>().begin(), array.values<float>().end()}; }
std::string names(const NamedArrays& arrays) {
  std::string out;
  for (const auto& [name, array] : arrays) out += name + to_string(array.shape) + " ";
  return out;
}

TEST(PyTorch, ReadsWhatItWrites) {
  const TemporaryFolder folder;
  NamedArrays arrays;
  for (const DType dtype : {f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean}) {
    HostArray array = HostArray::empty(dtype, {2, 3});
    auto* bytes = static_cast<std::uint8_t*>(array.buffer->data());
    for (std::size_t i = 0; i < array.bytes(); ++i) bytes[i] = static_cast<std::uint8_t>(dtype == boolean ? i % 2 : 7 * i + 1);
    arrays.emplace_back("layer." + std::string(name(dtype)), array);
  }
  arrays.emplace_back("scalar", HostArray::from(std::span<const float>(std::vector<float>{2.5F}), {}));
  arrays.emplace_back("empty", HostArray::empty(f32, {0, 4}));
  write_pytorch(folder / "all.pt", arrays);
  const NamedArrays again = read_weights(folder / "all.pt");
  ASSERT_EQ(again.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(again[i].first, arrays[i].first);
    ASSERT_EQ(again[i].second.dtype, arrays[i].second.dtype);
    ASSERT_EQ(again[i].second.shape, arrays[i].second.shape);
    EXPECT_EQ(std::memcmp(again[i].second.buffer->data(), arrays[i].second.buffer->data(), arrays[i].second.bytes()), 0) << again[i].first;
  }
  EXPECT_ERROR(write_pytorch(folder / "twice.pt", {arrays[0], arrays[0]}), "twice");
  EXPECT_EQ(folder.files(), 1);
}

TEST(PyTorch, ViewsAreWhatTheyShow) {
  const std::string six = storage("0", 6);
  const NamedArrays arrays = read(dict({{"whole", tensor(six, 0, {2, 3}, {3, 1})},
                                        {"transposed", tensor(six, 0, {3, 2}, {1, 3})},
                                        {"row", tensor(six, 3, {3}, {1})},
                                        {"every second", tensor(six, 1, {3}, {2})},
                                        {"repeated", tensor(six, 5, {4}, {0})},
                                        {"tied", tensor(six, 0, {6}, {1})},
                                        {"scalar", tensor(six, 4, {}, {})},
                                        {"none", tensor(six, 6, {0}, {1})}}));
  ASSERT_EQ(arrays.size(), 8u);
  EXPECT_EQ(numbers(arrays[0].second), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(arrays[1].second), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(numbers(arrays[2].second), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(numbers(arrays[3].second), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(numbers(arrays[4].second), (std::vector<float>{5, 5, 5, 5}));
  EXPECT_EQ(arrays[5].second.buffer, arrays[0].second.buffer);
  EXPECT_EQ(numbers(arrays[6].second), (std::vector<float>{4}));
  EXPECT_EQ(arrays[7].second.size(), 0);
}

TEST(PyTorch, FindsTheStateDictOfACheckpoint) {
  const std::string w = tensor(storage("0", 6), 0, {6}, {1}), m = tensor(storage("1", 3), 0, {3}, {1});
  const std::string state = dict({{"fc.weight", w}});
  const std::string checkpoint =
      dict({{"epoch", "K\x07"}, {"state_dict", state}, {"optimizer", dict({{"state", dict({{"0", dict({{"exp_avg", m}})}})}})}});
  EXPECT_EQ(names(read(checkpoint)), "fc.weight(6,) ");
  EXPECT_EQ(names(read(checkpoint, "optimizer.state")), "0.exp_avg(3,) ");
  EXPECT_EQ(names(read(dict({{"model", state}, {"bias", m}}))), "model.fc.weight(6,) bias(3,) ");
  EXPECT_EQ(names(read(dict({{"layers", "](" + w + m + "e"}}))), "layers.0(6,) layers.1(3,) ");
  EXPECT_EQ(names(read(w)), "tensor(6,) ");
  EXPECT_ERROR(read(checkpoint, "scheduler"), "no entry \"scheduler\", expected one of epoch, state_dict, optimizer");
}

TEST(PyTorch, ParametersAreTheirTensors) {
  const std::string parameter = global("torch._utils._rebuild_parameter") + "(" + tensor(storage("1", 3), 0, {3}, {1}) + "\x88" +
                                global("collections.OrderedDict") + ")RtR";
  EXPECT_EQ(names(read(dict({{"w", parameter}}))), "w(3,) ");
}

TEST(PyTorch, NothingIsExecuted) {
  const std::string system = global("os.system") + "(" + text("rm -rf /") + "tR";
  EXPECT_ERROR(read(dict({{"w", system}})), "the Python object os.system, expected tensors, numbers, texts");
  EXPECT_ERROR(read(global("__main__.Net") + ")\x81"), "the Python object __main__.Net");
  EXPECT_ERROR(read("(" + text("x") + "i__builtin__\neval\n"), "the opcode 0x69");
  EXPECT_ERROR(parse_pytorch(archive("}", {{"constants.pkl", ")."}}), "x.pt"), "a TorchScript archive");
}

TEST(PyTorch, TensorsStayInTheirStorage) {
  const std::string six = storage("0", 6);
  EXPECT_ERROR(read(tensor(six, 0, {7}, {1})), "shape (7,) outside of its storage of 6 elements");
  EXPECT_ERROR(read(tensor(six, 4, {2, 2}, {1, 1})), "outside of its storage");
  EXPECT_ERROR(read(tensor(six, 0, {2147483647, 2147483647, 2147483647}, {2147483647, 2147483647, 2147483647})), "outside of its storage");
  EXPECT_ERROR(read(tensor(six, 0, {2}, {-1})), "no natural number");
  EXPECT_ERROR(read(tensor(storage("7", 6), 0, {6}, {1})), "no storage 7");
  EXPECT_ERROR(read(tensor(storage("0", 100), 0, {100}, {1})), "outside of its storage");
  EXPECT_ERROR(read(tensor(storage("0", 6, "torch.IntTensor"), 0, {6}, {1})), "the Python object torch.IntTensor");
}

TEST(PyTorch, SmallFilesTakeLittleMemory) {
  const long before = testing::peak_memory();
  EXPECT_ERROR(read(tensor(storage("0", 6), 0, {2147483647, 2147483647}, {0, 0})), "views of");
  std::string lists = "]";
  for (int i = 0; i < 40; ++i)
    lists += "q" + std::string(1, static_cast<char>(i)) + "]h" + std::string(1, static_cast<char>(i)) + "ah" +
             std::string(1, static_cast<char>(i)) + "a";
  EXPECT_ERROR(read(lists), "more entries than the file bytes");
  std::string deep = "]";
  for (int i = 0; i < 100; ++i) deep = "]" + deep + "a";
  EXPECT_ERROR(read(deep), "more than 64 deep");
  std::string circle =
      "]q\x01h\x01"
      "a";
  EXPECT_ERROR(read(circle), "more than 64 deep");
  EXPECT_LT(testing::peak_memory() - before, 64 << 20);
}

TEST(PyTorch, TruncatedFilesAreRefused) {
  const Bytes whole = archive(dict({{"w", tensor(storage("0", 6), 0, {6}, {1})}}));
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_THROW(parse_pytorch(std::span(whole).first(length), "x.pt"), Error) << length;
  }
}

std::string folder_of(const char* name) { return testing::shared_data() + "/format-conformance/" + name; }

TEST(PyTorch, ReadsFilesOfOthers) {
  const std::string folder = folder_of("pytorch-pt");
  if (testing::shared_data().empty() || !is_folder(folder)) GTEST_SKIP() << "no ../shared/data/format-conformance";
  std::map<std::string, std::string> refused;
  int read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    const std::string message = testing::message_of([&] { EXPECT_GE(read_pytorch(file.path().string()).size(), 0u); });
    if (message.empty()) ++read;
    else refused[file.path().filename().string()] = message;
  }
  EXPECT_EQ(read, 53);
  // One is broken on purpose, and the form before 0.1.10, a tar, is not read.
  EXPECT_TRUE(refused.contains("broken.pt"));
  refused.erase("broken.pt");
  for (const auto& [name, message] : refused) EXPECT_NE(message.find("a tar archive"), std::string::npos) << name << ": " << message;
}

TEST(PyTorch, OldFilesShareStoragesAndHaveViews) {
  const std::string folder = folder_of("pytorch-pt/burn-reader/");
  if (testing::shared_data().empty() || !is_folder(folder)) GTEST_SKIP() << "no ../shared/data/format-conformance";
  const NamedArrays views = read_pytorch(folder + "legacy_uncloned_views.pt");
  EXPECT_EQ(names(views), "tensor1(10,) tensor2(10,) ");
  EXPECT_EQ(numbers(views[0].second), (std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(numbers(views[1].second), (std::vector<float>{50, 51, 52, 53, 54, 55, 56, 57, 58, 59}));
  const NamedArrays offsets = read_pytorch(folder + "legacy_with_offsets.pt");
  EXPECT_EQ(names(offsets), "tensor1(10,) tensor2(5,) tensor3(5,) ");
  EXPECT_EQ(numbers(offsets[2].second), (std::vector<float>{3.0F, 3.1F, 3.2F, 3.3F, 3.4F}));
  EXPECT_EQ(names(read_pytorch(folder + "simple_legacy.pt")), "weight(2, 3) bias(2,) running_mean(2,) ");
}

}  // namespace
}  // namespace tegula::io
