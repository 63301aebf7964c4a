#include "tests/property/modes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <unordered_set>

#include "tegula/tegula.h"
#include "tests/property/carry_out.h"
#include "tests/property/ops.h"
#include "tests/support/op_check.h"
#include "tests/support/queued_device.h"

namespace tegula::property {
namespace {

// References are graphs that cannot be evaluated, so none may be flushed for being too many.
constexpr std::size_t kNoBound = std::size_t{1} << 40;

/// Settings of the process that a mode changes, put back at the end.
class Settings {
 public:
  explicit Settings(const Mode& mode) : before_(default_device()), precision_(mode.precision) {
    if (mode.eager) set_eager(true);
    if (mode.bound > 0) set_pending_bound(static_cast<std::size_t>(mode.bound));
    if (mode.queued) {
      static test::QueuedDevice& queued = test::QueuedDevice::create();
      set_default_device(queued);
    }
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() {
    set_eager(false);
    set_pending_bound(kNoBound);
    set_default_device(before_);
  }

 private:
  runtime::Device& before_;
  PrecisionScope precision_;
};

/// The nodes from which these are made, in program order.
std::vector<Ref<Node>> all_nodes(const std::vector<Ref<Node>>& roots) {
  std::vector<Ref<Node>> stack = roots, all;
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Ref<Node> node = stack.back();
    stack.pop_back();
    if (!seen.insert(node.get()).second) continue;
    all.push_back(node);
    for (const auto& input : node->inputs()) stack.push_back(input);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->sequence() < b->sequence(); });
  return all;
}

void evaluate_each(const std::vector<Ref<Node>>& roots) {
  const auto nodes = all_nodes(roots);
  Cell::settle_later();
  for (const auto& node : nodes) {
    if (!node->results().empty()) continue;  // its parts are the values
    const Ref<Node> one[] = {node};
    evaluate(one, Line::current());
  }
}

Value value_of(const Tensor& t) { return {t.dtype(), t.shape(), t.to_host<double>()}; }

class ModeHost final : public Host {
 public:
  ModeHost(const Program& program, const Mode& mode) : program_(program), mode_(mode) {
    drops = mode.looks;
    checkpoints = mode.checkpoints;
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      const Instruction& one = program[static_cast<std::size_t>(i)];
      if (one.op == "input") {
        order_.push_back(i);
        inputs_.push_back(leaf(one, mode.inputs == Inputs::Views));
        if (mode.inputs == Inputs::Variables) cells_.try_emplace(i, inputs_.back());
      } else if (one.op == "weight") {
        const bool captured = one.seed % 2 == 1;
        const Tensor value = leaf(one, captured && mode.inputs == Inputs::Views);
        if (captured) eval(value);  // a function captures no work that is still to be done
        if (captured) captured_.emplace(i, value);
        else cells_.try_emplace(i, value);
      } else if (one.op == "variable") {
        variables_.push_back(i);
        // Two places may begin with the same tensor.
        cells_.try_emplace(i, one.inputs.empty() ? leaf(one, false) : inputs_[place(one.inputs[0])]);
      }
    }
  }

  Tensor input(int number) override {
    if (mode_.inputs == Inputs::Variables) return cells_.at(number).read();
    return arguments.empty() ? inputs_[place(number)] : arguments[place(number)];
  }
  Tensor weight(int number) override {
    const auto captured = captured_.find(number);
    return captured == captured_.end() ? cells_.at(number).read() : captured->second;
  }
  Tensor read(int number) override { return cells_.at(number).read(); }
  void write(int number, const Tensor& value) override { cells_.at(number) = value; }
  Wrt target(int number, const Tensor& value) override {
    const auto cell = cells_.find(number);
    return cell == cells_.end() ? Wrt(value) : Wrt(cell->second);
  }
  void look(const Tensor& value, std::uint32_t how) override {
    if (!mode_.looks) return;
    switch (how % 5) {
      case 0: eval(value); break;
      case 1: sum(is_float8(value.dtype()) ? cast(value, f32) : value).item(); break;
      case 2: value.print(); break;
      case 3: value.to_host<double>(); break;
      default:
        for (int variable : variables_) cells_.at(variable).read().to_host<double>();
    }
  }
  void made(int number, const Tensor& value) override {
    if (mode_.looks && number % 4 == 3) look(value, static_cast<std::uint32_t>(number / 4));
  }
  Generator& generator() override { return generator_; }

