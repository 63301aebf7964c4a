// Long texts as batches, labelled texts, text while its tokens come, tokenizers as text.

#include "tegula/text/token_windows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tegula/data/loader.h"
#include "tegula/text/labelled_texts.h"
#include "tegula/text/tokens/token_stream.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/tokenizer_texts.h"
#include "tegula/text/words.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

SharedIds counted(std::int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return std::make_shared<const Ids>(std::move(ids));
}

TEST(TokenFile, IsTwoBytesATokenOrLlmcs) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "t.bin";
  write_tokens(path, {1, 258, 65535, 0});
  EXPECT_EQ(testing::text_of(io::read_file(path)), std::string("\1\0\2\1\xFF\xFF\0\0", 8));
  EXPECT_EQ(read_tokens(path, 65536), (Ids{1, 258, 65535, 0}));
  EXPECT_ERROR(read_tokens(path, 300), "t.bin: the token number 65535 at place 2, expected numbers below 300");
  EXPECT_ERROR(write_tokens(path, {70000}), "the token number 70000");
  const auto with_header = [&](std::int32_t magic, std::int32_t count, const std::string& tokens) {
    std::string text(1024, '\0');
    const std::int32_t head[] = {magic, 1, count};
    std::memcpy(text.data(), head, sizeof head);
    io::write_atomically(path, testing::bytes_of(text + tokens));
  };
  with_header(20240520, 2, std::string("\1\0\2\0", 4));
  EXPECT_EQ(read_tokens(path, 10), (Ids{1, 2}));
  with_header(20240801, 2, std::string("\1\0\0\0\0\0\1\0", 8));
  EXPECT_EQ(read_tokens(path, 70000), (Ids{1, 65536}));
  with_header(20240520, 3, std::string("\1\0\2\0", 4));
  EXPECT_ERROR(read_tokens(path, 10), "4 bytes behind the header, expected 6, for 3 tokens");
  io::write_atomically(path, testing::bytes_of("abc"));
  EXPECT_ERROR(read_tokens(path, 70000), "3 bytes, expected two for each token");
}

Ids ids_of(const HostArray& array) {
  const auto values = array.values<std::int64_t>();
  return {values.begin(), values.end()};
}

TEST(TokenWindows, RandomOnesHaveTheNextTokensAndEveryPlace) {
  data::Loader loader(RandomWindows(counted(12), 4, endless(16)), {.batch = 16, .seed = 3});
  std::vector<int> places(12);
  std::vector<Ids> first;
  for (int k = 0; k < 20; ++k) {
    const auto batch = loader.next();
    const auto x = batch->x.to_host<std::int64_t>(), y = batch->y.to_host<std::int64_t>();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] + 1);
    for (std::size_t i = 0; i < x.size(); i += 4) {
      ++places[static_cast<std::size_t>(x[i])];
      EXPECT_EQ(x[i + 3], x[i] + 3);
    }
    first.push_back(x);
  }
  for (std::size_t p = 0; p < 8; ++p) EXPECT_GT(places[p], 15) << p;  // of 320 windows at 8 places
  EXPECT_EQ(std::accumulate(places.begin() + 8, places.end(), 0), 0);
  EXPECT_NE(first[0], first[1]);
  data::Loader again(RandomWindows(counted(12), 4, endless(16)), {.batch = 16, .seed = 3});
  again.seek({0, 7});
  EXPECT_EQ(again.next()->x.to_host<std::int64_t>(), first[7]);
  EXPECT_ERROR(RandomWindows(counted(4), 4, 1), "expected more than 4, for a window of 4");
}

TEST(TokenWindows, FollowEachOtherOrAreSpreadEvenly) {
  const Windows all(counted(14), 4);
  EXPECT_EQ(all.size(), 3);
  EXPECT_EQ(ids_of(all.get(2)[0]), (Ids{8, 9, 10, 11}));
  EXPECT_EQ(ids_of(all.get(2)[1]), (Ids{9, 10, 11, 12}));
  const Windows some(counted(41), 4, 5);
  EXPECT_EQ(some.size(), 5);
  EXPECT_EQ(ids_of(some.get(4)[0])[0], 32);
}

TEST(TokenWindows, StreamsContinueFromBatchToBatch) {
  const Streams streams(counted(25), 2, 4, 100);
  EXPECT_EQ(streams.windows(), 3);
  for (std::int64_t i = 0; i < 100; ++i) {
    const data::Sample sample = streams.get(i);
    const std::int64_t window = i / 2 % 3, begin = i % 2 * 12 + window * 4;
    EXPECT_EQ(ids_of(sample[0]), (Ids{begin, begin + 1, begin + 2, begin + 3}));
    EXPECT_EQ(sample[1].values<float>()[0], window == 0 ? 1 : 0);
    EXPECT_EQ(ids_of(sample[2])[0], begin + 1);
  }
  EXPECT_EQ(Streams(counted(25), 2, 4).size(), 6);
  EXPECT_ERROR(Streams(counted(8), 2, 4), "2 streams of windows of 4");
}

