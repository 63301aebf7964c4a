// tegula compile: writes a plan file of a model. tegula run: calls one.

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

#include "app/graph.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/formats/plan_file.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/fingerprint.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {
namespace {

void compile(const FunctionChoice& choice, const std::string& out) {
  const ChosenFunction f = chosen_function(choice, "compile");
  save_plan(out, {.names = f.state}, f.function, f.arguments);
  const PlanFunction plan = load_plan(out);
  std::printf("%s: %s for %s, %zu inputs, %zu results, %zu Variables\n", printable(out).c_str(), printable(f.title).c_str(),
              runtime::fingerprint(default_device()).c_str(), plan.inputs().size(), plan.outputs().size(), plan.state().size());
}

/// The file's tensors by the names of the inputs; zeros without a file.
std::vector<Tensor> arguments_of(const PlanFunction& f, const std::string& file) {
  std::map<std::string, HostArray> given;
  if (!file.empty())
    for (auto& [name, array] : io::read_safetensors(file).tensors) given.emplace(name, std::move(array));
  std::vector<Tensor> out;
  for (const GraphValue& input : f.inputs()) {
    const auto found = given.find(input.name);
    if (found == given.end() && !file.empty()) {
      throw Error({.op = "tegula run",
                   .got = printable(file) + " without " + printable(input.name),
                   .expected = "a tensor for each input of the plan: " + std::string(name(input.dtype)) + to_string(input.shape)});
    }
    out.push_back(found == given.end() ? zeros(input.shape, input.dtype) : from_array(found->second));
    eval(out.back());
  }
  return out;
}

void run(const std::string& file, const std::string& inputs, const std::string& out) {
  const PlanFunction f = load_plan(file);
  const std::vector<Tensor> arguments = arguments_of(f, inputs);
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Tensor> results = f(arguments);
  io::NamedArrays arrays;
  for (std::size_t i = 0; i < results.size(); ++i) arrays.emplace_back(f.outputs()[i].name, results[i].to_array());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& [name, array] : arrays)
    std::printf("%s: %s%s\n%s\n", printable(name).c_str(), std::string(tegula::name(array.dtype)).c_str(), to_string(array.shape).c_str(),
                from_array(array).print().c_str());
  std::printf("%.2f ms\n", 1e3 * seconds);
  if (!out.empty()) io::write_safetensors(out, arrays);
}

}  // namespace

void add_compile(Command& app) {
  struct Choice {
    FunctionChoice function{.model = {}, .batch = 1};
    std::string out;
  };
  auto choice = std::make_shared<Choice>();
  Command command = app.command("compile", "what a device runs for a model, in a plan file: it starts without tracing and planning");
  add_options(command, choice->function);
  command.option("--out", choice->out, "where it is written").required().check(not_empty()).type("FILE");
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { compile(choice->function, choice->out); });
}

void add_run(Command& app) {
  struct Choice {
    std::string file, inputs, out;
  };
  auto choice = std::make_shared<Choice>();
  Command command = app.command("run", "a plan file, called once");
  command.option("file", choice->file, "written by tegula compile or save_plan").required().type("FILE");
  command.option("--inputs", choice->inputs, "a safetensors file with a tensor for each input [zeros]").type("FILE");
  command.option("--out", choice->out, "a safetensors file for the results").type("FILE");
  add_device_option(command);
  command.runs([choice] { run(choice->file, choice->inputs, choice->out); });
}

}  // namespace tegula::app
