#include "tegula/ops/tile_kernel.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/tile/passes/check_places.h"
#include "tegula/tile/pointer_origins.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "tile_kernel";
// What fails, by its id: a check of the kernel's own below the first one (tile::Builder::kFirstSentence and on for those with sentences).
constexpr std::int64_t kFirstPlace = std::int64_t{1} << 24, kFirstResult = std::int64_t{1} << 28;

/// The function itself, for keys: two kernels are the same if their functions are.
enum class Identity : std::uint64_t {};

/// What a kernel became. Its program's parameters: inputs, outputs, numbers, and with checks a flag for each element of each output without a fill.
struct Built {
  tile::Program program;
  std::vector<tile::Builder::Sentence> sentences;
  std::vector<tile::PlaceCheck> places;
  bool has_check = false;
};

class TileKernelOp final : public KernelOp {
 public:
  TileKernelOp(std::string name, TileKernel kernel, std::vector<Result> inputs, TileLaunch launch, const Line& where)
      : name_(std::move(name)),
        kernel_(kernel),
        inputs_(std::move(inputs)),
        launch_(std::move(launch)),
        checked_(checking(Check::Tile)),
        where_(where) {}
  std::string_view name() const override { return name_; }
  void attributes(Attributes& a) override {
    a.told_by_name(static_cast<Identity>(reinterpret_cast<std::uintptr_t>(kernel_)));
    a("grid", launch_.grid);
    a("numbers", launch_.numbers);
    a("constants", launch_.constants);
    a("operations", launch_.operations);
    std::vector<std::int64_t> fills;  // of each output whether it has one, and which
    for (const auto& [shape, dtype, fill] : launch_.outputs) {
      fills.push_back(fill ? 1 : 0);
      fills.push_back(fill ? static_cast<std::int64_t>(fill->bits(dtype)) : 0);
    }
    a("fills", fills);
    a.told_by_name(checked_);
  }
  bool has_check() const override { return built().has_check; }

  void lower(KernelContext& context) const override {
    std::vector<KernelArgument> outputs, arguments;
    for (std::size_t k = 0; k < launch_.outputs.size(); ++k) {
      const auto& [shape, dtype, fill] = launch_.outputs[k];
      const int number = static_cast<int>(k);
      outputs.push_back(context.wanted(number)
                            ? KernelArgument::output(number)
                            : KernelArgument::scratch(context.scratch(numel(shape) * static_cast<std::int64_t>(size_of(dtype)))));
      if (fill) ops::launch_fill(context, outputs.back(), numel(shape), dtype, *fill);
    }
    std::vector<KernelArgument> flags;
    for (const TileOutput& output : launch_.outputs) {
      if (!is_marked(output)) continue;
      flags.push_back(KernelArgument::scratch(context.scratch(numel(output.shape))));
      ops::launch_fill(context, flags.back(), numel(output.shape), u8, 0);
    }
    for (int i = 0; i < context.input_count(); ++i) arguments.push_back(KernelArgument::input(i));
    arguments.insert(arguments.end(), outputs.begin(), outputs.end());
    for (const std::int64_t number : launch_.numbers) arguments.push_back(KernelArgument::number(number));
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::copy(launch_.grid.begin(), launch_.grid.end(), grid.begin());
    context.launch(built().program, std::move(arguments), grid, launch_.operations);
    for (std::size_t k = 0, flag = 0; k < launch_.outputs.size(); ++k)
      if (is_marked(launch_.outputs[k])) launch_flag_check(context, flags[flag++].index, k);
  }

  std::string check_message(std::int64_t id, std::int64_t value) const override {
    const Built& all = built();
    if (id >= kFirstResult) {
      const auto k = static_cast<std::size_t>(id - kFirstResult);
      return "element " + std::to_string(value) + " of " + tensor(inputs_.size() + k) + ", which no instance of " + name_ + " stores";
    }
    if (id >= kFirstPlace) {
      const tile::PlaceCheck& place = all.places[static_cast<std::size_t>(id - kFirstPlace)];
      const auto [element, instance] = tile::place_failure(value);
      return std::string(place.word == tile::Word::Load    ? "a load"
                         : place.word == tile::Word::Store ? "a store"
                                                           : "an atomic addition") +
             " of element " + std::to_string(element) + " of " + tensor(place.extent) + ", by the instance " + instance_text(instance) +
             " of " + name_ + " at " + to_string(place.where);
    }
    if (id < tile::Builder::kFirstSentence)
      return "the value " + std::to_string(value) + " in check " + std::to_string(id) + " of " + name_;
    const auto& sentence = all.sentences[static_cast<std::size_t>(id - tile::Builder::kFirstSentence)];
    return "the value " + std::to_string(value) + " where " + name_ + " says \"" + sentence.text + "\" at " + to_string(sentence.where);
  }

 private:
  bool is_marked(const TileOutput& output) const { return checked_ && !output.fill; }

  /// Of an input, or behind those of an output.
  Result tensor_of(std::size_t i) const {
    if (i < inputs_.size()) return inputs_[i];
    const TileOutput& output = launch_.outputs[i - inputs_.size()];
    return {output.shape, output.dtype};
  }
  std::string tensor(std::size_t i) const {
    const auto& [shape, dtype] = tensor_of(i);
    const bool input = i < inputs_.size();
    return (input ? "input " : "result ") + std::to_string(input ? i : i - inputs_.size()) + ", " + std::string(tegula::name(dtype)) +
           to_string(shape) + " with " + std::to_string(numel(shape)) + " elements";
  }
  std::string instance_text(std::int64_t instance) const {
    Dims at;
    for (const std::int64_t size : launch_.grid) {
      at.push_back(instance % std::max<std::int64_t>(size, 1));
      instance /= std::max<std::int64_t>(size, 1);
    }
    return to_string(at);
  }

