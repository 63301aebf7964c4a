// tokenizer.json against what the library that writes it makes of the same texts (tests/text/make_vectors.py).

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/unicode.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

std::string folder() { return source_folder() + "/tests/text/tokenizer_json"; }

TEST(TokenizerJson, GivesTheNumbersAndTextsOfItsMaker) {
  const std::string all = read_text(folder() + "/vectors.jsonl");
  std::map<std::string, int> counts;
  for (const auto line : split_lines(all)) {
    const auto vector = nlohmann::json::parse(line);
    const auto file = vector["file"].get<std::string>(), text = vector["text"].get<std::string>();
    const Tokenizer tokenizer = read_tokenizer(folder() + "/" + file + ".json");
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(ids, vector["ids"].get<Ids>()) << file << ": " << text;
    EXPECT_EQ(replace_invalid(tokenizer.decode(ids)), vector["decoded"].get<std::string>()) << file << ": " << text;
    ++counts[file];
  }
  EXPECT_EQ(counts.size(), 9u);
  for (const auto& [file, count] : counts) EXPECT_GE(count, 20) << file;
}

}  // namespace
}  // namespace tegula::text
