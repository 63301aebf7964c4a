// Names of ops in files and messages: each name belongs, for results of one dtype, to one class, and each attribute has a name of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <typeinfo>

#include "tegula/graph/print.h"
#include "tegula/tegula.h"
#include "tests/property/ops.h"
#include "tests/support/source_folder.h"

namespace tegula::property {
namespace {

/// The name of a family of classes that differ in a number only, which is an attribute.
std::string class_name(const Op& op) { return std::regex_replace(typeid(op).name(), std::regex("ELi[0-9]+E"), "ELi#E"); }

// Every family that declares cases is in the graphs, or random (moving_ops has those), or has no operands.
TEST(Names, EveryFamilyOfDeclaredCasesIsInTheGraphs) {
  const auto text = [](const std::filesystem::path& file) {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  };
  const std::set<std::string> left_out{"creation_cases", "dropout_cases", "random_cases"};
  const std::string listed = text(source_folder() + "/tests/property/ops.cpp");
  const std::regex declared("std::vector<OpCase> (\\w+_cases)\\(");
  int families = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() + "/tegula/ops")) {
    if (entry.path().extension() != ".h") continue;
    const std::string header = text(entry.path());
    for (std::sregex_iterator found(header.begin(), header.end(), declared), end; found != end; ++found, ++families) {
      const std::string name = (*found)[1];
      EXPECT_NE(std::regex_search(listed, std::regex("\\b" + name + "\\b")), left_out.contains(name)) << name;
    }
  }
  EXPECT_GT(families, 25);
}

TEST(Names, OfOpsBelongToOneClassAndOfAttributesToOneAttribute) {
  std::map<std::pair<std::string, DType>, std::string> class_of;
  const auto look = [&](const Tensor& result) {
    for (const Node* node : nodes_below(std::vector<Tensor>{result})) {
      const Op& op = node->op();
      const auto known = class_of.emplace(std::pair(op.name(), node->dtype()), class_name(op)).first;
      EXPECT_EQ(known->second, class_name(op)) << "two classes are called " << op.name();
      std::set<std::string> names;
      for (const Attribute& attribute : attributes_of(op))
        EXPECT_TRUE(names.insert(attribute.name).second) << op.name() << " " << attribute.name;
    }
  };
  for (const GraphOp& op : graph_ops()) {
    for (const DType dtype : {f32, i64, boolean}) {
      for (std::uint32_t knob = 0; knob < 3; ++knob) {
        Generator generator(1);
        std::vector<Tensor> x;
        for (int i = 0; i < op.inputs; ++i) x.push_back(ones({2, 3, 4, 5}, dtype));
        try {
          const Tensor y = op.build({x, {knob, knob, knob, knob}, &generator});
          look(y);
          if (is_float(y.dtype()))
            for (const Tensor& dx : grad(sum(y), std::vector<Wrt>(x.begin(), x.end()))) look(dx);
        } catch (const Unfit&) {
        } catch (const Error&) {  // other shapes or dtypes will do
        }
      }
    }
  }
  EXPECT_GT(class_of.size(), 150u);
}

/// An op that changes nothing for these knobs and this shape (a sum over no axes, one repetition, a cast to the same dtype) must still be a target of differentiation beside its
/// operand (graph::distinct).
TEST(Names, NoOpGivesItsOperandBack) {
  const std::vector<Shape> shapes{{}, {1}, {3}, {0}, {1, 1}, {2, 3}, {2, 1, 3}, {1, 1, 2, 2}, {2, 3, 4, 5}};
  int built = 0;
  std::map<std::string, std::string> found;  // an example of each op
  for (const GraphOp& op : graph_ops()) {
    for (const Shape& shape : shapes) {
      for (std::uint32_t knob = 0; knob < 12; ++knob) {
        Generator generator(1);
        std::vector<Tensor> x;
        for (int i = 0; i < op.inputs; ++i) x.push_back(ones(shape) * 0.5);
        try {
          const Tensor y = op.build({x, {knob, knob, knob / 2, knob / 3}, &generator});
          ++built;
          for (const Tensor& operand : x) {
            if (y.node() == operand.node()) found.emplace(op.name, "of " + to_string(shape) + " with knobs of " + std::to_string(knob));
          }
        } catch (const Unfit&) {
        } catch (const Error&) {  // other shapes or knobs will do
        }
      }
    }
  }
  for (const auto& [name, example] : found) ADD_FAILURE() << name << " " << example;
  EXPECT_GT(built, 10'000);
}

}  // namespace
}  // namespace tegula::property