  std::vector<Tensor> results() {
    if (!mode_.faulty) return carry_out(program_, *this);
    Program other = program_;
    for (Instruction& one : other) {
      if (one.op == "tanh") one.op = "sin";
    }
    return carry_out(other, *this);
  }

  /// Fetches the results and the Variables' values.
  Outcome outcome(const std::vector<Tensor>& results) {
    std::vector<Ref<Node>> roots;
    for (const Tensor& t : results) roots.push_back(t.node());
    if (mode_.nodes) {
      std::vector<Ref<Node>> all = roots;
      for (const auto& [number, cell] : cells_) all.push_back(cell.read().node());
      evaluate_each(all);
    }
    evaluate(roots, Line::current());
    Outcome out;
    for (const Tensor& t : results) out.values.push_back(value_of(t));
    for (int variable : variables_) out.values.push_back(value_of(cells_.at(variable).read()));
    return out;
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }
  /// The Variables, under names that tell them apart.
  Parameters cells() const {
    Parameters out;
    for (const auto& [number, cell] : cells_) out.push_back({"v" + std::to_string(number), cell.cell()});
    return out;
  }
  std::vector<Tensor> arguments;  // instead of the inputs, in a trace

 private:
  std::size_t place(int number) const { return static_cast<std::size_t>(std::find(order_.begin(), order_.end(), number) - order_.begin()); }
  Tensor leaf(const Instruction& one, bool as_view) const {
    const auto values = leaf_values(one);
    if (!as_view) return leaf_of(values, one.shape, one.dtype);
    const int rank = one.shape.rank();
    switch (one.seed % 3) {
      case 0: return leaf_of(values, one.shape, one.dtype, InputLayout::Strided);
      case 1: return leaf_of(values, one.shape, one.dtype, rank < 2 ? InputLayout::Strided : InputLayout::Transposed);
      default: {  // pending: the middle of something larger
        const Tensor whole = leaf_of(values, one.shape, one.dtype);
        if (rank == 0) return select(stack({whole, whole}), 0, 1);
        return slice(concat({whole, whole}, rank - 1), rank - 1, {one.shape.back(), 2 * one.shape.back()});
      }
    }
  }

  const Program& program_;
  const Mode& mode_;
  std::vector<int> order_, variables_;  // the numbers of inputs and Variables
  std::vector<Tensor> inputs_;
  std::map<int, Variable> cells_;
  std::map<int, Tensor> captured_;  // weights
  Generator generator_{11};
};

std::vector<std::pair<int, Outcome>> run_jit(ModeHost& host, const Mode& mode, int calls) {
  compile::JitState jit(Line::current());
  const auto body = [&](std::span<const Tensor> arguments) {
    host.arguments.assign(arguments.begin(), arguments.end());
    auto results = host.results();
    host.arguments.clear();
    return results;
  };
  const std::vector<Tensor> none, &arguments = mode.inputs == Inputs::Variables ? none : host.inputs();
  std::vector<std::pair<int, Outcome>> out;
  if (mode.repeat > 0) {
    out.emplace_back(0, host.outcome(jit.call(arguments, body)));  // a first call compiles
    out.emplace_back(mode.repeat, host.outcome(jit.call(arguments, body, mode.repeat)));
    return out;
  }
  // At least the first five calls: tracing happens again at some of them, errors of kept values show at others.
  for (int call = 0; call < std::max(calls, 5); ++call) out.emplace_back(call, host.outcome(jit.call(arguments, body)));
  return out;
}

volatile std::uint64_t current_seed = 0;
char current_mode[40] = "";

