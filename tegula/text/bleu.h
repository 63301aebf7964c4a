#pragma once
// BLEU as sacreBLEU computes it (Papineni et al., ACL 2002; Post, "A call for clarity in reporting BLEU scores", WMT 2018).

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::text {

enum class BleuTokens : std::uint8_t { Mteval13a, None };  // mteval-v13a.pl's words and signs, or the texts between blanks
enum class BleuCase : std::uint8_t { Mixed, Lower };

struct BleuOptions {
  BleuTokens tokens = BleuTokens::Mteval13a;
  BleuCase letters = BleuCase::Mixed;
};

/// Counts of n-grams, n from 1 to 4, and the score from them; shares in percent.
struct Bleu {
  double score = 0;
  std::array<double, 4> precisions{};
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;  // words; of several references the nearest length counts
  std::array<std::int64_t, 4> matches{}, totals{};
  std::string signature;  // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"
  /// "BLEU = 33.21 64.5/41.0/27.3/18.4 (BP = 0.981 ratio = 0.982 hyp_len = 11874 ref_len = 12097)"
  std::string text() const;
};

/// The score of a corpus: segment i of `hypotheses` against segment i of each of the references. If nothing of an order matches, it counts as 1/2, 1/4, … of a match (exponential smoothing).
/// Throws Error when there are no references, or not as many segments as hypotheses.
Bleu bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references, const BleuOptions& options = {});
Bleu bleu(std::span<const std::string> hypotheses, const std::vector<std::string>& reference, const BleuOptions& options = {});

/// The words and signs of mteval-v13a.pl, with blanks between them.
std::string tokenize_13a(std::string_view line);

}  // namespace tegula::text
