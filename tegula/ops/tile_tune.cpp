#include "tegula/ops/tile_tune.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/fnv_hash.h"
#include "tegula/core/text.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/graph_mutex.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_kernel_op.h"
#include "tegula/runtime/fingerprint.h"
#include "tegula/runtime/measure.h"
#include "tegula/runtime/registry.h"
#include "tegula/runtime/tuning.h"

namespace tegula::tile {
namespace language {
namespace {

/// The positions at which a parameter's values begin.
struct Place {
  std::size_t number = 0, real = 0, constant = 0, input = 0, output = 0;
};

Place behind(Place place, const ParameterFacts& one) {
  if (one.rank >= 0) place.number += static_cast<std::size_t>(one.rank);
  if (one.blocks) place.constant += static_cast<std::size_t>(one.rank);
  switch (one.role) {
    case Role::Input: ++place.input; break;
    case Role::Output: ++place.output; break;
    case Role::Update: ++place.input, ++place.output; break;
    case Role::Integer:
    case Role::Flag: ++place.number; break;
    case Role::Real: ++place.real; break;
    case Role::Constant: ++place.constant; break;
  }
  return place;
}

struct Found {
  const ParameterFacts* facts = nullptr;
  Place place;
};
Found find(std::span<const ParameterFacts> facts, std::string_view name) {
  Place place;
  for (const ParameterFacts& one : facts) {
    if (!name.empty() && name == one.name) return {&one, place};
    place = behind(place, one);
  }
  return {};
}

std::string names_of(std::span<const ParameterFacts> facts, bool constants) {
  std::string text;
  for (const ParameterFacts& one : facts) {
    if (one.name[0] == '\0' || (constants && one.role != Role::Constant)) continue;
    text += (text.empty() ? "" : ", ") + std::string(one.name);
  }
  return text.empty() ? "no parameter has a name" : "one of " + text;
}

void set(Arguments& arguments, std::span<const ParameterFacts> facts, const std::string& name, double value) {
  const Found found = find(facts, name);
  if (!found.facts || found.facts->role != Role::Constant) {
    throw Error({.op = arguments.name(),
                 .got = "the constant \"" + name + "\" of a configuration or heuristic",
                 .expected = names_of(facts, true),
                 .advice = "a Const has its name as a template argument: Const<int, \"BM\">",
                 .where = arguments.where()});
  }
  const std::size_t at = found.place.constant;
  if (!std::erase(arguments.waits(), at)) return;  // the call says another
  arguments.launch.constants[at] = found.facts->real ? std::bit_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::string text_of(const Config& config) {
  std::string text;
  for (const auto& [name, value] : config.constants) text += (text.empty() ? "" : " ") + name + "=" + number_text(value);
  if (config.num_warps > 0) text += " num_warps=" + std::to_string(config.num_warps);
  if (config.num_stages > 0) text += " num_stages=" + std::to_string(config.num_stages);
  return text;
}

/// The launch by one configuration.
Arguments decided(const Arguments& open, const Grid& grid, std::span<const ParameterFacts> facts, const Choices* choices,
                  const Config* config) {
  Arguments arguments = open;
  if (config)
    for (const auto& [name, value] : config->constants) set(arguments, facts, name, value);
  if (choices)
    for (const auto& [name, value] : choices->heuristics) set(arguments, facts, name, value(Launch(arguments, facts)));
  if (!arguments.waits().empty()) {
    Place place;
    std::string name;
    for (const ParameterFacts& one : facts) {
      if (one.role == Role::Constant && place.constant == arguments.waits().front()) name = one.name;
      place = behind(place, one);
    }
    throw Error({.op = arguments.name(),
                 .got = "no number for the constant \"" + name + "\"",
                 .expected = "one in the call, in each configuration of tune(), or by given()",
                 .where = arguments.where()});
  }
  if (grid.of) arguments.launch.grid = grid.of(Launch(arguments, facts));
  if (config && (config->num_warps > 0 || config->num_stages > 0))  // behind the constants of parameters
    arguments.launch.constants.push_back(KernelHints{config->num_warps, config->num_stages}.packed());
  return arguments;
}

/// All that the choice may depend on: the program that the first configuration makes stands for the kernel's text.
std::string key_of(const Arguments& open, const Arguments& first, std::span<const ParameterFacts> facts, const Choices& choices,
                   const std::vector<Config>& configs, TileKernel kernel) {
  std::vector<Result> operands;
  for (const Tensor& input : first.inputs) operands.push_back({input.shape(), input.dtype()});
  const TileKernelOp op(first.name(), kernel, std::move(operands), first.launch, first.where());
  FnvHash hash;
  for (const std::uint64_t word : op.program().structure) hash.add(word);
  for (const Config& config : configs)
    for (const char letter : text_of(config) + ";") hash.add(static_cast<unsigned char>(letter));
  std::string key = "tile " + first.name() + " " + std::to_string(hash.value());
  const auto wanted = [&](const ParameterFacts& one) {
    return choices.options.key.empty() || std::ranges::find(choices.options.key, std::string_view(one.name)) != choices.options.key.end();
  };
  for (const std::string& name : choices.options.key) {
    if (find(facts, name).facts) continue;
    throw Error({.op = first.name(), .got = "the key \"" + name + "\"", .expected = names_of(facts, false), .where = first.where()});
  }
  Place place;
  for (const ParameterFacts& one : facts) {
    switch (one.role) {
      case Role::Input:
      case Role::Update:
        key += " " + std::string(tegula::name(first.inputs[place.input].dtype()));
        if (wanted(one)) key += to_string(first.inputs[place.input].shape());
        break;
      case Role::Output:
        key += " " + std::string(tegula::name(first.launch.outputs[place.output].dtype));
        if (wanted(one) && choices.options.key.empty()) key += to_string(first.launch.outputs[place.output].shape);
        break;
      case Role::Integer:
      case Role::Flag:
        if (wanted(one)) key += " " + std::string(one.name) + "=" + std::to_string(first.launch.numbers[place.number]);
        break;
      case Role::Constant:  // those that the call says
        if (std::ranges::find(open.waits(), place.constant) == open.waits().end())
          key += " " + std::string(one.name) + "=" + std::to_string(first.launch.constants[place.constant]);
        break;
      case Role::Real: break;
    }
    place = behind(place, one);
  }
  return key;
}

/// The tensors to measure the kernel with: the given ones, or stand-ins like them if they have no values yet.
std::vector<Tensor> measurable(const std::vector<Tensor>& inputs, bool traced, const Line& where) {
  if (!traced) return inputs;
  std::vector<Tensor> others;
  std::vector<Ref<Node>> nodes;
  for (const Tensor& input : inputs) {
    others.push_back(full(input.shape(), is_float(input.dtype()) ? 1 : 0, input.dtype()));
    nodes.push_back(others.back().node());
  }
  evaluate(nodes, where);  // else they were made anew in each run, and measured with it
  return others;
}

double seconds_of(const Arguments& arguments, TileKernel kernel, const std::vector<Tensor>& inputs, double at_most) {
  const auto run = [&] {
    const std::vector<Tensor> results = tile_kernel(arguments.name(), kernel, inputs, arguments.launch, arguments.where());
    std::vector<Ref<Node>> nodes;
    for (const Tensor& result : results) nodes.push_back(result.node());
    evaluate(nodes, arguments.where());
  };
  run();  // compiles
  default_device().synchronize();
  return runtime::measure(default_device(), run, {.seconds = std::min(0.1, at_most), .batches = 5, .warm_up = 1}).fastest;
}

class Tuner {
 public:
  Tuner(const Arguments& open, const Grid& grid, std::span<const ParameterFacts> facts, const Choices& choices, TileKernel kernel)
      : open_(open),
        grid_(grid),
        facts_(facts),
        choices_(choices),
        kernel_(kernel),
        configs_(choices.configs) {}

  Arguments choose(bool measures) {
    if (choices_.options.prune) configs_ = choices_.options.prune(configs_, Launch(open_, facts_));
    if (configs_.empty()) {
      throw Error({.op = open_.name(), .got = "no configuration to choose from", .expected = "at least one", .where = open_.where()});
    }
    if (configs_.size() == 1 || !measures || !runtime::tuning_enabled()) return by(configs_.front());
    const std::string section = runtime::fingerprint(default_device()) + ", " + std::to_string(default_device().max_threads()) + " threads";
    const std::string key = this->key();
    if (const Config* const found = remembered(section, key)) return by(*found);
    // One at a time, and no other thread begins to compute meanwhile. A mutex of its own would deadlock: the caller may hold this one (grad), and evaluate takes it.
    const std::scoped_lock lock(graph_mutex());
    if (const Config* const found = remembered(section, key)) return by(*found);
    const auto [best, seconds] = fastest();
    runtime::tuning_file().store(section, key, text_of(*best), seconds * 1e6);
    return by(*best);
  }

 private:
  Arguments by(const Config& config) const { return decided(open_, grid_, facts_, &choices_, &config); }
  /// The key by the first configuration that can be recorded.
  std::string key() const {
    std::optional<Error> first_error;
    for (const Config& config : configs_) {
      try {
        return key_of(open_, by(config), facts_, choices_, configs_, kernel_);
      } catch (const Error& error) {
        if (!first_error) first_error = error;
      }
    }
    throw Error(*first_error);
  }
  const Config* remembered(const std::string& section, const std::string& key) const {
    const auto text = runtime::tuning_file().find(section, key);
    const auto found = std::ranges::find_if(configs_, [&](const Config& config) { return text && text_of(config) == *text; });
    return found == configs_.end() ? nullptr : &*found;
  }

  std::pair<const Config*, double> fastest() const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto left = [&] { return choices_.options.seconds - std::chrono::duration<double>(Clock::now() - begin).count(); };
    const bool traced = tegula::Trace::current() != nullptr;
    const tegula::Trace::Pause pause;
    const std::vector<Tensor> inputs = measurable(open_.inputs, traced, open_.where());
    const Config* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    std::optional<Error> first_error;
    std::vector<std::pair<std::vector<std::int64_t>, Dims>> tried;
    for (const Config& config : configs_) {
      if (best && left() <= 0) break;
      try {
        const Arguments launch = by(config);
        std::pair<std::vector<std::int64_t>, Dims> same{launch.launch.constants, launch.launch.grid};
        if (std::ranges::find(tried, same) != tried.end()) continue;
        tried.push_back(std::move(same));
        const double seconds = seconds_of(launch, kernel_, inputs, std::max(left(), 1e-3) / 2);
        if (seconds < least) best = &config, least = seconds;
      } catch (const Error& error) {
        if (!first_error) first_error = error;
      }
    }
    if (!best) throw Error(*first_error);
    return {best, least};
  }

  const Arguments& open_;
  const Grid& grid_;
  std::span<const ParameterFacts> facts_;
  const Choices& choices_;
  TileKernel kernel_;
  std::vector<Config> configs_;
};

}  // namespace

std::shared_ptr<const Choices> with_configs(const Choices* choices, std::vector<Config> configs, TuneOptions options) {
  auto made = std::make_shared<Choices>(choices ? *choices : Choices());
  made->configs = std::move(configs);
  made->options = std::move(options);
  return made;
}
std::shared_ptr<const Choices> with_heuristic(const Choices* choices, std::string constant, Heuristic value) {
  auto made = std::make_shared<Choices>(choices ? *choices : Choices());
  made->heuristics.emplace_back(std::move(constant), std::move(value));
  return made;
}

void decide(Arguments& arguments, const Grid& grid, std::span<const ParameterFacts> facts, const Choices* choices, TileKernel kernel,
            bool measures) {
  const bool hints = choices && std::ranges::any_of(choices->configs, [](const Config& one) { return one.num_warps + one.num_stages > 0; });
  const bool tunes = choices && !choices->configs.empty() && (hints || !arguments.waits().empty());
  const Arguments by_choice =
      tunes ? Tuner(arguments, grid, facts, *choices, kernel).choose(measures) : decided(arguments, grid, facts, choices, nullptr);
  arguments.launch = by_choice.launch;
  arguments.waits().clear();
}

}  // namespace language

std::int64_t Launch::operator[](std::string_view name) const {
  using language::Role;
  const language::Found found = language::find(facts_, name);
  const bool constant = found.facts && found.facts->role == Role::Constant && !found.facts->real;
  if (!constant && !(found.facts && (found.facts->role == Role::Integer || found.facts->role == Role::Flag))) {
    throw Error({.op = arguments_.name(),
                 .got = "the number \"" + std::string(name) + "\" of a launch",
                 .expected = language::names_of(facts_, false) + ", of integer type",
                 .advice = "numbers of the run get names by Named<Int, \"M\">",
                 .where = arguments_.where()});
  }
  if (!constant) return arguments_.launch.numbers[found.place.number];
  if (std::ranges::find(arguments_.waits(), found.place.constant) != arguments_.waits().end()) {
    throw Error({.op = arguments_.name(),
                 .got = "the constant \"" + std::string(name) + "\" before it is decided",
                 .expected = "one of the call, or of the configuration",
                 .where = arguments_.where()});
  }
  return arguments_.launch.constants[found.place.constant];
}

double Launch::real(std::string_view name) const {
  using language::Role;
  const language::Found found = language::find(facts_, name);
  if (found.facts && found.facts->role == Role::Real) return arguments_.launch.reals[found.place.real];
  if (found.facts && found.facts->role == Role::Constant && found.facts->real)
    return std::bit_cast<double>(arguments_.launch.constants[found.place.constant]);
  return static_cast<double>((*this)[name]);
}

}  // namespace tegula::tile
