// Lesson 12: words as vectors. A word's number says nothing about it; how often it stands beside others says a lot. With the name of a text as its argument
// the last part trains on that text, too:  12_words_as_vectors book.txt

#include <tegula/tegula.h>
#include <tegula/text.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <string>
#include <vector>

using namespace tegula;

namespace {

void print(const char* title, const std::vector<text::Near>& words) {
  std::printf("%s", title);
  for (const auto& [word, similarity] : words) std::printf("  %s %.2f", word.c_str(), similarity);
  std::printf("\n");
}

/// 1. A number for each word, the most frequent first; unknown words are <OOV>.
void words_as_numbers() {
  text::WordTokenizer tokenizer({.unknown = "<OOV>"});
  tokenizer.fit({"I love my dog", "I love my cat", "You love my dog!", "Do you think my dog is amazing?"});
  const std::vector<std::string> sentences = {"i really love my dog", "my dog loves my manatee"};
  const auto sequences = tokenizer.encode(sentences);
  assert((sequences[0] == text::Ids{5, 1, 3, 2, 4}));
  const HostArray rows = text::pad_sequences(sequences, {.length = 9});  // (2, 9) i64, zeros in front
  assert(rows.values<std::int64_t>()[3] == 0 && rows.values<std::int64_t>()[4] == 5);
  std::printf("'%s' is %s\n", sentences[1].c_str(), tokenizer.decode(sequences[1]).c_str());
}

/// 2. A text as the words that are in it: one-hot vectors, added up. The order is lost, and "service" counts as much as "great".
void bags_of_words() {
  text::WordTokenizer tokenizer;
  const std::vector<std::string> reviews = {"Great Restaurant and great service !", "They can do better to provide better service",
                                            "Only two thumbs up, worst service ever"};
  tokenizer.fit(reviews);
  const auto sequences = tokenizer.encode(reviews);
  const auto size = tokenizer.vocabulary().size();
  const auto great = static_cast<std::size_t>(tokenizer.vocabulary().id("great")),
             service = static_cast<std::size_t>(tokenizer.vocabulary().id("service"));
  const HostArray counts = text::bag_of_words(sequences, size);  // (3, size)
  assert(counts.values<float>()[great] == 2 && counts.values<float>()[service] == 1);
  const HostArray weighed = text::TfIdf(sequences, size)(sequences);  // a word in every text counts less
  assert(weighed.values<float>()[great] > 3 * weighed.values<float>()[service]);
  // A product of a one-hot row with a table looks up a row of the table.
  const Tensor table = reshape(arange(0.f, 12.f), {4, 3});  // (words, D)
  const Tensor one_hot_product = matmul(cast(one_hot(tensor({std::int64_t{2}}), 4), f32), table);
  assert(one_hot_product.to_host()[1] == embedding(tensor({std::int64_t{2}}), table).to_host()[1]);
}

/// A small world: the text says of each person where they are, what they wear and how old they are.
std::string stories() {
  struct Person {
    const char* name;
    int royal, female, child;
  };
  const Person people[] = {{"king", 1, 0, 0}, {"queen", 1, 1, 0}, {"prince", 1, 0, 1}, {"princess", 1, 1, 1},
                           {"man", 0, 0, 0},  {"woman", 0, 1, 0}, {"boy", 0, 0, 1},    {"girl", 0, 1, 1}};
  const std::vector<const char*> places[] = {{"field", "market", "barn", "cart", "village"},
                                             {"throne", "palace", "crown", "court", "jewels"}};
  const std::vector<const char*> clothes[] = {{"beard", "his", "he", "sword", "him"}, {"dress", "her", "she", "ribbon", "hers"}};
  const std::vector<const char*> ages[] = {{"work", "wise", "grey", "old", "tired"}, {"toys", "little", "plays", "young", "school"}};
  data::RandomStream random(1, 0);
  const auto any = [&](const auto& list) { return std::string(list[random.below(static_cast<std::uint32_t>(list.size()))]); };
  std::string text;
  for (int i = 0; i < 6000; ++i) {
    const Person& who = people[random.below(8)];
    std::vector<std::string> words = {who.name};
    for (int k = 0; k < 2; ++k) {
      words.push_back(any(places[who.royal]));
      words.push_back(any(clothes[who.female]));
      words.push_back(any(ages[who.child]));
    }
    for (std::size_t k = words.size(); k > 1; --k) std::swap(words[k - 1], words[random.below(static_cast<std::uint32_t>(k))]);
    for (const auto& word : words) text += word + " ";
    text += ".\n";
  }
  return text;
}

/// 3. A word's vector is what predicts the words around it: words with the same neighbours get the same vectors, and differences get a meaning.
void words_by_their_neighbours() {
  const text::Corpus corpus = text::make_corpus(stories());
  const text::Word2VecOptions options{.size = 24, .window = 6, .subsample = 0, .epochs = 8, .threads = 1};
  const text::WordVectors vectors = text::train_word2vec(corpus, options);
  print("near throne:         ", vectors.most_similar("throne", 4));
  assert(vectors.similarity("throne", "palace") > vectors.similarity("throne", "market"));
  const auto answer = vectors.analogy("man", "king", "woman", 3);
  print("king - man + woman:  ", answer);
  assert(answer[0].first == "queen");
  assert(vectors.analogy("man", "boy", "queen", 1)[0].first == "princess");

  // The same vectors are an embedding of a network.
  nn::Embedding layer(static_cast<int>(vectors.size()), static_cast<int>(vectors.dimension()));
  layer.weight = from_array(vectors.vectors());
  const auto queen = vectors.vocabulary().id("queen");
  assert(layer(tensor({queen})).to_host()[0] == vectors["queen"][0]);

  // In the plane: what differs most between them.
  const HostArray plane = text::principal_components(vectors.vectors());  // (words, 2)
  assert(plane.shape[1] == 2);
}

/// 4. A real text: the shares of right answers need some millions of words.
void a_book(const std::string& path) {
  const text::Corpus corpus = text::make_corpus(text::read_text(path));
  const text::WordVectors vectors = text::train_word2vec(corpus, {.epochs = 3});
  for (text::Id word = 100; word < std::min<text::Id>(104, vectors.size()); ++word) {
    const std::string& name = vectors.vocabulary().token(word);
    print((name + ": ").c_str(), vectors.most_similar(name, 6));
  }
}

}  // namespace

int main(int argc, char** argv) {
  words_as_numbers();
  bags_of_words();
  words_by_their_neighbours();
  if (argc > 1) a_book(argv[1]);
  return 0;
}