std::string path_for(const char* ending) {
  if (const char* folder = std::getenv("TEGULA_PLANS")) return std::string(folder) + "/" + std::to_string(current_seed) + ending;
  return "property-" + std::to_string(getpid()) + ending;
}

/// Runs by way of a file. Values that the loaded function has written are read back into the host's Variables.
std::vector<std::pair<int, Outcome>> run_saved(ModeHost& host, const Mode& mode, int calls) {
  const std::string path = path_for(mode.planned ? ".plan" : ".graph");
  const auto body = [&](const std::vector<Tensor>& arguments) {
    host.arguments = arguments;
    auto results = host.results();
    host.arguments.clear();
    return results;
  };
  const bool stays = std::getenv("TEGULA_PLANS") && mode.planned;
  if (!stays || !std::filesystem::exists(path)) {
    if (mode.planned) save_plan(path, {.names = host.cells()}, body, host.inputs());
    else save_graph(path, {.names = host.cells()}, body, host.inputs());
  }
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function;
  Parameters state;
  if (mode.planned) {
    const PlanFunction loaded = load_plan(path);
    state = loaded.state();
    function = [loaded](const std::vector<Tensor>& inputs) {
      auto results = loaded(inputs);
      if (!loaded.from_file() || loaded.traces() != 0) throw std::runtime_error("a plan that was made anew");
      return results;
    };
  } else {
    const GraphFunction loaded = load_graph(path);
    state = loaded.state();
    function = [compiled = std::make_shared<decltype(jit(loaded))>(jit(loaded))](const std::vector<Tensor>& inputs) {
      return (*compiled)(inputs);
    };
  }
  if (!stays) std::remove(path.c_str());
  std::vector<std::pair<int, Outcome>> out;
  for (int call = 0; call < std::max(calls, 5); ++call) {
    const std::vector<Tensor> results = function(host.inputs());
    for (const Parameter& mine : host.cells()) {
      const auto is_mine = [&](const Parameter& one) { return one.name == mine.name; };
      const auto theirs = std::find_if(state.begin(), state.end(), is_mine);
      if (theirs != state.end()) mine.assign(theirs->read());
    }
    out.emplace_back(call, host.outcome(results));
  }
  return out;
}

