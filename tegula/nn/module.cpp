#include "tegula/nn/module.h"

#include <algorithm>
#include <map>

#include "tegula/core/error.h"
#include "tegula/graph/names.h"

namespace tegula::nn {
namespace {

// Collects named cells in a walk, each only once.
class Collector final : public Visitor {
 public:
  enum class What : std::uint8_t { Parameters, Everything };
  explicit Collector(What what) : what_(what) {}

  void parameter(const Path& path, Variable& x) override { add(path, x); }
  void buffer(const Path& path, Variable& x) override {
    if (what_ == What::Everything) add(path, x);
  }
  Parameters take() {
    remember_names(found_);
    return std::move(found_);
  }

 private:
  void add(const Path& path, Variable& x) {
    Parameter parameter{path.text(), x.cell()};
    auto [place, added] = names_.try_emplace(parameter.cell.get(), parameter.name);
    if (!added) {
      throw Error({.op = "parameters",
                   .got = "the same cell as " + place->second + " and as " + parameter.name,
                   .expected = "each under one name",
                   .advice = "to tie weights, keep one field and use it twice"});
    }
    found_.push_back(std::move(parameter));
  }

  What what_;
  Parameters found_;
  std::map<const Cell*, std::string> names_;
};

class SetTraining final : public Visitor {
 public:
  explicit SetTraining(bool training) : training_(training) {}
  void flag(const Path& path, Flag& x) override {
    if (path.name == "training") x = training_ ? 1 : 0;
  }

 private:
  bool training_;
};

}  // namespace

std::string Path::text() const {
  std::string own = index >= 0 ? std::to_string(index) : std::string(name);
  if (!parent) return own;
  std::string front = parent->text();
  return front.empty() ? own : own.empty() ? front : front + "." + own;
}

Parameters state(const AnyModule& module) {
  Collector collector(Collector::What::Everything);
  module.visit(collector);
  return collector.take();
}

namespace detail {

void visit_leaf(Generator& x, Visitor& visitor, const Path& path) {
  visitor.buffer(Path{&path, "seed"}, x.seed_variable());
  visitor.buffer(Path{&path, "counter"}, x.counter_variable());
}

Parameters parameters(const AnyModule& module) {
  Collector collector(Collector::What::Parameters);
  module.visit(collector);
  return collector.take();
}

void set_training(const AnyModule& module, bool training) {
  SetTraining visitor(training);
  module.visit(visitor);
}

std::int64_t num_parameters(const AnyModule& module) {
  std::int64_t n = 0;
  for (const Parameter& parameter : parameters(module)) n += numel(parameter.cell->shape());
  return n;
}

}  // namespace detail
}  // namespace tegula::nn
