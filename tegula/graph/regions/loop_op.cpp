#include "tegula/graph/regions/loop_op.h"

#include "tegula/core/error.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/tile/ir.h"

namespace tegula {
namespace {

enum class WordOfBody : std::uint64_t {};  // of the body's key: for keys alone

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

void LoopOp::attributes(Attributes& a) const {
  a("length", form_.length);
  a("reverse", form_.reverse);
  for (const Input input : form_.inputs) a.told_by_name(input);
  for (const std::uint64_t word : body().key()) a.told_by_name(WordOfBody{word});
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

std::unique_ptr<runtime::Call> LoopOp::prepare(runtime::Device&, std::span<const Layout>, const Layout&, DType, Epilogue) const {
  throw_no_call();
}

void LoopOp::reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const {
  throw_no_call();
}

}  // namespace tegula
