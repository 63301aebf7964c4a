#include "tegula/ops/debug_print.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/op_families.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

/// A printed tensor; its elements are dense.
struct Printed {
  std::string name;
  DType dtype;
  Shape shape;
  std::size_t bytes() const { return static_cast<std::size_t>(numel(shape)) * size_of(dtype); }

  /// Shows elements in host memory. Must not use a device: on one that queues, its thread is here.
  void show(const void* elements, const Line& where) const {
    HostArray array = HostArray::empty(dtype, shape);
    if (bytes() > 0) std::memcpy(array.buffer->data(), elements, bytes());
    const std::string place = tegula::to_string(where), text = from_array(array).print(where);
    const std::string front = name + (name.empty() || place.empty() ? "" : " ") + (place.empty() ? "" : "at " + place);
    show_text("debug_print", front + (front.empty() ? "" : ": ") + (text.find('\n') == std::string::npos ? "" : "\n") + text);
  }
};

class PrintCall final : public runtime::Call {
 public:
  explicit PrintCall(Printed printed) : printed_(std::move(printed)) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (buffers.back() != buffers.front() && printed_.bytes() > 0) std::memcpy(buffers.back(), buffers.front(), printed_.bytes());
    printed_.show(buffers.front(), options.line);
  }
  std::string describe() const override { return "debug_print " + printed_.name; }

 private:
  Printed printed_;
};

runtime::HostTurn turn_of_host(const Printed& printed) {
  return {.input_bytes = printed.bytes(),
          .output_bytes = printed.bytes(),
          .text = "debug_print " + printed.name + ", by the host",
          .queued = [printed](const Line& where) -> runtime::HostTurn::Work {
            return [printed, where](const void* input, void* output) {
              if (printed.bytes() > 0) std::memcpy(output, input, printed.bytes());
              printed.show(input, where);
            };
          }};
}

class DebugPrintOp final : public LibraryOp {
 public:
  DebugPrintOp(std::string text, Effect effect) : text_(std::move(text)), effect_(effect) {}
  std::string_view name() const override { return "debug_print"; }
  void attributes(Attributes& a) override {
    a("text", text_);
    a.choice("effect", effect_, {"none", "ordered", "always"});
  }
  Numerics numerics() const override { return Numerics::Full; }
  Effect effect() const override { return effect_; }
  bool may_be_in_place() const override { return true; }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  double operations(std::span<const Shape>, const Shape&) const override { return 0; }
  std::unique_ptr<runtime::Call> prepare(runtime::Device& device, const Setting& setting) const override {
    const Printed printed{text_, setting.dtype, setting.results[0].shape};
    if (device.traits().queues) return device.make(turn_of_host(printed));
    return std::make_unique<PrintCall>(printed);
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape>, std::span<double> y, const Shape&) const override {
    std::ranges::copy(x[0], y.begin());
  }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>&) const override { return {dy}; }

 private:
  std::string text_;
  Effect effect_;
};

}  // namespace

Tensor debug_print(const Arg& x, const std::string& name) {
  const Tensor value = x.tensor("debug_print");
  const Trace* const trace = Trace::current();
  const Effect effect = trace && trace->is_of_body() ? Effect::Ordered : Effect::Always;  // a body runs what its results need
  return make_node(Ref<const Op>(new DebugPrintOp(name, effect)), {value}, value.shape(), value.dtype(), x.loc);
}

void add_debug_print_ops(OpTable& table) { table.add_class<DebugPrintOp>("debug_print", 1, std::string(), Effect::Ordered); }

}  // namespace tegula
