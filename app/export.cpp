// tegula export: a model as a file of another kind.

#include <cstdio>
#include <memory>

#include "app/graph.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/onnx.h"

namespace tegula::app {
namespace {

struct ExportChoice {
  ModelChoice model;
  std::string onnx;
  std::int64_t opset = onnx::SaveOptions().opset, batch = 0, length = 16;
};

void run(const ExportChoice& choice) {
  const bool any_batch = choice.batch == 0 && !is_graph_file(choice.model.name_or_file);
  const FunctionChoice of{.model = choice.model, .batch = choice.batch == 0 ? 2 : choice.batch, .length = choice.length};
  const ChosenFunction f = chosen_function(of, "export");
  onnx::SaveOptions options{.opset = choice.opset, .names = f.state};
  for (std::size_t i = 0; any_batch && i < f.arguments.size(); ++i)
    if (f.arguments[i].rank() > 0 && f.arguments[i].size(0) == of.batch)
      options.open.push_back({.input = static_cast<int>(i), .name = "batch"});
  const onnx::File file = onnx::to_file(choice.onnx, options, f.function, f.arguments);
  onnx::write_file(file, choice.onnx);
  std::size_t numbers = 0;
  for (const onnx::StoredArray& one : file.graph.initializers) numbers += static_cast<std::size_t>(one.array.size());
  std::printf("%s: %s, %zu nodes, %zu tensors of %s numbers, operator set %lld\n", printable(choice.onnx).c_str(),
              printable(f.title).c_str(), file.graph.nodes.size(), file.graph.initializers.size(),
              quantity(static_cast<double>(numbers)).c_str(), static_cast<long long>(choice.opset));
}

}  // namespace

void add_export(Command& app) {
  auto choice = std::make_shared<ExportChoice>();
  Command command = app.command("export", "a model or a graph file as an ONNX file, which other runtimes execute");
  add_options(command, choice->model, ModelFiles::Yes);
  command.option("--onnx", choice->onnx, "where it is written").required().check(not_empty()).type("FILE");
  command.option("--opset", choice->opset, "the operator set, 17 to 24").shows_default().type("N");
  command.option("--batch", choice->batch, "images, rows or texts at once [any number]").check(positive()).type("N");
  command.option("--length", choice->length, "tokens of each text").check(positive()).shows_default().type("N");
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app
