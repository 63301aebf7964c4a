// tegula summary: layers, shapes, parameters and work of a model, read off its graph.

#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/nn/summary.h"

namespace tegula::app {
namespace {

void run(const ModelChoice& choice, std::int64_t batch) {
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
    std::int64_t batch = 1;
  };
  auto choice = std::make_shared<Choice>();
  Command command = app.command("summary", "layers, shapes, parameters and work of a model");
  add_options(command, choice->model, ModelFiles::Yes);
  command.option("--batch", choice->batch, "images at once").check(positive()).shows_default().type("N");
  add_device_option(command);
  command.runs([choice] { run(choice->model, choice->batch); });
}

}  // namespace tegula::app
