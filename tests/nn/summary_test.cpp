// A network as a table.

#include <gtest/gtest.h>

#include <sstream>

#include "tegula/tegula.h"

namespace tegula {
namespace {

struct Block {
  int channels;
  nn::Conv2d conv{channels, channels, 3, {.padding = Same}};
  nn::BatchNorm2d norm{channels};
  Tensor operator()(Tensor x) { return x + relu(norm(conv(x))); }
};

struct Net {
  nn::Conv2d stem{3, 8, 3, {.padding = Same}};
  std::vector<Block> blocks = nn::repeat(2, [] { return Block{8}; });
  nn::MaxPool2d pool{2};
  nn::Linear head{8 * 4 * 4, 10};
  nn::Linear forgotten{10, 10};
  Tensor operator()(Tensor x) { return head(flatten(pool(blocks[1](blocks[0](stem(x)))), 1)); }
};

const SummaryRow& row(const Summary& summary, const std::string& module) {
  for (const SummaryRow& r : summary.rows) {
    if (r.module == module) return r;
  }
  throw Error({.op = "summary", .got = "no row " + module + " in\n" + summary.text()});
}

TEST(Summary, HasARowForEachLayerInTheOrderOfTheCalls) {
  Net net;
  const Summary s = summary(net, {2, 3, 8, 8});
  std::vector<std::string> modules, types;
  for (const auto& r : s.rows) {
    modules.push_back(r.module);
    types.push_back(r.type);
  }
  EXPECT_EQ(modules, (std::vector<std::string>{"stem", "blocks.0.conv", "blocks.0.norm", "blocks.1.conv", "blocks.1.norm", "", "head"}))
      << s.text();
  EXPECT_EQ(types, (std::vector<std::string>{"Conv2d", "Conv2d", "BatchNorm2d", "Conv2d", "BatchNorm2d", "MaxPool2d", "Linear"}))
      << s.text();
  const SummaryRow& conv = row(s, "blocks.1.conv");
  EXPECT_EQ(conv.output, (Shape{2, 8, 8, 8}));
  EXPECT_EQ(conv.weights, "weight (8, 8, 3, 3), bias (8,)");
  EXPECT_EQ(conv.parameters, 8 * 8 * 9 + 8);
  EXPECT_EQ(conv.bytes, 2 * 8 * 8 * 8 * 4);
  EXPECT_GE(conv.operations, 2.0 * 2 * 8 * 8 * 8 * 8 * 9 * 0.7);  // those beside the edge need not be counted
  EXPECT_LE(conv.operations, 2.0 * 2 * 8 * 8 * 8 * 8 * 9 * 1.1);
  EXPECT_EQ(row(s, "head").operations, 2.0 * 2 * 128 * 10);
  EXPECT_EQ(row(s, "head").output, (Shape{2, 10}));
  EXPECT_EQ(row(s, "head").moved, 4 * (2 * 128 + 128 * 10 + 2 * 10));
  EXPECT_EQ(s.parameters, num_parameters(net));
  EXPECT_EQ(s.parameter_bytes, 4 * num_parameters(net));
  EXPECT_EQ(s.unused, (std::vector<std::string>{"forgotten.weight", "forgotten.bias"}));
}

TEST(Summary, PrintsATable) {
  Net net;
  std::ostringstream out;
  out << summary(net, {2, 3, 8, 8});
  const std::string text = out.str();
  EXPECT_NE(text.find("blocks.0.conv   Conv2d        weight (8, 8, 3, 3), bias (8,)   (2, 8, 8, 8)"), std::string::npos) << text;
  EXPECT_NE(text.find("total"), std::string::npos);
  EXPECT_NE(text.find("FLOP/byte\n"), std::string::npos) << text;
  EXPECT_NE(text.find("80 B         0.8\n"), std::string::npos) << "a dense layer of two rows: 5,120 / 6,224 bytes\n" << text;
  EXPECT_NE(text.find("Not reached by the call: forgotten.weight forgotten.bias"), std::string::npos);
}

TEST(Summary, ChangesNothing) {
  Net net;  // in training mode: a call would move the statistics
  const auto before = net.blocks[0].norm.running_mean.to_host();
  const std::uint64_t version = net.blocks[0].norm.running_mean.cell()->version();
  summary(net, {2, 3, 8, 8});
  EXPECT_EQ(net.blocks[0].norm.running_mean.to_host(), before);
  EXPECT_EQ(net.blocks[0].norm.running_mean.cell()->version(), version);
}

TEST(Summary, TakesSequentialsSeveralInputsAndIndices) {
  nn::Sequential mlp{nn::Linear{4, 8}, nn::ReLU{}, nn::Linear{8, 2}};
  const Summary s = summary(mlp, {5, 4});
  ASSERT_EQ(s.rows.size(), 2U) << s.text();
  EXPECT_EQ(s.rows[1].module, "2");
  struct Two {
    nn::Embedding words{10, 4};
    nn::Linear out{4, 1};
    Tensor operator()(Tensor ids, Tensor scale) { return out(words(ids) * scale); }
  } two;
  const Summary t = summary(two, zeros({2, 3}, i64), ones({2, 3, 1}));
  EXPECT_EQ(t.rows.front().module, "words");
  EXPECT_EQ(t.rows.back().module, "out");
  EXPECT_EQ(t.rows.back().output, (Shape{2, 3, 1}));
  nn::Embedding table{10, 4};
  EXPECT_EQ(summary(table, {7}, i64).rows.at(0).output, (Shape{7, 4}));
}

TEST(Summary, TakesModulesWithSeveralResults) {
  nn::LSTM lstm{8, 16, {.layers = 2, .bidirectional = true}};
  const Summary s = summary(lstm, {5, 3, 8});
  EXPECT_EQ(s.parameters, num_parameters(lstm));
  EXPECT_TRUE(s.unused.empty()) << s.text();
  EXPECT_EQ(s.rows.front().type, "LSTM") << s.text();
  EXPECT_EQ(s.rows.back().output, (Shape{5, 3, 32})) << s.text();
  const auto work = [](const Summary& summary) {
    double sum = 0;
    for (const SummaryRow& r : summary.rows) sum += r.operations;
    return sum;
  };
  // For each of 15 steps of samples 2 · 64 gates · (features + 16), in both directions of layers of 8 and of 32 features.
  EXPECT_EQ(work(s), 15. * 2 * 64 * (8 + 16 + 32 + 16) * 2) << s.text();
  nn::MultiheadAttention attention{8, 2};
  const Tensor x = zeros({5, 3, 8});
  const Summary a = summary(attention, x, x, x);
  EXPECT_TRUE(a.unused.empty());
  EXPECT_EQ(a.rows.back().output, (Shape{5, 3, 8})) << a.text();
  EXPECT_EQ(work(a), 15. * 2 * 8 * (24 + 8) + 3 * 2 * 2. * 2 * 5 * 5 * 4) << a.text();  // projections, and scores and sums of 3 x 2 heads
  struct Heads {
    nn::Linear a{4, 2}, b{4, 3};
    std::pair<Tensor, std::vector<Tensor>> operator()(Tensor x) { return {a(x), {b(x), x}}; }
  } heads;
  EXPECT_TRUE(summary(heads, {2, 4}).unused.empty());
}

TEST(Summary, RefusesWhatTheModuleRefusesAtTheUsersLine) {
  nn::Sequential layers{nn::Linear{4, 8}};
  const int line = __LINE__ + 2;
  try {
    summary(layers, {5, 3});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.report().where.line()), line) << e.what();
    EXPECT_NE(std::string(e.report().where.file_name()).find("summary_test.cpp"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tegula
