#include "app/text/classify.h"

#include <cstdlib>
#include <string_view>

#include "app/progress.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/train/evaluator.h"

namespace tegula::app {

std::vector<Guess> classify(models::Model& model, const HostArray& images) {
  Evaluator evaluator(model.net);
  const Tensor probabilities = softmax(evaluator.predict(images), 1);  // (N, classes)
  const auto values = probabilities.to_host<double>();
  const auto classes = static_cast<std::size_t>(probabilities.size(1));
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < values.size(); i += classes) {
    std::size_t best = 0, second = classes > 1 ? 1 : 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (values[i + c] > values[i + best]) {
        second = best;
        best = c;
      } else if (c != best && (second == best || values[i + c] > values[i + second])) {
        second = c;
      }
    }
    guesses.push_back({static_cast<std::int64_t>(best), static_cast<std::int64_t>(second), values[i + best], values[i + second]});
  }
  return guesses;
}

std::string draw(const HostArray& images, std::span<const Guess> guesses, std::span<const std::int64_t> truth) {
  const auto height = images.shape[images.shape.rank() - 2], width = images.shape.back();
  const auto plane = static_cast<std::size_t>(height * width), channels = static_cast<std::size_t>(images.shape[1]);
  const auto values = images.values<float>();
  std::vector<float> gray(guesses.size() * plane);
  for (std::size_t i = 0; i < gray.size(); ++i) {
    for (std::size_t c = 0; c < channels; ++c)
      gray[i] += values[(i / plane * channels + c) * plane + i % plane] / static_cast<float>(channels);
  }
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    const auto pixels = std::span<const float>(gray).subspan(i * plane, plane);
    std::string caption = format("%lld (%.1f %%)", static_cast<long long>(guesses[i].best), 100 * guesses[i].best_probability);
    if (i < truth.size()) {
      caption += truth[i] == guesses[i].best ? " right" : format(" wrong, is %lld", static_cast<long long>(truth[i]));
    }
    pictures.push_back({pixels, static_cast<int>(height), static_cast<int>(width), caption});
  }
  return draw(pictures, terminal_columns(), terminal_ink());
}

Ink terminal_ink() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal && std::string_view(terminal) == "dumb";
  return dumb || std::getenv("TEGULA_ASCII") ? Ink::Ascii : Ink::HalfBlocks;
}

}  // namespace tegula::app