TEST(TokenizerTexts, AreTheTokenizersThatTheyCameFrom) {
  const std::string text = "Ähm, \"so\"\n\tja – 🦙!";
  const Tokenizer characters = parse_tokenizer_json(characters_json(text), "test"), known = character_tokenizer(text);
  EXPECT_EQ(characters.encode(text), known.encode(text));
  EXPECT_EQ(characters.decode(characters.encode(text)), text);
  EXPECT_EQ(characters.size(), known.size());
  EXPECT_ERROR(characters_json("ab\xff"), "no UTF-8 from byte 2 on");
  EXPECT_ERROR(characters_json(""), "an empty text");

  const Tokenizer words = parse_tokenizer_json(words_json(Vocabulary({"<pad>", "<unk>", "soup", "é"}), "<unk>"), "test");
  EXPECT_EQ(words.encode("Soup  É\nrain soup"), (Ids{2, 3, 1, 2}));
  EXPECT_ERROR(words_json(Vocabulary({"soup"}), "<unk>"), "which the vocabulary lacks");

  const testing::TemporaryFolder folder;
  TextMap<std::int64_t> pieces;
  count_pieces("low lower lowest low lower, é", pieces);
  const auto [vocabulary, merges] = train_bpe(pieces, {.vocabulary = 262, .minimum = 1, .special = {"<|endoftext|>"}});
  write_gpt2_files(folder / "vocab.json", folder / "merges.txt", vocabulary, merges);
  const Tokenizer bpe = parse_tokenizer_json(read_tokenizer_json(folder.path()), "test"), files = read_tokenizer(folder.path());
  const std::string sample = "lower low\n é🦙<|endoftext|>low";
  EXPECT_EQ(bpe.encode(sample), files.encode(sample));
  EXPECT_EQ(bpe.decode(bpe.encode(sample)), files.decode(files.encode(sample)));
  EXPECT_ERROR(read_tokenizer_json(folder / "vocab.txt"), "a file of another kind");
}

TEST(TokenStream, GivesWholeCharactersAndEndsBeforeAStopString) {
  const Tokenizer bytes = [] {
    TextMap<std::int64_t> pieces;
    count_pieces("ab", pieces);
    auto trained = train_bpe(pieces, {.vocabulary = 256});
    return gpt2_tokenizer(std::move(trained.vocabulary), trained.merges);
  }();
  const auto pieces_of = [&](const std::string& text, std::vector<std::string> stops) {
    TokenStream stream(bytes, std::move(stops));
    std::vector<std::string> pieces;
    for (const Id id : bytes.encode(text)) pieces.push_back(stream.push(id));
    pieces.push_back(stream.finish());
    return pieces;
  };
  EXPECT_EQ(pieces_of("aé🦙", {}), (std::vector<std::string>{"a", "", "é", "", "", "", "🦙", ""}));
  EXPECT_EQ(pieces_of("a\xc3", {}), (std::vector<std::string>{"a", "", "\xc3"}));
  EXPECT_EQ(pieces_of("xenenda", {"end"}), (std::vector<std::string>{"x", "", "", "en", "", "", "", ""}));
  EXPECT_EQ(pieces_of("xen", {"end"}), (std::vector<std::string>{"x", "", "", "en"}));
  EXPECT_ERROR(TokenStream(bytes, {""}), "an empty stop string");
}

TEST(LabelledTexts, AreReadFromLinesAndTables) {
  const testing::TemporaryFolder folder;
  io::write_atomically(folder / "a", testing::bytes_of("1 a good , film\n\n0 bad\xff\n"));
  const LabelledTexts lines = read_labelled_texts(folder / "a");
  EXPECT_EQ(lines.texts, (std::vector<std::string>{"a good , film", "bad\uFFFD"}));
  EXPECT_EQ(classes_of(lines), (std::vector<std::string>{"0", "1"}));
  io::write_atomically(folder / "b.csv", testing::bytes_of("text,kind\n\"x, y\",up\nz,down\n"));
  const LabelledTexts table = read_labelled_texts(folder / "b.csv", {.text_column = "text", .label_column = "kind"});
  EXPECT_EQ(table.texts[0], "x, y");
  EXPECT_EQ(table.labels[1], "down");
  io::write_atomically(folder / "c", testing::bytes_of("\n"));
  EXPECT_ERROR(read_labelled_texts(folder / "c"), "a file without texts");
}

TEST(LabelledTexts, AreBatchesOfSimilarLengths) {
  const Tokenizer characters = character_tokenizer("abc");
  const LabelledSequences set({{"abc", "a", "abcabcabcabc", ""}, {"x", "y", "x", "y"}}, characters, {"x", "y"}, 10);
  EXPECT_EQ(set.lengths(), (std::vector<std::int64_t>{3, 1, 10, 1}));
  const auto batch = set.gather(std::vector<std::int64_t>{0, 1});
  EXPECT_EQ(batch[0].shape, (Shape{2, 8}));
  EXPECT_EQ(ids_of(batch[0]), (Ids{0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ids_of(batch[1]), (Ids{3, 1}));
  EXPECT_EQ(ids_of(batch[2]), (Ids{0, 1}));
  EXPECT_EQ(set.gather(std::vector<std::int64_t>{2})[0].shape, (Shape{1, 16}));
  EXPECT_EQ(set.by_length().lengths(), (std::vector<std::int64_t>{1, 1, 3, 10}));
  EXPECT_EQ(set.by_length().label(3), 0);
}

}  // namespace
}  // namespace tegula::text
