// tegula graph: the compiler's stages for a model, or for a graph file.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "app/file_model.h"
#include "app/graph.h"
#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/formats/plan_file.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/print.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {
namespace {

const std::vector<std::string> kStages{"graph",  "simplify", "precision", "epilogue", "layout",  "materialize", "plan",
                                       "memory", "tile",     "kernel",    "assembly", "figures", "all"};

struct GraphChoice {
  FunctionChoice function;
  bool dot = false;
  std::string stage = "graph";
};

/// Why a stage printed nothing.
std::string why_nothing(const std::string& stage) {
  if (stage == "assembly" || stage == "figures")
    return "The " + default_device().name() + " has no " + stage + ": it is what a GPU's compiler makes.";
  if (stage == "tile" || stage == "kernel")
    return "There is no tile program: all steps of this plan are calls of libraries (--stage plan shows them; --step has more).";
  return "The stage " + stage + " has nothing to say about this graph.";
}

ChosenFunction of_model(const FunctionChoice& choice, bool gradients) {
  const auto model = std::make_shared<models::Model>(make_model(choice.model));
  Shape shape = model->input;
  shape.insert(0, choice.batch);
  if (!choice.step) {
    eval(model->net);
    const auto forward = [model](const std::vector<Tensor>& in) { return std::vector{model->net(in[0])}; };
    return {forward, {zeros(shape, f32)}, nn::state(model->net), model->name};
  }
  const auto adam = std::make_shared<optim::Adam>(parameters(model->net));
  eval(adam->lr.read(), adam->steps().read());
  const auto step = [model, adam, gradients_alone = gradients](const std::vector<Tensor>& in) {
    const Tensor loss = cross_entropy(model->net(in[0]), in[1]);
    std::vector<Tensor> gradients = grad(loss, adam->parameters());
    if (gradients_alone) {
      gradients.push_back(loss);
      return gradients;
    }
    adam->step(gradients);
    return std::vector{loss};
  };
  return {step, {zeros(shape, f32), zeros({choice.batch}, i64)}, nn::state(model->net), model->name};
}

ChosenFunction of_graph_file(const FunctionChoice& choice, const std::string& command) {
  if (choice.step) {
    throw Error({.op = "tegula " + command,
                 .got = "--step with the graph file " + choice.model.name_or_file,
                 .expected = "a model: a graph file is the function that was saved",
                 .advice = "save the step with save_graph"});
  }
  const GraphFunction f = load_graph(choice.model.name_or_file);
  ChosenFunction out{f, {}, f.state(), choice.model.name_or_file};
  for (const GraphValue& input : f.inputs()) out.arguments.push_back(zeros(input.shape, input.dtype));
  return out;
}

ChosenFunction of_own(const FunctionChoice& choice, const std::string& command, const FileModel& model) {
  if (choice.step) {
    throw Error({.op = "tegula " + command,
                 .got = "--step with " + printable(choice.model.name_or_file) + ", a model of the kind " + model.kind,
                 .expected = "a model of images that is listed",
                 .advice = "TEGULA_PRINT=plan before tegula train shows the steps of other trainings"});
  }
  const auto forward = [call = model.forward](const std::vector<Tensor>& in) { return std::vector{call(in)}; };
  return {forward, model.inputs, model.state, model.kind};
}

/// Shows the plan of a plan file, if the stage is one of a plan; otherwise returns false.
bool shows_plan(const GraphChoice& choice) {
  const bool of_plan = choice.stage == "plan" || choice.stage == "memory" || choice.stage == "kernel";
  if (!of_plan || choice.dot || !is_plan_file(choice.function.model.name_or_file)) return false;
  const PlanFunction f = load_plan(choice.function.model.name_or_file);
  if (!f.from_file()) return false;
  const std::string text = choice.stage == "plan" ? f.print_plan() : choice.stage == "memory" ? f.print_memory() : f.print_kernels();
  std::printf("# %s\n%s\n", choice.stage.c_str(), text.c_str());
  return true;
}

void run(const GraphChoice& choice) {
  if (choice.dot && choice.stage != "graph" && choice.stage != "plan" && choice.stage != "tile") {
    throw Error({.op = "tegula graph",
                 .got = "--dot with --stage " + choice.stage,
                 .expected = "the stage graph, plan or tile",
                 .advice = "the others are text: leave --dot out"});
  }
  if (shows_plan(choice)) return;
  ChosenFunction what = chosen_function(choice.function, "graph", choice.dot && choice.stage == "graph");
  for (const Parameter& p : what.state) eval(p.read());  // the printed graph begins at their values
  if (choice.dot && choice.stage != "graph") {
    auto compiled = jit(what.function);
    compiled(what.arguments);
    std::printf("%s", (choice.stage == "plan" ? compiled.plan_dot() : compiled.tile_dot()).c_str());
    return;
  }
  if (choice.dot) {
    const std::vector<Tensor> outputs = what.function(what.arguments);
    std::printf("%s", to_dot(outputs, {.parameters = what.state, .title = what.title}).c_str());
    return;
  }
  // The compiler hands the text of each stage to the warning handler.
  static bool shown = false;
  set_warning_handler([](const std::string& name, const std::string& text) {
    shown |= name.starts_with("print.");
    if (name.starts_with("print.")) std::printf("# %s\n%s\n", name.c_str() + 6, text.c_str());
    else std::fprintf(stderr, "tegula: %s: %s\n", name.c_str(), text.c_str());
  });
  ::setenv("TEGULA_PRINT", choice.stage.c_str(), 1);
  jit(what.function)(what.arguments);
  if (!shown) std::printf("%s\n", why_nothing(choice.stage).c_str());
}

}  // namespace

void add_options(Command& command, FunctionChoice& choice) {
  add_options(command, choice.model, ModelFiles::Yes);
  command.option("--batch", choice.batch, "images, rows or texts at once").check(positive()).shows_default().type("N");
  command.option("--length", choice.length, "tokens of each text").check(positive()).shows_default().type("N");
  command.flag("--step", choice.step, "a whole training step with Adam instead of the forward pass");
}

ChosenFunction chosen_function(const FunctionChoice& choice, const std::string& command, bool gradients) {
  const std::string& model = choice.model.name_or_file;
  ChosenFunction out;
  if (is_graph_file(model)) out = of_graph_file(choice, command);
  else if (const auto own = model_in(model, choice.batch, choice.length)) out = of_own(choice, command, *own);
  else out = of_model(choice, gradients);
  for (Tensor& x : out.arguments) x = from_array(x.to_array());
  return out;
}

void add_graph(Command& app) {
  auto choice = std::make_shared<GraphChoice>();
  Command command = app.command("graph", "the graph of a model, a graph file or a plan file, its plan, its tile programs");
  add_options(command, choice->function);
  command.option("--stage", choice->stage, "what to print").check(one_of(kStages)).shows_default();
  add_precision(command);
  command.flag("--dot", choice->dot,
               "for Graphviz: the graph before any pass (with --step: loss and gradients), or with --stage plan or tile those");
  add_device_option(command);
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app
