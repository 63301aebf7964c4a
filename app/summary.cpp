// tegula summary: layers, shapes, parameters and work of a model, read off its graph.

#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/file_model.h"
#include "app/progress.h"
#include "tegula/core/text.h"
#include "tegula/nn/summary.h"

namespace tegula::app {
namespace {

void run(const ModelChoice& choice, std::int64_t batch, std::int64_t length) {
  if (const auto model = model_in(choice.name_or_file, batch, length)) {
    std::printf("%s: %s\n\n%s", printable(choice.name_or_file).c_str(), model->kind.c_str(), model->summary().text().c_str());
    return;
  }
  models::Model model = make_model(choice);
  eval(model.net);
  Shape shape = model.input;
  shape.insert(0, batch);
  const auto entry = models::find(model.name);
  std::printf("%s: %s%s%s\n\n%s", model.name.c_str(), std::string(entry.description).c_str(),
              model.options.batch_norm ? ", batch normalisation" : "",
              model.options.dropout > 0 ? format(", dropout %g", model.options.dropout).c_str() : "",
              summary(model.net, shape).text().c_str());
}

}  // namespace

void add_summary(Command& app) {
  struct Choice {
    ModelChoice model;
    std::int64_t batch = 1, length = 16;
  };
  auto choice = std::make_shared<Choice>();
  Command command = app.command("summary", "layers, shapes, parameters and work of a model");
  add_options(command, choice->model, ModelFiles::Yes);
  command.option("--batch", choice->batch, "images, rows or texts at once").check(positive()).shows_default().type("N");
  command.option("--length", choice->length, "tokens of each text").check(positive()).shows_default().type("N");
  add_device_option(command);
  command.runs([choice] { run(choice->model, choice->batch, choice->length); });
}

}  // namespace tegula::app
