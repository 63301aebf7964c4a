#pragma once
// The names of registers, variables, functions and operators in a kernel.

#include <cstdint>
#include <cstring>
#include <string>

namespace tegula::simt {

/// Letters, and a number behind them where there is one: v12 is {"v", 12}. Cheap to copy: the letters live until the program ends.
class Name {
 public:
  constexpr Name() = default;
  /// The name in a literal.
  constexpr Name(const char* letters, std::int32_t number = kNone) : letters_(letters), number_(number) {}
  /// The text is copied once for all equal texts.
  Name(const std::string& text);

  bool empty() const { return *letters_ == '\0'; }
  void append_to(std::string& out) const;
  std::string str() const;

  /// True if they are written alike.
  friend bool operator==(const Name& a, const Name& b) {
    if (a.number_ != b.number_) return (a.number_ == kNone || b.number_ == kNone) && a.str() == b.str();
    return a.letters_ == b.letters_ || std::strcmp(a.letters_, b.letters_) == 0;
  }

 private:
  static constexpr std::int32_t kNone = -1;

  const char* letters_ = "";
  std::int32_t number_ = kNone;
};

}  // namespace tegula::simt
