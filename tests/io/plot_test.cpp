#include "tegula/io/plot.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "tegula/io/child.h"
#include "tegula/io/file.h"
#include "tegula/io/plot_bars.h"
#include "tegula/io/png.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

using tegula::testing::bytes_of;
using tegula::testing::TemporaryFolder;
using tegula::testing::text_of;

bool have_gnuplot() { return run_child({"gnuplot", "--version"}, {}).found; }

/// The number of pixels that are close to the colour.
int count(const HostArray& image, int red, int green, int blue) {
  int n = 0;
  const auto v = image.values<std::uint8_t>();
  const auto channels = static_cast<std::size_t>(image.shape[2]);
  for (std::size_t i = 0; i + 2 < v.size(); i += channels)
    n += std::abs(v[i] - red) + std::abs(v[i + 1] - green) + std::abs(v[i + 2] - blue) < 12;
  return n;
}

TEST(RunChild, KeepsWhatSeveralProcessesWriteAtOnce) {
  const ChildResult ran =
      run_child({"sh", "-c", "for w in 1 2 3 4; do (i=0; while [ $i -lt 500 ]; do echo line; i=$((i + 1)); done) & done; wait"}, {});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output.size(), 4 * 500 * std::string_view("line\n").size());
}

TEST(RunChild, GivesOutputMessagesAndExitCode) {
  const std::string text(300'000, 'x');  // more than a pipe holds
  const ChildResult echo = run_child({"cat"}, bytes_of(text));
  EXPECT_TRUE(echo.found);
  EXPECT_EQ(text_of(echo.output), text);
  const ChildResult failing = run_child({"sh", "-c", "echo no >&2; exit 3"}, {});
  EXPECT_EQ(failing.exit_code, 3);
  EXPECT_EQ(failing.messages, "no\n");
  EXPECT_FALSE(run_child({"no-such-program-anywhere"}, {}).found);
}

TEST(Plot, DrawsBothCurvesOfBothPanels) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  plot(folder / "curve.png", LearningCurve{.title = "it's a 'test' `ls` {x}_y \n %s",
                                           .train_loss = {1, 0.5, 0.3},
                                           .test_loss = {0.9, 0.6, 0.5},
                                           .train_accuracy = {0.5, 0.8, 0.9},
                                           .test_accuracy = {0.55, 0.7, 0.8}});
  const HostArray image = read_png(folder / "curve.png");
  EXPECT_EQ(image.shape[0], 500);
  EXPECT_EQ(image.shape[1], 900);
  EXPECT_GT(count(image, 0x00, 0x72, 0xB2), 300);  // train
  EXPECT_GT(count(image, 0xD5, 0x5E, 0x00), 300);  // test
  EXPECT_EQ(folder.files(), 1);
}

TEST(Plot, DrawsOnePointAndGapsForNan) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  plot(folder / "a.png", LearningCurve{.title = {}, .train_loss = {1}, .test_loss = {}, .train_accuracy = {}, .test_accuracy = {}});
  plot(folder / "b.png",
       LearningCurve{.title = {}, .train_loss = {1, NAN, 2, INFINITY, 1}, .test_loss = {}, .train_accuracy = {}, .test_accuracy = {}});
  EXPECT_EQ(folder.files(), 2);
}

TEST(Plot, ShadesAMapWithBothNames) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  const Heatmap map{.title = {},
                    .rows = {"the", "'red'", "dog"},
                    .columns = {"der", "rote", "Hund", "</s>"},
                    .values = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
                    .row_label = "translation",
                    .column_label = "source"};
  plot(folder / "map.png", map);
  const HostArray image = read_png(folder / "map.png");
  const int dark = count(image, 0x08, 0x30, 0x6B);
  EXPECT_GT(dark, 3 * 500);  // three cells of some 30 x 30 pixels, and the legend
  EXPECT_LT(dark, 12 * 900);
  Heatmap wrong = map;
  wrong.values.pop_back();
  EXPECT_THROW(plot(folder / "wrong.png", wrong), Error);
  wrong = map, wrong.values[0] = NAN;
  EXPECT_THROW(plot(folder / "wrong.png", wrong), Error);
  wrong = map, wrong.columns.clear(), wrong.values.clear();
  EXPECT_THROW(plot(folder / "wrong.png", wrong), Error);
  EXPECT_EQ(folder.files(), 1);
}

