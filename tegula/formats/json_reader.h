#pragma once
// Reads the JSON of a file with checks of its types and ranges. For the sources that read such files.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/line.h"
#include "tegula/core/shape.h"

namespace tegula::formats {

/// Called with the fault; does not return.
using Complain = std::function<void(const std::string& got, const std::string& expected)>;

class JsonReader {
 public:
  using json = nlohmann::json;
  explicit JsonReader(Complain complain) : complain_(std::move(complain)) {}

  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const;
  const json& at(const json& object, const char* key) const;
  /// A list; with `count`, of this length.
  const json& list(const json& given) const;
  const json& list(const json& given, std::size_t count) const;
  const json& list_at(const json& object, const char* key) const { return list(at(object, key)); }
  std::string text(const json& given) const;
  bool flag(const json& given) const;
  /// false where the object has no such key.
  bool flag_at(const json& object, const char* key) const;
  std::int64_t whole(const json& given) const;
  /// One in [least, most].
  std::int64_t whole(const json& given, std::int64_t least, std::int64_t most) const;
  std::int64_t whole_at(const json& object, const char* key, std::int64_t least, std::int64_t most) const {
    return whole(at(object, key), least, most);
  }
  /// An index in a list of `count` elements.
  int index(const json& given, std::size_t count, int least = 0) const;
  std::uint64_t word(const json& given) const;
  double real(const json& given) const;
  DType dtype(const json& given) const;
  /// Sizes of at least 0, fewer than 2^60 elements.
  Shape shape(const json& given) const;
  Dims dims(const json& given) const;
  std::vector<int> indices(const json& given, std::size_t count, int least = 0) const;

 private:
  Complain complain_;
};

}  // namespace tegula::formats
