#include "tests/support/cpu_candidates.h"

namespace tegula::test {

std::vector<runtime::Candidate> cpu_candidates(const runtime::CallDescription& d) {
  if (std::holds_alternative<runtime::Attention>(d)) return {};
  if (std::holds_alternative<runtime::Matmul>(d)) return std::vector<runtime::Candidate>(runtime::cpu().takes(d) ? 1 : 0, {d});
  std::vector<runtime::Candidate> out = runtime::cpu().candidates(d);
  if (const auto* const asked = std::get_if<runtime::Convolution>(&d))
    for (runtime::Candidate& way : out) way.description = std::get<runtime::Convolution>(way.description).in(asked->dtype());
  return out;
}

}  // namespace tegula::test