TEST(Plot, AMapsShadesReachAsFarAsItsValues) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  const auto dark = [&](const Heatmap& map, int red, int green, int blue) {
    plot(folder / "map.png", map);
    return count(read_png(folder / "map.png"), red, green, blue);
  };
  Heatmap counts{.rows = {"a", "b"}, .columns = {"a", "b"}, .values = {90, 10, 30, 60}};
  const int one = dark(counts, 0x08, 0x30, 0x6B);  // only the greatest of the four cells
  EXPECT_GT(one, 1000);
  counts.maximum = 60;  // values above it are as dark
  EXPECT_GT(dark(counts, 0x08, 0x30, 0x6B), one * 18 / 10);
  EXPECT_GT(dark({.rows = {"a"}, .columns = {"a", "b", "c"}, .values = {-1, 0, 1}}, 0xB2, 0x18, 0x2B), 400) << "below 0";
  EXPECT_ERROR(plot(folder / "m.png", Heatmap{.rows = {"a"}, .columns = {"a"}, .values = {1}, .minimum = 2}), "shades from 2 to 1");
}

TEST(Plot, CellsOfAMapHaveTheirNumbers) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  Heatmap map{.rows = {"a", "b"}, .columns = {"a", "b"}, .values = {0.25, 1, 0, 0.5}, .decimals = 2};
  plot(folder / "map.svg", map);
  const std::string svg = text_of(read_file(folder / "map.svg"));
  for (const char* number : {"0.25", "1.00", "0.00", "0.50"}) EXPECT_NE(svg.find(number), std::string::npos) << number;
  map.numbers = {"one", "two", "three", "four"};
  plot(folder / "map.svg", map);
  EXPECT_NE(text_of(read_file(folder / "map.svg")).find("three"), std::string::npos);
  map.numbers.pop_back();
  EXPECT_ERROR(plot(folder / "m.png", map), "3 numbers, expected one for each of the 4 values");
}

TEST(Plot, TheLegendLiesWhereNoCurveIsOrAbove) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  // Three curves, of which one comes to each corner: blue all along the top, orange along the bottom.
  std::vector<double> x, top, bottom, wave;
  for (int i = 0; i < 100; ++i) x.push_back(i), top.push_back(1), bottom.push_back(0), wave.push_back(0.5 + 0.4 * std::sin(i));
  const auto blue = [&](std::vector<Series> series) {
    plot(folder / "p.png", Figure{.panels = {{.series = std::move(series)}}});
    return count(read_png(folder / "p.png"), 0x00, 0x72, 0xB2);
  };
  const int alone = blue({{"a", x, top}, {"", x, bottom}});
  EXPECT_GE(blue({{"the past of it", x, top}, {"what was said", x, bottom}, {"the third of them", x, wave}}), alone * 95 / 100);
}

TEST(Plot, DrawsHistogramsAndBarCharts) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  Histogram histogram{.title = "weights", .x_label = "value", .bins = 4};
  for (int i = 0; i < 100; ++i) histogram.values.push_back(i < 90 ? 0.1 : 1);
  histogram.values.push_back(NAN);
  plot(folder / "h.png", histogram);
  EXPECT_GT(count(read_png(folder / "h.png"), 0x1A, 0x80, 0xBA), 20000);
  histogram.values = {2};
  EXPECT_NO_THROW(plot(folder / "h.png", histogram));
  histogram.values = {NAN};
  EXPECT_ERROR(plot(folder / "h.png", histogram), "1 values and 4 bins, expected a finite value");
  BarChart chart{.title = "it's", .y_label = "accuracy", .names = {"cat", "dog", "a very long name of a class"}, .values = {0.5, -0.2, 1}};
  plot(folder / "b.png", chart);
  EXPECT_GT(count(read_png(folder / "b.png"), 0x1A, 0x80, 0xBA), 20000);
  chart.values.pop_back();
  EXPECT_ERROR(plot(folder / "b.png", chart), "3 names and 2 values");
}

