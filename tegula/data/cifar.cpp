#include "tegula/data/cifar.h"

#include <sys/stat.h>

#include <vector>

#include "tegula/core/error.h"
#include "tegula/io/file.h"

namespace tegula::data {
namespace {

constexpr std::size_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;
constexpr int kClasses = 10, kBatches = 5;

[[noreturn]] void complain(std::string_view name, const std::string& got, std::string expected) {
  throw Error({.op = "cifar10",
               .got = std::string(name) + ": " + got,
               .expected = std::move(expected),
               .advice = "the file is damaged, or not the binary version of CIFAR-10"});
}

/// The number of records.
std::size_t check(std::span<const std::byte> bytes, std::string_view name) {
  if (bytes.size() % kRecord != 0 || bytes.empty()) {
    complain(name, std::to_string(bytes.size()) + " bytes", "records of " + std::to_string(kRecord) + " bytes, at least one");
  }
  const std::size_t count = bytes.size() / kRecord;
  for (std::size_t i = 0; i < count; ++i) {
    const int label = std::to_integer<int>(bytes[i * kRecord]);
    if (label >= kClasses) complain(name, "label " + std::to_string(label) + " at " + std::to_string(i), "0 to 9");
  }
  return count;
}

LabelledImages decoded(std::span<const std::byte> bytes, std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  LabelledImages out{HostArray::empty(f32, {n, 3, 32, 32}), HostArray::empty(i64, {n})};
  const auto images = out.images.values<float>();
  const auto labels = out.labels.values<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    const auto record = bytes.subspan(i * kRecord, kRecord);
    labels[i] = std::to_integer<int>(record[0]);
    for (std::size_t p = 0; p < kPixels; ++p) images[i * kPixels + p] = static_cast<float>(std::to_integer<int>(record[1 + p])) / 255.0f;
  }
  return out;
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

LabelledImages parse_cifar10(std::span<const std::byte> bytes, std::string_view name) { return decoded(bytes, check(bytes, name)); }

std::pair<LabelledImages, LabelledImages> cifar10(const std::string& dir) {
  const auto path = [&](const std::string& name) { return dir + "/" + name + ".bin"; };
  io::Bytes train;
  std::size_t count = 0;
  for (int i = 1; i <= kBatches; ++i) {
    const std::string batch = path("data_batch_" + std::to_string(i));
    if (i > 1 && !exists(batch)) break;
    const io::Bytes bytes = io::read_file(batch, {.op = "cifar10"});
    count += check(bytes, batch);
    train.insert(train.end(), bytes.begin(), bytes.end());
  }
  const io::Bytes test = io::read_file(path("test_batch"), {.op = "cifar10"});
  return {decoded(train, count), parse_cifar10(test, path("test_batch"))};
}

}  // namespace tegula::data
