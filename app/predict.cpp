// tegula predict: what a trained model sees in pictures.

#include <cstdio>
#include <cstring>
#include <memory>

#include "app/commands.h"
#include "app/images.h"
#include "app/text/classify.h"
#include "tegula/core/error.h"

namespace tegula::app {
namespace {

struct PredictChoice {
  std::string file;
  std::vector<std::string> images;
  std::int64_t count = 6;
  bool draw = true;
};

HostArray first(HostArray images, std::int64_t count) {
  images.shape[0] = std::min(images.shape[0], count);
  return images;
}

void run(const PredictChoice& choice) {
  models::Model model = models::load(choice.file);
  if (model.input.rank() != 3 || model.input[0] != 1 || model.input[1] != model.input[2]) {
    throw Error({.op = "tegula predict",
                 .got = model.name + ", which takes " + to_string(model.input),
                 .expected = "a model of square gray images"});
  }
  for (const std::string& path : choice.images) {
    const HostArray images = first(read_images(path, model.input[1]), choice.count);
    if (images.size() == 0) continue;
    const auto guesses = classify(model, images);
    if (choice.draw) std::printf("%s", draw(images, guesses).c_str());
    for (std::size_t i = 0; i < guesses.size(); ++i) {
      const std::string number = guesses.size() > 1 ? " [" + std::to_string(i) + "]" : "";
      std::printf("%s%s: %lld (%.1f %%), then %lld (%.1f %%)\n", path.c_str(), number.c_str(), static_cast<long long>(guesses[i].best),
                  100 * guesses[i].best_probability, static_cast<long long>(guesses[i].second), 100 * guesses[i].second_probability);
    }
  }
}

}  // namespace

void add_predict(Command& app) {
  auto choice = std::make_shared<PredictChoice>();
  Command command = app.command("predict", "the class of pictures (PNG, JPEG, or an idx file of images)");
  command.option("file", choice->file, "a model written by tegula train").required().type("FILE");
  command.option("images", choice->images, "pictures of one digit each, of any size; or idx files").required().type("IMAGE");
  command.option("--count", choice->count, "images of an idx file").check(positive()).shows_default().type("N");
  command.flag("!--no-pictures", choice->draw, "print the results only");
  add_device_option(command);
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app
