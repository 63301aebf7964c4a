#include "tegula/io/gnuplot.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/child.h"
#include "tegula/io/file.h"

namespace tegula::io::gnuplot {
namespace {

bool is_picture(const Bytes& bytes, Format format) {
  const std::string_view magic = format == Format::Png ? "\x89PNG" : "<?xml";
  return bytes.size() > magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

}  // namespace

void complain(const std::string& path, const std::string& got, std::string expected, std::string advice) {
  throw Error({.op = "plot", .got = path + ": " + got, .expected = std::move(expected), .advice = std::move(advice)});
}

std::string literal(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') out += "''";
    else out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + "'";
}

std::string number(double value) { return std::isfinite(value) ? number_text(value) : "NaN"; }

void require_size(const std::string& path, int width, int height) {
  if (width >= 100 && height >= 100 && width <= 10000 && height <= 10000) return;
  complain(path, std::to_string(width) + " x " + std::to_string(height) + " pixels", "100 to 10000 each way", "");
}

std::string terminal(Format format, int width, int height) {
  return std::string("set terminal ") + (format == Format::Png ? "pngcairo" : "svg") + " size " + std::to_string(width) + "," +
         std::to_string(height) + " noenhanced font 'sans,12' linewidth 1.2 background rgb 'white'\n";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\'';
    else out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + "\"";
}

Format format_of(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const auto dot = name.find_last_of('.');
  const std::string end = dot == std::string::npos ? "" : name.substr(dot);
  if (end == ".svg" || end == ".SVG") return Format::Svg;
  if (end != "" && end != ".png" && end != ".PNG")
    complain(path, "a name that ends in " + end, ".png or .svg", "no other kind of picture is drawn");
  return Format::Png;
}

void draw(const std::string& path, const std::string& text) {
  const Format format = format_of(path);
  const ChildResult result = run_child({"gnuplot", "-d", "-"}, std::as_bytes(std::span(text)));
  if (!result.found) complain(path, "no program gnuplot", "gnuplot in PATH", "install it (Debian and Ubuntu: apt-get install gnuplot-nox)");
  if (result.exit_code != 0 || !is_picture(result.output, format)) {
    complain(path, "gnuplot failed with code " + std::to_string(result.exit_code) + ": " + result.messages.substr(0, 400), "a picture",
             "gnuplot 5 with the terminals pngcairo and svg is needed (Debian and Ubuntu: gnuplot-nox)");
  }
  write_atomically(path, result.output, "plot");
}

}  // namespace tegula::io::gnuplot
