#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tegula/graph/evaluate.h"
#include "tests/property/outcome.h"
#include "tests/property/reference_host.h"

namespace tegula::property {
namespace {

double epsilon(DType dtype) {
  return dtype == f64 ? 0x1p-52 : dtype == f32 ? 0x1p-23 : dtype == f16 ? 0x1p-10 : dtype == bf16 ? 0x1p-7 : 0;
}
/// The number below which rounding is no longer relative.
double smallest(DType dtype) { return dtype == f64 ? 0x1p-1022 : dtype == f16 ? 0x1p-24 : 0x1p-126; }

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

constexpr int kNoises = 1, kMoreNoises = 24, kMostNoises = 200;

}  // namespace

std::string to_string(const Outcome& outcome) {
  if (!outcome.error.empty()) return "  threw: " + outcome.error + "\n";
  std::string text;
  for (std::size_t v = 0; v < outcome.values.size(); ++v) {
    const Value& value = outcome.values[v];
    text += "  value " + std::to_string(v) + " " + std::string(name(value.dtype)) + tegula::to_string(value.shape) + ":";
    for (std::size_t n = 0; n < std::min<std::size_t>(value.elements.size(), 8); ++n) {
      char number[32];
      std::snprintf(number, sizeof number, " %.9g", value.elements[n]);
      text += number;
    }
    text += value.elements.size() > 8 ? " …\n" : "\n";
  }
  return text;
}

bool has_state(const Program& program) {
  return std::ranges::any_of(program, [](const Instruction& one) { return one.op == "write" || one.draws(); });
}

Program with_precision(const Program& program, Precision precision) {
  Program out = program;
  if (precision == Precision::fp32) return out;
  for (Instruction& one : out) {
    if (one.dtype == f64) one.dtype = f32;
  }
  return out;
}

std::vector<Outcome> reference_outcomes(const Program& program, int calls, std::uint64_t noise, Precision precision, bool checkpoints) {
  const PrecisionScope scope(precision);
  ReferenceHost host(program, noise);
  host.checkpoints = checkpoints;
  std::vector<Outcome> out;
  for (int i = 0; i < calls; ++i) out.push_back(host.call());
  Cell::settle_later();  // of the generator: it is only read here
  return out;
}

Expectation::Expectation(const Program& program, Precision precision)
    : program_(with_precision(program, precision)),
      precision_(precision) {
  const int calls = has_state(program) ? 5 : 1;
  exact_ = reference_outcomes(program_, calls, 0, precision);
  for (int noise = 1; noise <= kNoises; ++noise)
    noisy_.push_back(reference_outcomes(program_, calls, static_cast<std::uint64_t>(noise), precision));
}

std::string Expectation::compare(const Outcome& got, int call, bool checkpoints) {
  call = std::min(call, calls() - 1);
  if (!got.error.empty()) return "threw: " + got.error;
  if (differs(got, call, true).empty()) return "";
  // A few noises may all miss how badly conditioned an element is; before something is called wrong, many are tried. A value that a checkpoint computes
  // again has gradients of its own: each is rounded to its dtype before they are added, where otherwise their sum is. Noise therefore moves that graph's, too.
  for (const int enough : {kMoreNoises, kMostNoises}) {
    Noisy& noisy = checkpoints ? noisy_again_ : noisy_;
    while (static_cast<int>(noisy.size()) < enough)
      noisy.push_back(reference_outcomes(program_, calls(), noisy.size() + 1, precision_, checkpoints));
    if (differs(got, call, false, checkpoints ? noisy_again_ : Noisy()).empty()) return "";
  }
  return differs(got, call, false, checkpoints ? noisy_again_ : Noisy());
}

std::string Expectation::differs(const Outcome& got, int call, bool count, const Noisy& more) {
  const auto& exact = exact_[static_cast<std::size_t>(call)].values;
  if (got.values.size() != exact.size())
    return "gave " + std::to_string(got.values.size()) + " values, expected " + std::to_string(exact.size());
  for (std::size_t v = 0; v < exact.size(); ++v) {
    const Value& x = got.values[v];
    if (x.dtype != exact[v].dtype || x.shape != exact[v].shape) {
      return "value " + std::to_string(v) + " is " + std::string(name(x.dtype)) + tegula::to_string(x.shape) + ", expected " +
             std::string(name(exact[v].dtype)) + tegula::to_string(exact[v].shape);
    }
    std::int64_t wrong = 0;
    std::string first;
    for (std::size_t n = 0; n < x.elements.size(); ++n) {
      const double e = exact[v].elements[n];
      double spread = 0;
      for (const Noisy* const list : {&std::as_const(noisy_), &more}) {
        for (const auto& noisy : *list) {
          const double other = noisy[static_cast<std::size_t>(call)].values[v].elements[n];
          if (same(e, other)) continue;
          spread = std::max(spread, std::isfinite(e) && std::isfinite(other) ? std::fabs(e - other) : HUGE_VAL);
        }
      }
      if (count) counts.elements++;
      // An integer or boolean that any noise changes is decided by rounding.
      if (spread == HUGE_VAL || (!is_float(x.dtype) && spread > 0)) {
        if (count) counts.undecided++;
        continue;
      }
      if (same(e, x.elements[n])) continue;
      const double tolerance = 16 * spread + 4 * epsilon(x.dtype) * std::fabs(e) + 4 * smallest(x.dtype);
      if (is_float(x.dtype) && std::fabs(e - x.elements[n]) <= tolerance) continue;
      if (wrong++ > 0) continue;
      char text[160];
      std::snprintf(text, sizeof text, "element %zu of value %zu is %.17g, expected %.17g to %.1e", n, v, x.elements[n], e, tolerance);
      first = text;
    }
    if (count) counts.values++;
    if (wrong > 0) {
      return first + " (" + std::to_string(wrong) + " of " + std::to_string(x.elements.size()) + " wrong, " + std::string(name(x.dtype)) +
             to_string(x.shape) + ")";
    }
  }
  return "";
}

}  // namespace tegula::property
