#include "tegula/core/line.h"

#include <gtest/gtest.h>

#include "tegula/core/error.h"

namespace tegula {
namespace {

std::uint32_t called_from(Line where = Line::current()) { return where.line(); }

TEST(Line, IsTheCallersAsADefaultArgument) {
  const std::uint32_t here = Line::current().line();
  EXPECT_EQ(called_from(), here + 1);
  EXPECT_EQ(std::string(Line::current().file_name()), __FILE__);
}

TEST(Line, OfAnotherLanguageOrFileKeepsItsTexts) {
  Line line;
  {
    const std::string file = "net.py", function = "forward";
    line = Line(file, 12, function);
  }
  EXPECT_EQ(to_string(line), "net.py:12");
  EXPECT_STREQ(line.function_name(), "forward");
  EXPECT_EQ(Line("net.py", 13).file_name(), line.file_name()) << "equal texts are kept once";
}

TEST(Line, OfAnElementOfAFileNamesIt) {
  const Line node("model.onnx", 0, "Conv_12");
  EXPECT_TRUE(node.known());
  EXPECT_EQ(to_string(node), "model.onnx, node Conv_12");
  const Error error({.op = "convolution", .got = "5 axes", .expected = "4", .where = node});
  EXPECT_NE(std::string(error.what()).find("\n  at model.onnx, node Conv_12"), std::string::npos) << error.what();
}

TEST(Line, ThatWasNeverSetNamesNothing) {
  EXPECT_FALSE(Line().known());
  EXPECT_EQ(to_string(Line()), "");
  EXPECT_FALSE(Line("model.onnx", 0).known());
}

}  // namespace
}  // namespace tegula
