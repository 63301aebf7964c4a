// Tile programs in files: what was written is what is read.

#include "tegula/formats/program_json.h"

#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tegula/tile/builder.h"
#include "tests/support/message.h"
#include "tests/support/tile_samples.h"

namespace tegula::formats {
namespace {

tile::Program read_again(const tile::Program& program) {
  const auto complain = [](const std::string& got, const std::string& expected) {
    throw Error({.op = "read", .got = got, .expected = expected});
  };
  const nlohmann::json read = nlohmann::json::parse(program_json(program).dump());
  return tile_program_from_json(read, complain);
}

TEST(ProgramJson, EverySampleIsReadAsItWasWritten) {
  for (const gpu::Sample& sample : gpu::samples()) {
    const tile::Program read = read_again(sample.program);
    EXPECT_EQ(tile::to_string(read), tile::to_string(sample.program));
    EXPECT_EQ(tile::structure(read), tile::structure(sample.program)) << sample.name;
  }
}

tile::Program assembly(bool falls_back) {
  tile::Builder b("assembly");
  const tile::Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), lane = b.arange(0, 8);
  tile::Text text{.text = "ex2.approx.f32 $0, $1;", .constraints = "=f,f", .fallback = {}};
  if (falls_back) text.fallback = [](std::span<const tile::Text::Element> given) { return given[0]; };
  const tile::Value v = b.inline_asm(std::move(text), {b.load(x + lane)}, f32);
  b.print("v", v);
  b.store(out + lane, v);
  return b.finish();
}

TEST(ProgramJson, TextsAreKeptAndFunctionsAreRefused) {
  const tile::Program program = assembly(false), read = read_again(program);
  EXPECT_EQ(tile::structure(read), tile::structure(program));
  ASSERT_EQ(read.texts.size(), 2u);
  EXPECT_EQ(read.texts[0].text, "ex2.approx.f32 $0, $1;");
  EXPECT_EQ(read.texts[0].constraints, "=f,f");
  EXPECT_EQ(read.texts[1].text, "v");
  EXPECT_HAS_MESSAGE(program_json(assembly(true)), "inline assembly with a C++ function as its fallback");
}

}  // namespace
}  // namespace tegula::formats