TEST(Plot, ACurveOfNaNAloneIsLeftOut) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  EXPECT_NO_THROW(
      plot(folder / "p.png",
           LearningCurve{.train_loss = {1, 2}, .test_loss = {NAN, NAN}, .train_accuracy = {NAN, NAN}, .test_accuracy = {NAN, NAN}}));
  EXPECT_ERROR(plot(folder / "p.png", LearningCurve{.train_loss = {NAN, NAN}}), "panel 'loss' without a finite point");
}

TEST(Plot, DrawsLogarithmicAndNamedAxesAsPngAndSvg) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  Figure figure{.title = "rate",
                .x_label = "N",
                .panels = {{.y_label = "GFLOP/s", .series = {{"cpu", {64, 128, 256}, {1, 10, 100}}}, .y_scale = Scale::Log10}},
                .x_scale = Scale::Log2};
  plot(folder / "a.png", figure);
  EXPECT_GT(count(read_png(folder / "a.png"), 0x00, 0x72, 0xB2), 300);
  plot(folder / "a.svg", figure);
  const std::string svg = text_of(read_file(folder / "a.svg"));
  EXPECT_NE(svg.find("GFLOP/s"), std::string::npos);
  EXPECT_NE(svg.find(">128<"), std::string::npos) << "ticks at powers of two";
  figure.x_scale = Scale::Linear;
  figure.x_names = {"direct", "tiled", "library"};
  figure.panels[0].series[0].x = {0, 1, 2};
  plot(folder / "b.svg", figure);
  EXPECT_NE(text_of(read_file(folder / "b.svg")).find("tiled"), std::string::npos);
  figure.x_names.clear();
  figure.x_scale = Scale::Log2;
  figure.panels[0].series[0].x = {0, -1, -2};
  EXPECT_ERROR(plot(folder / "c.png", figure), "without a finite point");
}

TEST(Plot, FewPointsAndShortLogarithmicAxesAreReadable) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  // Two points are two dots, not only a line from corner to corner: more ink than the same curve of ten.
  const auto ink = [&](std::vector<double> losses) {
    plot(folder / "a.png",
         LearningCurve{.title = {}, .train_loss = std::move(losses), .test_loss = {}, .train_accuracy = {}, .test_accuracy = {}});
    const HostArray image = read_png(folder / "a.png");
    const auto v = image.values<std::uint8_t>();
    const auto width = static_cast<std::size_t>(image.shape[1]), channels = static_cast<std::size_t>(image.shape[2]);
    std::size_t first = SIZE_MAX, last = 0, pixels = 0;
    for (std::size_t i = 0; i + 2 < v.size(); i += channels) {
      if (std::abs(v[i] - 0x00) + std::abs(v[i + 1] - 0x72) + std::abs(v[i + 2] - 0xB2) >= 12) continue;
      if (i / channels % width > width / 2 && i / channels / width < 80) continue;  // the legend
      first = std::min(first, i / channels / width);
      last = std::max(last, i / channels / width);
      ++pixels;
    }
    return std::array<std::size_t, 3>{first, last, pixels};
  };
  const auto one = ink({1});
  EXPECT_GT(one[2], 60U);  // a dot of some ten pixels
  const auto two = ink({1, 0.5});
  EXPECT_GT(two[0], 25U);   // off the upper edge
  EXPECT_LT(two[1], 455U);  // and off the axis
  const Figure figure{.title = {},
                      .x_label = "N",
                      .panels = {{.y_label = "GB/s", .series = {{"cpu", {64, 128, 256}, {900, 1500, 2500}}}, .y_scale = Scale::Log10}}};
  plot(folder / "b.svg", figure);
  const std::string svg = text_of(read_file(folder / "b.svg"));
  EXPECT_NE(svg.find(">1000<"), std::string::npos);
  EXPECT_NE(svg.find(">2000<"), std::string::npos) << "more than the one power of ten";
  plot(
      folder / "c.svg",
      LearningCurve{.title = {}, .train_loss = {}, .test_loss = {}, .train_accuracy = {0.82, 0.994, 0.998}, .test_accuracy = {0.99, 1, 1}});
  const std::string accuracy = text_of(read_file(folder / "c.svg"));
  EXPECT_NE(accuracy.find("> 100<"), std::string::npos);
  EXPECT_EQ(accuracy.find("> 102<"), std::string::npos) << "no accuracy is above 100 %";
}

