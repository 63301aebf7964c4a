// Damaged tokenizers and vectors end in a result or a tegula::Error, whatever the damage. tests/fuzz has the same as fuzz targets.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/io/gguf.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/vectors/word_vectors.h"
#include "tests/fuzz/mutate.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

using testing::bytes_of;

struct Seed {
  std::string name, bytes;
};

std::vector<Seed> seeds_of(const std::string& name) {
  std::vector<Seed> seeds;
  for (const auto& file : std::filesystem::directory_iterator(source_folder() + "/tests/fuzz/" + name))
    seeds.push_back({file.path().filename().string(), testing::text_of(io::read_file(file.path().string()))});
  std::sort(seeds.begin(), seeds.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  EXPECT_FALSE(seeds.empty());
  return seeds;
}

/// Reads mutations of every seed; anything but a tegula::Error escapes and fails the test. Returns how many were refused.
template <class Read>
int refused(const std::string& name, int count, Read read) {
  const auto seeds = seeds_of(name);
  for (const Seed& seed : seeds) EXPECT_NO_THROW(read(seed.name, seed.bytes)) << seed.name;
  int errors = 0;
  for (int i = 0; i < count; ++i) {
    const Seed& seed = seeds[static_cast<std::size_t>(i) % seeds.size()];
    try {
      read(seed.name, testing::mutate(seed.bytes, static_cast<std::uint64_t>(i)));
    } catch (const Error& error) {
      ++errors;
      EXPECT_FALSE(error.report().op.empty());
    }
  }
  return errors;
}

void use(const Tokenizer& tokenizer) {
  for (const Id id : tokenizer.encode("the Fox's text \xC3\xA9\xFF 42 <s>")) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, tokenizer.size());
  }
}

TEST(HostileFiles, TokenizerJson) {
  EXPECT_GT(refused("tokenizer_json", 4'000, [](const std::string&, const std::string& text) { use(parse_tokenizer_json(text, "file")); }),
            1'500);
}
TEST(HostileFiles, BinaryTokenizers) {
  const auto read = [](const std::string& name, const std::string& bytes) {
    if (name.ends_with(".gguf")) use(gguf_tokenizer(io::parse_gguf_metadata(bytes_of(bytes), "file")));
    else if (name.ends_with(".bin")) use(parse_llama2c_tokenizer(bytes_of(bytes), "file"));
    else use(parse_sentencepiece(bytes_of(bytes), "file"));
  };
  EXPECT_GT(refused("tokenizer_binary", 7'000, read), 2'000);
}
TEST(HostileFiles, WordVectors) {
  EXPECT_GT(
      refused("word_vectors", 10'000, [](const std::string&, const std::string& bytes) { parse_word_vectors(bytes_of(bytes), "file"); }),
      4'000);
}

TEST(TokenizerErrors, SayWhatIsWrongAndWhere) {
  const auto json = [](const std::string& text) { return parse_tokenizer_json(text, "t.json"); };
  EXPECT_ERROR(json("{"), "t.json");
  EXPECT_ERROR(json("{}"), "\"vocab\"");
  EXPECT_ERROR(json(R"({"model": {"type": "Elsewhere", "vocab": {"a": 0}}})"), "the model Elsewhere");
  EXPECT_ERROR(json(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}})"), "no token 'ab'");
  EXPECT_ERROR(json(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})"), "the number 0 for 'a' and 'b'");
  EXPECT_ERROR(json(R"({"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}})"), "few of which are left out");
  EXPECT_ERROR(json(R"({"normalizer": {"type": "Nmt"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})"), "the normalizer Nmt");
  EXPECT_ERROR(
      json(
          R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})"),
      "the pattern (a");
  EXPECT_ERROR(parse_gpt2_tokenizer("{\"a\": 0}", "a\n", "merges"), "line 1: 'a'");
  EXPECT_ERROR(parse_vocabulary("a\nb\na\n", "vocab.txt"), "'a' in the lines 1 and 3");
  EXPECT_ERROR(bert_tokenizer(Vocabulary({"a"})), "[UNK]");
  EXPECT_ERROR(parse_sentencepiece(bytes_of("no model"), "m.model"), "m.model");
  EXPECT_ERROR(read_tokenizer("/nowhere/tokenizer.xyz"), "a file of an unknown kind");
  const Tokenizer letters = json(R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}})");
  EXPECT_ERROR(letters.decode(Ids{7}), "the token number 7");
  EXPECT_ERROR(letters.id("A"), "'a' is one");
}

TEST(TokenizerErrors, JsonWithinJsonIsRefusedWithoutACrash) {
  std::string lists, objects;
  for (int i = 0; i < 100'000; ++i) {
    lists += "[";
    objects += R"({"model":)";
  }
  for (const std::string& deep : {lists, lists + std::string(100'000, ']'), objects, R"({"model": {"vocab": )" + lists}) {
    EXPECT_ERROR(parse_tokenizer_json(deep, "t.json"), "t.json: lists and objects within each other, more than 200");
    EXPECT_ERROR(parse_gpt2_tokenizer(deep, "", "vocab.json"), "vocab.json: lists and objects within each other");
  }
  const std::string within = std::string(150, '[') + std::string(150, ']');  // which may be, and is no part of a tokenizer
  EXPECT_ERROR(parse_tokenizer_json(within, "t.json"), "t.json: [[[[[...]]]]]");
  EXPECT_ERROR(parse_tokenizer_json(R"({"model": )" + within + "}", "t.json"), "an object with \"vocab\"");
}

TEST(TokenizerErrors, ALoopOfLinksIsAnError) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"tokenizer.json", "t.model", "t.gguf", "merges.txt"}) {
    std::filesystem::create_symlink(folder / name, folder / name);
    EXPECT_ERROR(read_tokenizer(folder / name), "Too many levels of symbolic links");
  }
  EXPECT_ERROR(read_tokenizer(folder.path()), "without the files of a tokenizer");
}

TEST(Lines, AFileOfAnotherKindIsNamed) {
  const testing::TemporaryFolder folder;
  io::write_atomically(folder / "x", bytes_of("%PDF-1.4\n"));
  EXPECT_ERROR(read_lines(folder / "x"), "x: a PDF document, expected text");
  EXPECT_ERROR(read_word_vectors(folder / "x"), "x: a PDF document, expected vectors of words");
  io::write_atomically(folder / "page", bytes_of("<html>text</html>\n"));
  EXPECT_EQ(read_lines(folder / "page").size(), 1u);
}

TEST(Lines, PairsAndTheirErrors) {
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::string_view text) {
    io::write_atomically(folder / name, bytes_of(text));
    return folder / name;
  };
  const auto de = write("de",
                        "\xEF\xBB\xBF"
                        "ein Hund\r\nzwei\n"),
             en = write("en", "a dog\ntwo"), one = write("one", "a dog\n");
  EXPECT_EQ(read_line_pairs(de, en), (LinePairs{{"ein Hund", "a dog"}, {"zwei", "two"}}));
  EXPECT_ERROR(read_line_pairs(de, one), "1");
  EXPECT_EQ(read_line_pairs(write("tabs", "a\tb\tCC-BY\nc\td\n")), (LinePairs{{"a", "b"}, {"c", "d"}}));
  EXPECT_ERROR(read_line_pairs(one), "line 1: 'a dog'");
  EXPECT_ERROR(read_lines(write("latin1", "gut\nsch\xF6n\n")), "line 2");
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no ../shared/data";
  EXPECT_EQ(read_line_pairs(data + "/multi30k/train.de.gz", data + "/multi30k/train.en.gz").size(), 29'000u);
}

}  // namespace
}  // namespace tegula::text
