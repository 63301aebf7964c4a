#pragma once
// GGUF files of tests, key by key.

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/io/file.h"
#include "tests/io/files.h"

namespace tegula::testing {

/// The bytes of a GGUF file of version 3.
class GgufWriter {
 public:
  GgufWriter& key(const std::string& name, std::uint32_t value) { return entry(name, 4), add(keys_, value), *this; }
  GgufWriter& key(const std::string& name, float value) { return entry(name, 6), add(keys_, value), *this; }
  GgufWriter& key(const std::string& name, const std::string& value) { return entry(name, 8), text(keys_, value), *this; }
  GgufWriter& key(const std::string& name, const std::vector<std::string>& values) {
    entry(name, 9), add(keys_, std::uint32_t{8}), add(keys_, static_cast<std::uint64_t>(values.size()));
    for (const std::string& value : values) text(keys_, value);
    return *this;
  }
  GgufWriter& key(const std::string& name, const std::vector<float>& values) {
    entry(name, 9), add(keys_, std::uint32_t{6}), add(keys_, static_cast<std::uint64_t>(values.size()));
    for (const float value : values) add(keys_, value);
    return *this;
  }
  GgufWriter& key(const std::string& name, const std::vector<std::int32_t>& values) {
    entry(name, 9), add(keys_, std::uint32_t{5}), add(keys_, static_cast<std::uint64_t>(values.size()));
    for (const std::int32_t value : values) add(keys_, value);
    return *this;
  }
  GgufWriter& tensor(const std::string& name, const Tensor& value) {
    ++tensor_count_;
    text(tensors_, name);
    add(tensors_, static_cast<std::uint32_t>(value.rank()));
    for (int axis = value.rank(); axis-- > 0;) add(tensors_, static_cast<std::uint64_t>(value.size(axis)));
    add(tensors_, std::uint32_t{0});
    add(tensors_, static_cast<std::uint64_t>(data_.size()));
    for (const float number : value.to_host()) add(data_, number);
    data_.resize((data_.size() + 31) / 32 * 32);
    return *this;
  }
  void write(const std::string& path) const {
    std::string out = "GGUF";
    add(out, std::uint32_t{3}), add(out, tensor_count_), add(out, key_count_);
    out += keys_ + tensors_;
    out.resize((out.size() + 31) / 32 * 32);
    io::write_atomically(path, bytes_of(out + data_));
  }

 private:
  template <class T>
  static void add(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void text(std::string& out, const std::string& value) { add(out, static_cast<std::uint64_t>(value.size())), out += value; }
  void entry(const std::string& name, std::uint32_t type) { ++key_count_, text(keys_, name), add(keys_, type); }

  std::string keys_, tensors_, data_;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
};

}  // namespace tegula::testing
