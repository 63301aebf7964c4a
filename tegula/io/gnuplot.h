#pragma once
// Shared by all pictures: pieces of a script for the program gnuplot, and the call of it.

#include <cstdint>
#include <string>

namespace tegula::io::gnuplot {

// Told apart by people with any colour vision (Okabe and Ito).
inline constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};

enum class Format : std::uint8_t { Png, Svg };
/// The format by the end of the name: PNG also where it has none. Throws Error for another ending.
Format format_of(const std::string& path);

/// Throws the Error of a picture.
[[noreturn]] void complain(const std::string& path, const std::string& got, std::string expected, std::string advice);
/// Throws Error unless both are 100 to 10000 pixels.
void require_size(const std::string& path, int width, int height);

/// A gnuplot string: single quotes, which are doubled inside; control characters become blanks.
std::string literal(const std::string& text);
/// The number in gnuplot's notation, whatever the locale.
std::string number(double value);
/// A field of a data block.
std::string quoted(const std::string& text);
/// The line that a script begins with.
std::string terminal(Format format, int width, int height);

/// Runs gnuplot on the script and writes the picture as a whole. Throws Error if gnuplot is not installed or fails.
void draw(const std::string& path, const std::string& text);

}  // namespace tegula::io::gnuplot
