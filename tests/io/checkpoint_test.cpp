// Checkpoints of TensorFlow: those of SavedModels (tests/golden/keras), whole and damaged.

#include "tegula/io/tensorflow/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/io/files.h"

namespace tegula::io {
namespace {

std::string golden(const std::string& name) { return source_folder() + "/tests/golden/keras/" + name; }

TEST(Checkpoint, VariablesOfASavedModelAreRead) {
  const auto variables = read_checkpoint(golden("cnn2_saved"));
  ASSERT_EQ(variables.size(), 12u);
  const auto found = std::ranges::find(variables, "conv1/kernel", &CheckpointVariable::name);
  ASSERT_NE(found, variables.end());
  EXPECT_EQ(found->key, "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE");
  EXPECT_EQ(found->shape, (std::vector<std::uint64_t>{3, 3, 2, 3}));
  const auto values = found->array.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], 0.5 * std::sin(0.7 * static_cast<double>(i)), 1e-6) << i;
  // By the index, and by the name without its end.
  EXPECT_EQ(read_checkpoint(golden("cnn2_saved/variables/variables.index")).size(), 12u);
  EXPECT_EQ(read_checkpoint(golden("cnn2_saved/variables/variables")).size(), 12u);
}

TEST(Checkpoint, DamageIsFound) {
  const testing::TemporaryFolder folder;
  const Bytes index = read_file(golden("cnn2_saved/variables/variables.index")),
              data = read_file(golden("cnn2_saved/variables/variables.data-00000-of-00001"));
  const auto message = [&](const Bytes& changed_index, const Bytes& changed_data) {
    write_atomically(folder / "w.index", changed_index);
    write_atomically(folder / "w.data-00000-of-00001", changed_data);
    return testing::message_of([&] { read_checkpoint(folder / "w"); });
  };
  EXPECT_EQ(message(index, data), "");
  for (std::size_t at = 0; at < index.size() - 48; at += 5) {
    Bytes changed = index;
    changed[at] ^= std::byte{4};
    EXPECT_NE(message(changed, data), "") << at;
  }
  for (std::size_t length = 0; length < index.size(); length += 13) {
    EXPECT_THROW(parse_checkpoint_index(std::span(index).first(length), "w.index"), Error) << length;
  }
  Bytes changed = data;
  changed[100] ^= std::byte{1};
  EXPECT_NE(message(index, changed).find("numbers whose CRC is wrong"), std::string::npos);
  EXPECT_NE(message(index, Bytes(data.begin(), data.begin() + 200)).find("bytes that the file does not hold"), std::string::npos);
}

TEST(Checkpoint, WhatIsMissingIsNamed) {
  EXPECT_ERROR(read_checkpoint("no/such"), "no/such.index");
  const testing::TemporaryFolder folder;
  write_atomically(folder / "w.index", read_file(golden("cnn2_saved/variables/variables.index")));
  EXPECT_ERROR(read_checkpoint(folder / "w"), "w.data-00000-of-00001");
}

}  // namespace
}  // namespace tegula::io
