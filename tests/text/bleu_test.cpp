// BLEU against sacreBLEU 2.6.0: the package's values for these lines.

#include "tegula/text/bleu.h"

#include <gtest/gtest.h>

#include "tests/support/message.h"

namespace tegula {
namespace {

using Lines = std::vector<std::string>;

TEST(Bleu, CutsAsMteval13aDoes) {
  const std::pair<const char*, const char*> lines[] = {
      {"Hello, world! It's 3.14 (about $1,000.00) - ok?", "Hello , world ! It's 3.14 ( about $ 1,000.00 ) - ok ?"},
      {"a-b 1990-1995 5-year-old ... wait..,x", "a-b 1990 - 1995 5 - year-old . . . wait . . , x"},
      {"&quot;Quote&quot; &amp; &lt;tag&gt; <skipped>x", "\" Quote \" & < tag > x"},
      {"Grüße, „Straße“ — naïve café; 100%...", "Grüße , „Straße“ — naïve café ; 100 % . . ."},
      {"  many   blanks\tand\u00a0nbsp ", "many blanks and nbsp"},
      {"U.S.A. e.g. 1.5.2 ,5 5, .5 5. a.b a,b", "U . S . A . e . g . 1.5.2 , 5 5 , . 5 5 . a . b a , b"},
      {"x/y [1] {2} ~3~ `q` #h @u *s* +p+ =e= ^c^ _u_ |v| \\b\\",
       "x / y [ 1 ] { 2 } ~ 3 ~ ` q ` # h @ u * s * + p + = e = ^ c ^ _ u _ | v | \\ b \\"},
      {"", ""},
      {"1,2,3 ,, .. ,. 4-5-6 --7", "1,2,3 , , . . , . 4 - 5 - 6 --7"},
      {"été.été 漢字。漢字, ok", "été . été 漢字。漢字 , ok"},
  };
  for (const auto& [line, cut] : lines) EXPECT_EQ(text::tokenize_13a(line), cut);
}

const Lines kHypotheses = {"The cat sat on the mat .",
                           "A man in a blue shirt is standing on a ladder, cleaning a window.",
                           "Two dogs run.",
                           "",
                           "one two three four five",
                           "There is a 3-year-old girl (with $5.00)."};
const Lines kReference = {"The cat is on the mat.",
                          "A man in a blue shirt is on a ladder cleaning the windows.",
                          "Two dogs are running in the snow.",
                          "Nothing here.",
                          "one two three four five six",
                          "There's a 3-year-old girl (who has $5.00)."};
const Lines kOther = {"There is a cat on the mat.", "A man on a ladder cleans a window.", "Two dogs run.", "x",
                      "One two three four",         "There is a girl who is 3."};

struct Expected {
  double score;
  std::array<double, 4> precisions;
  double brevity_penalty;
  std::int64_t hypothesis_length, reference_length;
  std::array<std::int64_t, 4> matches, totals;
  const char* text;
};

void expect_bleu(const text::Bleu& got, const Expected& want) {
  EXPECT_NEAR(got.score, want.score, 1e-11);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_NEAR(got.precisions[n], want.precisions[n], 1e-11) << n + 1;
  EXPECT_NEAR(got.brevity_penalty, want.brevity_penalty, 1e-14);
  EXPECT_EQ(got.hypothesis_length, want.hypothesis_length);
  EXPECT_EQ(got.reference_length, want.reference_length);
  EXPECT_EQ(got.matches, want.matches);
  EXPECT_EQ(got.totals, want.totals);
  EXPECT_EQ(got.text(), want.text);
}

TEST(Bleu, IsSacreBleus) {
  const text::Bleu one = text::bleu(kHypotheses, kReference);
  expect_bleu(one, {47.80789775936305,
                    {80.0, 62.5, 48.57142857142857, 36.666666666666664},
                    0.8751733190429475,
                    45,
                    51,
                    {36, 25, 17, 11},
                    {45, 40, 35, 30},
                    "BLEU = 47.81 80.0/62.5/48.6/36.7 (BP = 0.875 ratio = 0.882 hyp_len = 45 ref_len = 51)"});
  EXPECT_EQ(one.signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  const std::vector<Lines> both = {kReference, kOther};
  const text::Bleu two = text::bleu(kHypotheses, both);
  expect_bleu(two, {63.76613663897562,
                    {88.88888888888889, 77.5, 60.0, 40.0},
                    1,
                    45,
                    43,
                    {40, 31, 21, 12},
                    {45, 40, 35, 30},
                    "BLEU = 63.77 88.9/77.5/60.0/40.0 (BP = 1.000 ratio = 1.047 hyp_len = 45 ref_len = 43)"});
  EXPECT_EQ(two.signature, "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp");
  const text::Bleu blanks = text::bleu(kHypotheses, kReference, {.tokens = text::BleuTokens::None});
  expect_bleu(blanks, {37.76422273180196,
                       {69.44444444444444, 51.61290322580645, 34.61538461538461, 28.571428571428573},
                       0.8703247258333906,
                       36,
                       41,
                       {25, 16, 9, 6},
                       {36, 31, 26, 21},
                       "BLEU = 37.76 69.4/51.6/34.6/28.6 (BP = 0.870 ratio = 0.878 hyp_len = 36 ref_len = 41)"});
  // Capitals: alike in these lines when they are lowered, and different when one side is.
  Lines lowered = kHypotheses;
  for (std::string& line : lowered)
    for (char& c : line) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  EXPECT_NEAR(text::bleu(lowered, kReference, {.letters = text::BleuCase::Lower}).score, one.score, 1e-11);
  EXPECT_LT(text::bleu(lowered, kReference).score, one.score - 1);
}

TEST(Bleu, SmoothsOrdersWithoutAMatch) {
  const Lines hypotheses = {"a b x c d y", "q"}, reference = {"a b z c w v u", "r"};
  expect_bleu(text::bleu(hypotheses, reference), {14.984885384519528,
                                                  {42.857142857142854, 20.0, 12.5, 8.333333333333334},
                                                  0.8668778997501817,
                                                  7,
                                                  8,
                                                  {3, 1, 0, 0},
                                                  {7, 5, 4, 3},
                                                  "BLEU = 14.98 42.9/20.0/12.5/8.3 (BP = 0.867 ratio = 0.875 hyp_len = 7 ref_len = 8)"});
  EXPECT_EQ(text::bleu(Lines{"a b c"}, Lines{"a b c"}).score, 0);  // too short for four words beside each other
  const text::Bleu nothing = text::bleu(Lines{"x y"}, Lines{"a b c"});
  EXPECT_EQ(nothing.score, 0);
  EXPECT_NEAR(nothing.brevity_penalty, 0.6065306597126334, 1e-15);
  EXPECT_EQ(text::bleu(Lines{""}, Lines{"a"}).brevity_penalty, 0);
}

TEST(Bleu, RefusesTextsThatDoNotBelongTogether) {
  EXPECT_HAS_MESSAGE(text::bleu(kHypotheses, Lines{"one"}), "6 hypotheses and 1 references");
  EXPECT_HAS_MESSAGE(text::bleu(kHypotheses, std::span<const Lines>()), "no references");
}

}  // namespace
}  // namespace tegula
