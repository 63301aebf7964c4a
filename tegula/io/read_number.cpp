#include "tegula/io/read_number.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace tegula::io {
namespace {

/// True if a decimal number beyond the range of doubles is large: its first digit that is not 0 stands for 10^0 or more.
bool is_large(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view digits = text.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), digits.size()), first = digits.find_first_of("123456789");
  std::int64_t power = 0;
  if (e != std::string_view::npos) {
    const char* begin = text.data() + e + 1;
    if (*begin == '+') ++begin;
    if (std::from_chars(begin, text.data() + text.size(), power).ec == std::errc::result_out_of_range) return *begin != '-';
  }
  if (first == std::string_view::npos) return false;
  power = std::clamp<std::int64_t>(power, -1'000'000'000'000, 1'000'000'000'000);
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return place + power > 0;
}

}  // namespace

std::optional<double> read_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (rest != text.data() + text.size() || error == std::errc::invalid_argument) return {};
  if (error == std::errc()) return value;
  const double size = is_large(text) ? std::numeric_limits<double>::infinity() : 0.0;
  return text.starts_with('-') ? -size : size;
}

}  // namespace tegula::io
