// What files and people know an op by: each name belongs, for results of one dtype, to one class, and each attribute has a name of its own.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <typeinfo>

#include "tegula/graph/print.h"
#include "tegula/tegula.h"
#include "tests/property/ops.h"

namespace tegula::property {
namespace {

/// Of a family of classes that are alike but for a number, which is an attribute: the family.
std::string class_name(const Op& op) { return std::regex_replace(typeid(op).name(), std::regex("ELi[0-9]+E"), "ELi#E"); }

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

}  // namespace
}  // namespace tegula::property
