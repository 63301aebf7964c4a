// JSON of others: how deep it may be, and how messages show it.

#include "tegula/core/json.h"

#include <gtest/gtest.h>

#include "tegula/core/error.h"

namespace tegula {
namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

std::string refusal(const std::string& text) {
  try {
    parse_json(text, "op", "file");
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(Json, NestsAsDeepAsItMayAndNoDeeper) {
  EXPECT_EQ(refusal(nested(kDeepestJson)), "");
  EXPECT_NE(refusal(nested(kDeepestJson + 1)).find("more than 200 of them at byte 200"), std::string::npos);
  for (const char* open : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += open;
    EXPECT_NE(refusal(deep).find("op: got file: lists and objects within each other"), std::string::npos) << open;
    EXPECT_TRUE(try_parse_json(deep).is_discarded());
  }
  const std::string in_text = "\"" + std::string(300, '[') + "\\\"" + std::string(300, '{') + "\"";  // brackets in a text are text
  EXPECT_EQ(refusal(in_text), "");
  EXPECT_FALSE(try_parse_json(in_text).is_discarded());
  std::string beside = "[0";
  for (int i = 0; i < 1000; ++i) beside += ",[{}]";
  EXPECT_EQ(refusal(beside + "]"), "");
}

TEST(Json, WhatIsNoneIsAnErrorWithItsPlace) {
  EXPECT_NE(refusal("{\"a\": 1").find("op: got file: "), std::string::npos);
  EXPECT_TRUE(try_parse_json("{").is_discarded());
  EXPECT_EQ(try_parse_json("[1]").size(), 1u);
}

TEST(Json, MessagesShowTheBeginOfAValue) {
  using nlohmann::json;
  EXPECT_EQ(shown(json::parse(R"({"type":"Nmt","list":[1,2.5,null,true,"x"]})")), R"({"list":[1,2.5,null,true,"x"],"type":"Nmt"})");
  EXPECT_EQ(shown(json(std::string(1000, 'x'))).size(), 80u);
  EXPECT_EQ(shown(json("\xc3\xa9\x1b"), 20), "\"\\u00e9\\u001b\"");
  EXPECT_EQ(shown(json("\xff")), "\"\\ufffd\"");
  json deep = 1;
  for (int i = 0; i < 100; ++i) deep = json::array({std::move(deep)});
  EXPECT_EQ(shown(deep), "[[[[[...]]]]]");
  EXPECT_LE(shown(json(std::vector<int>(1'000'000, 7)), 40).size(), 40u);
}

}  // namespace
}  // namespace tegula
