#include <tegula/text.h>

#include <cstdio>
#include <string>

/// A tokenizer of letters, and a model that reads their ids.
int main() {
  const tegula::text::Tokenizer letters = tegula::text::character_tokenizer("ab");
  const tegula::text::Ids ids = letters.encode("ba");
  const std::string text = letters.decode(ids);
  const tegula::models::Gpt2 net({.vocabulary = letters.size(), .width = 8, .layers = 1, .heads = 2, .context = 4});
  const tegula::Tensor scores = net(tegula::tensor({static_cast<int>(ids[0]), static_cast<int>(ids[1])}, {1, 2}));  // (1, 2, V)
  std::printf("%s\n", text.c_str());
  return text == "ba" && scores.shape() == tegula::Shape{1, 2, letters.size()} ? 0 : 1;
}