TEST(Plot, ALogarithmicAxisHasNumbersWhateverItsRange) {
  if (!have_gnuplot()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  // Texts between the marks of the axis at the left: what gnuplot writes for ticks.
  const auto numbers = [&](Scale scale, std::vector<double> y) {
    Figure figure{.panels = {{.series = {{.name = "a", .x = {1, 2, 3}, .y = std::move(y)}}, .y_scale = scale}}};
    plot(folder / "a.svg", figure);
    const std::string svg = text_of(read_file(folder / "a.svg"));
    std::vector<double> found;
    for (std::size_t at = svg.find("text-anchor=\"end\""); at != std::string::npos; at = svg.find("text-anchor=\"end\"", at + 1)) {
      const std::size_t text = svg.find("<text>", at), end = svg.find("</text>", at);
      if (text == std::string::npos || end == std::string::npos) break;
      const std::string label = svg.substr(text + 6, end - text - 6);
      if (const std::size_t digit = label.find_first_of("0123456789"); digit != std::string::npos)
        found.push_back(std::stod(label.substr(digit)));
    }
    return found;
  };
  for (const auto& [scale, y] : {std::pair(Scale::Log10, std::vector<double>{2.3, 3, 4.1}),
                                 {Scale::Log10, {0.52, 0.7, 0.93}},
                                 {Scale::Log10, {1.2, 1.5, 1.8}},
                                 {Scale::Log10, {6100, 6150, 6200}},
                                 {Scale::Log2, {70, 90, 120}}}) {
    const std::vector<double> found = numbers(scale, y);
    EXPECT_GE(std::count_if(found.begin(), found.end(), [&](double tick) { return tick >= 0.8 * y[0] && tick <= 1.25 * y[2]; }), 2)
        << y[0] << " to " << y[2] << ", " << found.size() << " numbers";
  }
}

TEST(Plot, RefusesWhatItCannotDraw) {
  const TemporaryFolder folder;
  EXPECT_ERROR(plot(folder / "p", Figure{}), "0 panels");
  const Figure fine{.title = {}, .x_label = {}, .panels = {{"loss", {{"a", {1}, {1}}}}}};
  EXPECT_ERROR(plot(folder / "p.jpg", fine), "a name that ends in .jpg, expected .png or .svg");
  EXPECT_ERROR(require_picture(folder / "p.jpg"), ".jpg");
  EXPECT_ERROR(require_picture(folder / "none/p.png"), "create the folder");
  for (const char* name : {"p", "p.svg", "p.PNG", "v1.2/p"}) {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    EXPECT_NO_THROW(require_picture(folder / name)) << name;
  }
  std::filesystem::remove(folder / "v1.2");
  EXPECT_ERROR(plot(folder / "p", LearningCurve{}), "0 panels");
  EXPECT_ERROR(plot(folder / "p", Figure{.title = {}, .x_label = {}, .panels = {{"loss", {{"a", {1, 2}, {1}}}}}}), "2 x and 1 y");
  EXPECT_ERROR(plot(folder / "p", Figure{.title = {}, .x_label = {}, .panels = {{"loss", {{"a", {1}, {NAN}}}}}}), "without a finite point");
  EXPECT_EQ(folder.files(), 0);
}

TEST(Plot, SaysWhatToInstallWithoutGnuplot) {
  const TemporaryFolder folder;
  const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  ::setenv("PATH", folder.path().c_str(), 1);
  const std::string message = testing::message_of([&] {
    plot(folder / "p", LearningCurve{.title = {}, .train_loss = {1}, .test_loss = {}, .train_accuracy = {}, .test_accuracy = {}});
  });
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_NE(message.find("apt-get install gnuplot-nox"), std::string::npos) << message;
}

}  // namespace
}  // namespace tegula::io