extern "C" void on_crash(int signal) {
  char text[160];
  const int length = std::snprintf(text, sizeof text, "\nsignal %d in mode '%s' of the graph of TEGULA_SEED=%llu\n", signal, current_mode,
                                   static_cast<unsigned long long>(current_seed));
  [[maybe_unused]] const auto written = write(2, text, static_cast<std::size_t>(length));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

const std::vector<Mode>& modes() {
  static const std::vector<Mode> all{
      {.name = "lazy"},
      {.name = "nodes", .nodes = true},
      {.name = "eager", .eager = true},
      {.name = "looks", .looks = true},
      {.name = "bound", .bound = 3},
      {.name = "checkpoint", .checkpoints = true},
      {.name = "views", .inputs = Inputs::Views},
      {.name = "variables", .inputs = Inputs::Variables},
      {.name = "jit", .jit = true},
      {.name = "jit-repeat", .jit = true, .repeat = 4},
      {.name = "jit-views", .inputs = Inputs::Views, .jit = true},
      {.name = "jit-variables", .inputs = Inputs::Variables, .jit = true},
      {.name = "jit-checkpoint", .checkpoints = true, .jit = true},
      {.name = "saved", .saved = true},
      {.name = "planned", .planned = true},
      {.name = "queued-planned", .planned = true, .queued = true},
      {.name = "queued", .queued = true},
      {.name = "queued-looks", .looks = true, .queued = true},
      {.name = "queued-jit", .jit = true, .queued = true},
      {.name = "queued-repeat", .jit = true, .repeat = 4, .queued = true},
      {.name = "bf16", .precision = Precision::bf16},
      {.name = "bf16-jit", .jit = true, .precision = Precision::bf16},
      // The queued device has no products that are better in f32. Values computed again under checkpoint are rounded to other halves than the existing ones.
      {.name = "queued-bf16", .queued = true, .precision = Precision::bf16},
      {.name = "queued-bf16-jit", .jit = true, .queued = true, .precision = Precision::bf16},
  };
  return all;
}

const Mode& mode(const std::string& name) {
  const auto found = std::find_if(modes().begin(), modes().end(), [&](const Mode& mode) { return mode.name == name; });
  if (found == modes().end()) throw std::runtime_error("no mode is called " + name);
  return *found;
}

std::vector<std::pair<int, Outcome>> run(const Program& given, const Mode& mode, int calls) {
  const Program program = with_precision(given, mode.precision);
  std::vector<std::pair<int, Outcome>> out;
  try {
    const Settings settings(mode);
    ModeHost host(program, mode);
    if (mode.saved || mode.planned) return run_saved(host, mode, calls);
    if (mode.jit) return run_jit(host, mode, calls);
    for (int call = 0; call < calls; ++call) out.emplace_back(call, host.outcome(host.results()));
  } catch (const std::exception& error) {
    out.emplace_back(static_cast<int>(out.size()), Outcome{{}, error.what()});
  } catch (const Unfit&) { out.emplace_back(static_cast<int>(out.size()), Outcome{{}, "an op that the reference took did not fit"}); }
  Cell::settle_later();
  return out;
}

SavedFunction function_of(const Program& program) {
  struct Kept {
    explicit Kept(const Program& given) : program(given), host(program, mode("saved")) {}
    Program program;
    ModeHost host;
  };
  const auto kept = std::make_shared<Kept>(program);
  const auto function = [kept](const std::vector<Tensor>& arguments) {
    kept->host.arguments = arguments;
    auto results = kept->host.results();
    kept->host.arguments.clear();
    return results;
  };
  return {function, kept->host.inputs(), kept->host.cells()};
}

std::vector<std::vector<Outcome>> run_together(const std::vector<Program>& programs, const Mode& mode) {
  std::vector<std::vector<Outcome>> out;
  try {
    const Settings settings(mode);
    std::vector<std::unique_ptr<ModeHost>> hosts;
    std::vector<Tensor> inputs;
    for (const Program& program : programs) {
      hosts.push_back(std::make_unique<ModeHost>(program, mode));
      inputs.insert(inputs.end(), hosts.back()->inputs().begin(), hosts.back()->inputs().end());
    }
    std::vector<std::size_t> ends;  // ends of each program's results
    const auto all = [&](std::span<const Tensor> arguments) {
      std::vector<Tensor> results;
      ends.clear();
      for (auto& host : hosts) {
        const auto count = host->inputs().size();
        if (!arguments.empty()) host->arguments.assign(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(count));
        if (!arguments.empty()) arguments = arguments.subspan(count);
        const auto some = host->results();
        host->arguments.clear();
        results.insert(results.end(), some.begin(), some.end());
        ends.push_back(results.size());
      }
      return results;
    };
    compile::JitState jit(Line::current());
    for (int call = 0; call < 2; ++call) {
      const std::vector<Tensor> results = mode.jit ? jit.call(inputs, all) : all({});
      std::vector<Ref<Node>> roots;
      for (const Tensor& t : results) roots.push_back(t.node());
      evaluate(roots, Line::current());
      std::vector<Outcome> outcomes;
      for (std::size_t i = 0, begin = 0; i < hosts.size(); begin = ends[i++]) {
        outcomes.push_back(hosts[i]->outcome(
            {results.begin() + static_cast<std::ptrdiff_t>(begin), results.begin() + static_cast<std::ptrdiff_t>(ends[i])}));
      }
      out.push_back(std::move(outcomes));
    }
  } catch (const std::exception& error) { out.push_back({Outcome{{}, error.what()}}); }
  Cell::settle_later();
  return out;
}

void set_current(std::uint64_t seed, const std::string& mode) {
  current_seed = seed;
  std::strncpy(current_mode, mode.c_str(), sizeof current_mode - 1);
}

void prepare_process() {
  set_pending_bound(kNoBound);
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, on_crash);
}

}  // namespace tegula::property
