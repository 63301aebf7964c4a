#include "tegula/graph/regions/loop_op.h"

#include "tegula/core/error.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/tile/ir.h"

namespace tegula {
namespace {

constexpr std::string_view kLetters = "csan";  // LoopOp::Input: a carry, a slice, the same for all, a number

[[noreturn]] void throw_no_call() {
  throw Error(
      {.op = "scan", .got = "a loop taken for a call of the device", .expected = "prepare_loop", .advice = "this is a bug in Tegula"});
}

}  // namespace

const LoopOp* LoopOp::of(const Op& op) { return op.role() == Role::Library ? dynamic_cast<const LoopOp*>(&op) : nullptr; }

Effect LoopOp::effect() const {
  const bool any = std::ranges::any_of(body().nodes(), [](const Ref<Node>& node) { return effect_of(node->op()) != Effect::None; });
  return any ? Effect::Ordered : Effect::None;
}

void LoopOp::attributes(Attributes& a) {
  a("length", form_.length);
  a("reverse", form_.reverse);
  std::string inputs;  // a letter each
  for (const Input input : form_.inputs) inputs += kLetters[static_cast<std::size_t>(input)];
  a("inputs", inputs);
  a.region("body", form_.body);
  const Signature* const node = a.made_for();
  if (!node) return;
  form_.inputs.clear();
  for (const char letter : inputs) {
    const std::size_t kind = kLetters.find(letter);
    a.require(kind != std::string_view::npos, "inputs");
    form_.inputs.push_back(static_cast<Input>(kind));
  }
  a.require(fits(*node), "body");
}

bool LoopOp::fits(const Signature& node) const {
  const auto& parameters = body().parameters();
  const auto& results = body().results();
  const auto is = [](const Result& given, const Node& inside, std::int64_t stacked) {
    Shape shape = inside.shape();
    if (stacked > 0 && shape.rank() == kMaxRank) return false;
    if (stacked > 0) shape.insert(0, stacked);
    return given == Result{shape, inside.dtype()};
  };
  bool fits = form_.length > 0 && form_.inputs.size() == node.inputs.size() && parameters.size() == node.inputs.size() &&
              results.size() == node.results.size() && results.size() > 1 && carries() <= results.size() &&
              std::ranges::is_partitioned(form_.inputs, [](Input input) { return input == Input::Carry; });
  for (std::size_t i = 0; fits && i < parameters.size(); ++i)
    fits = is(node.inputs[i], *parameters[i], input(i) == Input::Slice ? form_.length : 0);
  for (std::size_t r = 0; fits && r < results.size(); ++r) fits = is(node.results[r], *results[r], r < carries() ? 0 : form_.length);
  return fits;
}

DType LoopOp::input_dtype(int index, DType) const {
  const DType dtype = body().parameters()[static_cast<std::size_t>(index)]->dtype();
  return input(static_cast<std::size_t>(index)) == Input::Number ? tile::compute_type(dtype) : dtype;
}

double LoopOp::operations(std::span<const Shape>, const Shape&) const {
  double sum = 0;
  for (const auto& node : body().nodes()) {
    if (node->op().role() != Role::Library) continue;
    std::vector<Shape> shapes;
    for (const auto& input : node->inputs()) shapes.push_back(input->shape());
    sum += static_cast<const LibraryOp&>(node->op()).operations(shapes, node->shape());
  }
  return sum * static_cast<double>(form_.length);
}

void LoopOp::reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const {
  throw_no_call();
}

}  // namespace tegula
