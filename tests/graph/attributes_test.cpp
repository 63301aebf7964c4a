// Attributes by name: how they are printed, whether two ops differ in them, and that the names keep their promises.
#include "tegula/graph/attributes.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tegula/graph/op.h"
#include "tegula/graph/structural.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

class Sample final : public Op {
 public:
  std::string_view name() const override { return "sample"; }
  Role role() const override { return Role::Leaf; }
  void attributes(Attributes& a) override {
    a("axis", axis);
    a("keep", keep);
    a("step", step);
    a("value", value);
    a("mode", mode);
    a("most", most);
    a("begins", begins);
    a.told_by_name(variant);
  }
  int axis = 1;
  bool keep = false, variant = false;
  Dims step = {1, 2};
  Number value = 0.5;
  std::string mode = "nearest";
  std::optional<std::int64_t> most;
  std::vector<std::int64_t> begins = {3};
};

Words key_of(const Op& op) {
  Words key;
  append(key, op);
  return key;
}

TEST(Attributes, ArePrintedByName) {
  Sample op;
  EXPECT_EQ(description(op), "axis=1, keep=false, step=(1, 2), value=0.5, mode=nearest, begins=(3,)");
  op.most = 7;
  EXPECT_EQ(attributes_of(op)[5], (Attribute{"most", "7"}));
}

using Change = void (*)(Sample&);

TEST(Attributes, EachOneTellsTwoOpsApart) {
  const Sample first, equal;
  const std::pair<const char*, Change> others[] = {
      {"axis: 1, then 2", [](Sample& s) { s.axis = 2; }},
      {"keep: false, then true", [](Sample& s) { s.keep = true; }},
      {"step: (1, 2), then (1, 3)", [](Sample& s) { s.step = {1, 3}; }},
      {"step: (1, 2), then (1,)", [](Sample& s) { s.step = {1}; }},
      {"value: 0.5, then 0.25", [](Sample& s) { s.value = 0.25; }},
      {"mode: nearest, then linear", [](Sample& s) { s.mode = "linear"; }},
      {"most: none, then 0", [](Sample& s) { s.most = 0; }},
      {"begins: (3,), then ()", [](Sample& s) { s.begins = {}; }},
      {"axis: 1, then 2; mode: nearest, then a longer name of a mode", [](Sample& s) { s.axis = 2, s.mode = "a longer name of a mode"; }},
      {"", [](Sample& s) { s.variant = true; }},  // the name says it
  };
  std::set<Words> keys{key_of(first)};
  for (const auto& [text, change] : others) {
    Sample op;
    change(op);
    EXPECT_EQ(difference(first, op), text);
    EXPECT_TRUE(keys.insert(key_of(op)).second) << text;
  }
  EXPECT_EQ(key_of(first), key_of(equal));
  EXPECT_EQ(difference(first, equal), "");
}

TEST(Attributes, WhatFollowsAListOrATextIsNotTakenForPartOfIt) {
  Sample without, with;
  without.begins = {}, without.variant = true;
  with.begins = {1};
  EXPECT_NE(key_of(without), key_of(with));
  Sample longer, shorter;
  longer.mode = std::string("ab\0", 3), shorter.mode = "ab";
  EXPECT_NE(key_of(longer), key_of(shorter));
}

TEST(Attributes, PlacesThatBeginElsewhereAreOtherPlaces) {
  const auto places = [](std::int64_t first) { return graph::index({{4}, {3}, first}); };
  EXPECT_NE(key_of(places(0).node()->op()), key_of(places(5).node()->op()));
  for (const std::int64_t first : {0, 5, -2}) {  // one plan after another, equal but for this
    EXPECT_EQ((places(first) * 2).to_host<std::int64_t>(),
              (std::vector<std::int64_t>{2 * first, 2 * first + 6, 2 * first + 12, 2 * first + 18}));
  }
  EXPECT_EQ((places(7) - places(0)).to_host<std::int64_t>(), (std::vector<std::int64_t>{7, 7, 7, 7}));  // in one plan
}

}  // namespace
}  // namespace tegula
