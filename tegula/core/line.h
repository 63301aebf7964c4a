#pragma once
// The position in a program or a file that a tensor, an op or an error comes from.

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace tegula {

/// A line of C++ (made from std::source_location), of a program in another language, of a text file, or a named element of a file (an ONNX
/// node). Cheap to copy: the texts live until the program ends. line() is 0 where there is no line; a default Line names nothing.
class Line {
 public:
  constexpr Line() = default;
  constexpr Line(const std::source_location& where) noexcept
      : file_(where.file_name()),
        name_(where.function_name()),
        line_(where.line()),
        column_(where.column()) {}
  /// `file` and `name` are copied once for all equal texts. name: a function, or the element of a file where `line` is 0.
  Line(std::string_view file, std::uint32_t line, std::string_view name = {});

  /// The line of the caller, as a default argument: `Tensor relu(const Tensor& x, Line where = Line::current())`.
  static constexpr Line current(const std::source_location& where = std::source_location::current()) noexcept { return where; }

  constexpr std::uint32_t line() const { return line_; }
  constexpr std::uint32_t column() const { return column_; }
  constexpr const char* file_name() const { return file_; }
  constexpr const char* function_name() const { return name_; }
  /// True if it names a line, or an element of a file.
  constexpr bool known() const { return line_ > 0 || (*file_ && *name_); }

 private:
  const char* file_ = "";
  const char* name_ = "";
  std::uint32_t line_ = 0;
  std::uint32_t column_ = 0;
};

/// "main.cpp:12"; "model.onnx, node Conv_12" for an element of a file named so; "" for a Line that names nothing.
std::string to_string(const Line& where);

}  // namespace tegula
