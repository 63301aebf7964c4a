// tegula graph: what the compiler makes of a model.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "app/commands.h"
#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/data/digits.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/print.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {
namespace {

const std::vector<std::string> kStages{"graph",  "simplify", "precision", "epilogue", "layout",  "materialize", "plan",
                                       "memory", "tile",     "kernel",    "assembly", "figures", "all"};

struct GraphChoice {
  ModelChoice model;
  std::int64_t batch = 64;
  bool step = false, dot = false;
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

void run(const GraphChoice& choice) {
  models::Model model = make_model(choice.model);
  const Parameters state = nn::state(model.net);
  for (const Parameter& p : state) eval(p.read());  // the printed graph begins at their values
  Shape shape = model.input;
  shape.insert(0, choice.batch);
  const HostArray images = HostArray::empty(f32, shape), classes = HostArray::empty(i64, {choice.batch});
  std::fill_n(images.values<float>().data(), images.size(), 0.0f);
  std::fill_n(classes.values<std::int64_t>().data(), classes.size(), 0);
  const Tensor x = from_array(images), y = from_array(classes);

  if (!choice.step) eval(model.net);
  optim::Adam adam(parameters(model.net));
  const auto forward = [&](const Tensor& in) { return model.net(in); };
  const auto step = [&](const Tensor& in, const Tensor& labels) {
    const Tensor loss = cross_entropy(model.net(in), labels);
    adam.step(grad(loss, adam.parameters()));
    return loss;
  };
  if (choice.dot && choice.stage != "graph" && choice.stage != "plan" && choice.stage != "tile") {
    throw Error({.op = "tegula graph",
                 .got = "--dot with --stage " + choice.stage,
                 .expected = "the stage graph, plan or tile",
                 .advice = "the others are text: leave --dot out"});
  }
  if (choice.dot && (choice.stage == "plan" || choice.stage == "tile")) {
    const auto print = [&](auto compiled, const auto&... arguments) {
      compiled(arguments...);
      std::printf("%s", (choice.stage == "plan" ? compiled.plan_dot() : compiled.tile_dot()).c_str());
    };
    choice.step ? print(jit(step), x, y) : print(jit(forward), x);
    return;
  }
  if (choice.dot) {
    const DotOptions options{.parameters = state, .title = model.name};
    if (!choice.step) {
      const Tensor outputs[] = {forward(x)};
      std::printf("%s", to_dot(outputs, options).c_str());
    } else {
      const Tensor loss = cross_entropy(model.net(x), y);
      std::vector<Tensor> outputs = grad(loss, adam.parameters());
      outputs.push_back(loss);
      std::printf("%s", to_dot(outputs, options).c_str());
    }
    return;
  }
  // The compiler hands the text of each stage to the warning handler.
  static bool shown = false;
  set_warning_handler([](const std::string& name, const std::string& text) {
    shown |= name.starts_with("print.");
    if (name.starts_with("print.")) std::printf("# %s\n%s\n", name.c_str() + 6, text.c_str());
    else std::fprintf(stderr, "tegula: %s: %s\n", name.c_str(), text.c_str());
  });
  eval(adam.lr.read(), adam.steps().read());
  ::setenv("TEGULA_PRINT", choice.stage.c_str(), 1);
  if (choice.step) jit(step)(x, y);
  else jit(forward)(x);
  if (!shown) std::printf("%s\n", why_nothing(choice.stage).c_str());
}

}  // namespace

void add_graph(Command& app) {
  auto choice = std::make_shared<GraphChoice>();
  Command command = app.command("graph", "the graph of a model, its plan, its tile programs");
  add_options(command, choice->model, ModelFiles::Yes);
  command.option("--batch", choice->batch, "images at once").check(positive()).shows_default().type("N");
  command.flag("--step", choice->step, "a whole training step with Adam instead of the forward pass");
  command.option("--stage", choice->stage, "what to print").check(one_of(kStages)).shows_default();
  add_precision(command);
  command.flag("--dot", choice->dot,
               "for Graphviz: the graph before any pass (with --step: loss and gradients), or with --stage plan or tile those");
  add_device_option(command);
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app
