// Exchanges belong to a run: graph files refuse them, with the user's line, and say why.
#include <gtest/gtest.h>

#include <string>

#include "tegula/dist/collectives/collectives.h"
#include "tegula/tegula.h"
#include "tests/dist/ranks.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

TEST(GraphFileOfRanks, AFunctionThatExchangesIsRefusedWithItsLine) {
  const auto failures = test::failures_of(2, [](int rank) {
    const std::string path = "exchange-" + std::to_string(rank) + ".graph";
    const auto all_reduced = [](const Tensor& x) { return dist::all_reduce(x * 2.0); };
    const auto behind_all = [](const Tensor& x) {
      dist::barrier();  // is not the op of the same name that keeps an order
      return x * 2.0;
    };
    const auto refuse = [&](const auto& f, const std::string& op) {
      const std::string message = message_of([&] { save_graph(path, f, ones({3})); });
      EXPECT_NE(message.find("got the op " + op), std::string::npos) << message;
      EXPECT_NE(message.find("what ranks do together is not in graph files"), std::string::npos) << message;
      EXPECT_NE(message.find("graph_file_test.cpp"), std::string::npos) << message;
      EXPECT_THROW(load_graph(path), Error) << "nothing was written";
    };
    refuse(all_reduced, "all_reduce");
    refuse(behind_all, "barrier");
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST(GraphFileOfRanks, AFileThatNamesAnExchangeIsRefused) {
  const std::string path = "named.graph";
  save_graph(path, [](const Tensor& x) { return tanh(x); }, ones({3}));
  io::Safetensors file = io::read_safetensors(path);
  std::string& text = file.metadata.at(std::string(kGraphKey));
  const std::string op = "\"op\":\"tanh\"";
  const auto at = text.find(op);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, op.size(), "\"op\":\"exchange\"");
  io::NamedArrays arrays(file.tensors.begin(), file.tensors.end());
  io::write_safetensors(path, arrays, file.metadata);
  const std::string message = message_of([&] { load_graph(path); });
  EXPECT_NE(message.find("exchange"), std::string::npos) << message;
  EXPECT_NE(message.find("what ranks do together is not in graph files"), std::string::npos) << message;
}

}  // namespace
}  // namespace tegula