  const Built& built() const {
    std::call_once(once_, [&] { built_ = std::make_unique<const Built>(build()); });
    return *built_;
  }
  Built build() const {
    tile::Builder builder(name_);
    builder.set_location(where_);
    builder.locate_each_access();
    std::vector<tile::Value> inputs, outputs, numbers;
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(builder.pointer("x" + std::to_string(i), inputs_[i].dtype, false));
    for (std::size_t k = 0; k < launch_.outputs.size(); ++k)
      outputs.push_back(builder.pointer("y" + std::to_string(k), launch_.outputs[k].dtype, true));
    for (std::size_t n = 0; n < launch_.numbers.size(); ++n) numbers.push_back(builder.scalar("n" + std::to_string(n), i64));
    kernel_(builder, {inputs, outputs, numbers, launch_.constants});
    Built built{.program = {}, .sentences = builder.sentences(), .places = {}};
    built.program = builder.finish();
    refuse_unfilled(built.program);
    if (checked_) check_places(built);
    built.has_check =
        std::ranges::any_of(built.program.instructions, [](const tile::Instruction& one) { return one.word == tile::Word::Assert; });
    built.has_check = built.has_check || std::ranges::any_of(launch_.outputs, [&](const TileOutput& output) { return is_marked(output); });
    return built;
  }

  void check_places(Built& built) const {
    std::vector<tile::Extent> extents;
    const std::size_t tensors = inputs_.size() + launch_.outputs.size();
    for (std::size_t i = 0; i < tensors; ++i) extents.push_back({.parameter = static_cast<int>(i), .elements = numel(tensor_of(i).shape)});
    for (std::size_t k = 0; k < launch_.outputs.size(); ++k) {
      if (!is_marked(launch_.outputs[k])) continue;
      extents[inputs_.size() + k].marks = static_cast<int>(built.program.parameters.size());
      built.program.parameters.push_back({.name = "stored" + std::to_string(k), .dtype = u8, .writable = true});
    }
    auto [program, places] = tile::check_places(std::move(built.program), extents, kFirstPlace);
    built.program = std::move(program);
    built.places = std::move(places);
  }

  void refuse_unfilled(const tile::Program& program) const {
    const tile::PointerOrigins origins(program);
    for (const tile::Instruction& one : program.instructions) {
      if (one.word != tile::Word::AtomicAdd) continue;
      for (const int parameter : origins(one.operands[0])) {
        const std::size_t k = static_cast<std::size_t>(parameter) - inputs_.size();
        const TileOutput& output = launch_.outputs[k];
        if (output.fill) continue;
        throw Error({.op = name_,
                     .got = "an atomic addition to result " + std::to_string(k) + ", which begins with what memory held",
                     .expected = "a number that it begins with: .outputs = {" + std::string(k > 0 ? "…, " : "") + "{.shape = {" +
                                 sizes_text(output.shape) + "}, .dtype = " + std::string(tegula::name(output.dtype)) + ", .fill = 0}}",
                     .where = one.where});
      }
    }
  }
  static std::string sizes_text(const Shape& shape) {
    std::string text;
    for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
    return text;
  }

  /// Whether each flag of result k has been set.
  static void launch_flag_check(KernelContext& context, int flags, std::size_t k) {
    const std::int64_t elements = numel(context.output(static_cast<int>(k)).shape);
    if (elements == 0) return;
    ops::RowKernel kernel(context, "stored", 1, elements);
    tile::Builder& b = kernel.builder();
    const tile::Value stored = b.load(kernel.scratch(flags, u8, false) + kernel.column(), kernel.mask(), {}) != 0;
    b.check(kernel.mask().is_empty() ? stored : stored || !kernel.mask(), kernel.column(), kFirstResult + static_cast<std::int64_t>(k));
    kernel.launch();
  }

  std::string name_;
  TileKernel kernel_;
  std::vector<Result> inputs_;
  TileLaunch launch_;
  bool checked_;  // TEGULA_CHECK=tile
  Line where_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Built> built_;
};

}  // namespace

std::vector<Tensor> tile_kernel(std::string name, TileKernel kernel, const std::vector<Tensor>& inputs, TileLaunch launch, Line where) {
  const In frame(kName, where);
  if (!kernel || name.empty()) ops::refuse(kName, kernel ? "no name" : "no kernel", "a function and its name", where);
  if (launch.outputs.empty()) ops::refuse(kName, "no outputs", "shape and dtype of at least one result", where);
  if (launch.grid.rank() > 3 || std::any_of(launch.grid.begin(), launch.grid.end(), [](std::int64_t size) { return size < 0; }))
    ops::refuse(kName, "the grid " + to_string(launch.grid), "up to three sizes of at least 0", where);
  std::vector<Result> operands, outputs;
  for (const Tensor& input : inputs) operands.push_back({input.shape(where), input.dtype()});
  for (const TileOutput& output : launch.outputs) outputs.push_back({output.shape, output.dtype});
  auto op = make<const TileKernelOp>(std::move(name), kernel, std::move(operands), std::move(launch), where);
  if (outputs.size() == 1) return {make_node(std::move(op), inputs, outputs[0].shape, outputs[0].dtype, where)};
  return make_nodes(std::move(op), inputs, outputs, where);
}

}  // namespace tegula
