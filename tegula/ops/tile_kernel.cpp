#include "tegula/ops/tile_kernel_op.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/tile/passes/canonical_order.h"
#include "tegula/tile/passes/parameters.h"
#include "tegula/tile/pointer_origins.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "tile_kernel";
// The ids of failures: below the first one are the kernel's own checks (from tile::Builder::kFirstSentence on those with sentences).
constexpr std::int64_t kFirstPlace = std::int64_t{1} << 24, kFirstResult = std::int64_t{1} << 28;

/// Words of a kernel's program and of its name, for keys.
enum class Word : std::uint64_t {};

std::string sizes_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

void launch_copy(KernelContext& context, int input, const KernelArgument& target) {
  const auto& [shape, dtype, strides] = context.input(input);
  if (numel(shape) == 0) return;
  ops::RowKernel kernel(context, "copy", 1, numel(shape));
  tile::Builder& b = kernel.builder();
  const tile::Value from = kernel.input(input) + kernel.column(), to = kernel.target(target, dtype) + kernel.column();
  b.store(to, b.load(from, kernel.mask()), kernel.mask());
  kernel.launch();
}

/// Checks that each flag of result k has been set.
void launch_flag_check(KernelContext& context, int flags, std::size_t k) {
  const std::int64_t elements = numel(context.output(static_cast<int>(k)).shape);
  if (elements == 0) return;
  ops::RowKernel kernel(context, "stored", 1, elements);
  tile::Builder& b = kernel.builder();
  const tile::Value stored = b.load(kernel.scratch(flags, u8, false) + kernel.column(), kernel.mask(), {}) != 0;
  b.check(kernel.mask().is_empty() ? stored : stored || !kernel.mask(), kernel.column(), kFirstResult + static_cast<std::int64_t>(k));
  kernel.launch();
}

/// Programs that functions have built: loops without jit ask for the same ones again and again.
class Programs {
 public:
  template <class Write>
  std::shared_ptr<const TileProgram> of(const std::vector<std::uint64_t>& key, Write write) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
    }
    std::shared_ptr<const TileProgram> made = write();
    const std::scoped_lock lock(mutex_);
    if (programs_.size() >= kMost) programs_.clear();
    programs_.emplace(key, made);
    return made;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::mutex mutex_;
  std::map<std::vector<std::uint64_t>, std::shared_ptr<const TileProgram>> programs_;
};

}  // namespace

TileLaunch with_reals_as_numbers(TileLaunch launch) {
  for (const double real : launch.reals) launch.numbers.push_back(std::bit_cast<std::int64_t>(real));
  return launch;
}

TileParameters::TileParameters(tile::Builder& builder, const std::vector<Result>& in, const TileLaunch& launch) {
  for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back(builder.pointer("x" + std::to_string(i), in[i].dtype, false));
  for (std::size_t k = 0; k < launch.outputs.size(); ++k)
    outputs.push_back(builder.pointer("y" + std::to_string(k), launch.outputs[k].dtype, true));
  for (std::size_t n = 0; n + launch.reals.size() < launch.numbers.size(); ++n)
    numbers.push_back(builder.scalar("n" + std::to_string(n), i64));
  for (std::size_t r = 0; r < launch.reals.size(); ++r) reals.push_back(builder.scalar("r" + std::to_string(r), f32));
  for (const int input : launch.strided) {
    const int rank = in[static_cast<std::size_t>(input)].shape.rank();
    for (int axis = 0; axis < rank; ++axis)
      strides.push_back(builder.scalar("s" + std::to_string(input) + "_" + std::to_string(axis), i64));
  }
}

TileKernelOp::TileKernelOp(std::string name, TileKernel kernel, std::vector<Result> inputs, TileLaunch launch, const Line& where)
    : name_(std::move(name)),
      kernel_(kernel),
      inputs_(std::move(inputs)),
      launch_(with_reals_as_numbers(std::move(launch))),
      checked_(checking(Check::Tile)),
      where_(where) {}

TileKernelOp::TileKernelOp(std::string name, std::shared_ptr<const TileProgram> program, std::vector<Result> inputs, TileLaunch launch,
                           const Line& where)
    : name_(std::move(name)),
      inputs_(std::move(inputs)),
      launch_(std::move(launch)),
      checked_(checking(Check::Tile)),
      where_(where),
      written_(std::move(program)) {}

void TileKernelOp::attributes(Attributes& a) {
  if (!a.assigns()) {
    for (const char letter : name_) a.told_by_name(static_cast<Word>(letter));
    a.told_by_name(static_cast<Word>(name_.size()));
    for (const std::uint64_t word : program().structure) a.told_by_name(static_cast<Word>(word));
  }
  a("grid", launch_.grid);
  a("numbers", launch_.numbers);
  a("constants", launch_.constants);
  a("operations", launch_.operations);
  std::vector<std::int64_t> fills;  // two numbers per output: 1 with a fill, 2 as an input; and the fill's bits or the input's number
  for (const auto& [shape, dtype, fill, begins_as] : launch_.outputs) {
    fills.push_back(fill ? 1 : begins_as >= 0 ? 2 : 0);
    fills.push_back(fill ? static_cast<std::int64_t>(fill->bits(dtype)) : std::max(begins_as, 0));
  }
  a("fills", fills);
  std::optional<std::vector<std::int64_t>> strided;
  if (!launch_.strided.empty()) strided.emplace(launch_.strided.begin(), launch_.strided.end());
  a("strided", strided);
  a.told_by_name(checked_);
  const Signature* const node = a.made_for();
  if (!node) return;
  inputs_ = node->inputs;
  launch_.outputs.clear();
  a.require(fills.size() == 2 * node->results.size(), "fills");
  for (std::size_t k = 0; k < node->results.size(); ++k) {
    const auto& [shape, dtype] = node->results[k];
    const std::int64_t bits = fills[2 * k + 1];
    const Number number = is_float(dtype) ? Number(std::bit_cast<double>(bits)) : Number(bits);
    launch_.outputs.push_back({shape, dtype, fills[2 * k] == 1 ? std::optional(number) : std::nullopt});
    if (fills[2 * k] != 2) continue;
    a.require(bits >= 0 && static_cast<std::size_t>(bits) < inputs_.size() && inputs_[static_cast<std::size_t>(bits)] == node->results[k],
              "fills");
    launch_.outputs.back().begins_as = static_cast<int>(bits);
  }
  a.require(launch_.grid.rank() <= 3 && std::ranges::all_of(launch_.grid, [](std::int64_t size) { return size >= 0; }), "grid");
  launch_.strided.clear();
  std::size_t strides = 0;
  for (const std::int64_t input : strided.value_or(std::vector<std::int64_t>())) {
    a.require(input >= 0 && static_cast<std::size_t>(input) < inputs_.size(), "strided");
    strides += static_cast<std::size_t>(inputs_[static_cast<std::size_t>(input)].shape.rank());
    launch_.strided.push_back(static_cast<int>(input));
  }
  const auto& parameters = written_->program.parameters;
  a.require(parameters.size() == inputs_.size() + launch_.outputs.size() + launch_.numbers.size() + strides, "numbers");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_tensor = i < inputs_.size() + launch_.outputs.size();
    const bool fits = is_tensor ? parameters[i].dtype == tensor_of(i).dtype : parameters[i].dtype == i64 || parameters[i].dtype == f32;
    a.require(fits && parameters[i].pointer == is_tensor && parameters[i].writable == (is_tensor && i >= inputs_.size()), "numbers");
  }
}

int TileKernelOp::overwrites(int result) const {
  const int input = launch_.outputs[static_cast<std::size_t>(result)].begins_as;
  if (input < 0 || checked_ || has_check() || built().used[static_cast<std::size_t>(input)]) return -1;
  const auto same = [&](const TileOutput& output) { return output.begins_as == input; };
  return std::ranges::count_if(launch_.outputs, same) == 1 ? input : -1;
}

std::vector<Tensor> TileKernelOp::gradients(const Node& y, std::span<const Tensor>, const std::vector<bool>& wanted) const {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || !is_float(y.inputs()[i]->dtype())) continue;
    throw Error({.op = name_,
                 .got = "a gradient that is wanted of input " + std::to_string(i) + " of a tile kernel without one",
                 .expected = "kernel.gradient(another kernel, or a function)",
                 .advice = "or stop_gradient of what the kernel is given",
                 .where = y.origin().where});
  }
  return {};
}

bool TileKernelOp::accepts(int index, const Layout& layout) const {
  return layout.is_dense() || (!checked_ && std::ranges::find(launch_.strided, index) != launch_.strided.end());
}

void TileKernelOp::lower(KernelContext& context) const {
  std::vector<KernelArgument> outputs, arguments;
  for (std::size_t k = 0; k < launch_.outputs.size(); ++k) {
    const auto& [shape, dtype, fill, begins_as] = launch_.outputs[k];
    const int number = static_cast<int>(k);
    outputs.push_back(context.wanted(number)
                          ? KernelArgument::output(number)
                          : KernelArgument::scratch(context.scratch(numel(shape) * static_cast<std::int64_t>(size_of(dtype)))));
    if (fill) ops::launch_fill(context, outputs.back(), numel(shape), dtype, *fill);
    else if (begins_as >= 0 && !(context.wanted(number) && overwrites(number) >= 0)) launch_copy(context, begins_as, outputs.back());
  }
  std::vector<KernelArgument> flags;
  for (const TileOutput& output : launch_.outputs) {
    if (!is_marked(output)) continue;
    flags.push_back(KernelArgument::scratch(context.scratch(numel(output.shape))));
    ops::launch_fill(context, flags.back(), numel(output.shape), u8, 0);
  }
  for (int i = 0; i < context.input_count(); ++i) arguments.push_back(KernelArgument::input(i));
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  for (const std::int64_t number : launch_.numbers) {
    const bool real = is_float(program().program.parameters[arguments.size()].dtype);
    arguments.push_back(real ? KernelArgument::number(std::bit_cast<double>(number)) : KernelArgument::number(number));
  }
  tile::Program program = built().program;
  for (const int input : launch_.strided) {
    const Strides& strides = context.input(input).strides;
    for (int axis = 0; axis < strides.rank(); ++axis) {
      // Neighbours are known as such: they are read together.
      if (strides[axis] == 1) tile::fix_parameter(program, static_cast<std::int64_t>(arguments.size()), 1);
      arguments.push_back(KernelArgument::number(strides[axis]));
    }
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  for (int input = context.input_count() - 1; input >= 0; --input) {  // an input that is overwritten is a result only
    const auto over = [&](std::size_t k) { return context.wanted(static_cast<int>(k)) && overwrites(static_cast<int>(k)) == input; };
    bool is_over = false;
    for (std::size_t k = 0; k < launch_.outputs.size(); ++k) is_over = is_over || over(k);
    if (!is_over) continue;
    tile::drop_parameter(program, input);
    arguments.erase(arguments.begin() + input);
  }
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::copy(launch_.grid.begin(), launch_.grid.end(), grid.begin());
  context.launch(std::move(program), std::move(arguments), grid, launch_.operations);
  for (std::size_t k = 0, flag = 0; k < launch_.outputs.size(); ++k)
    if (is_marked(launch_.outputs[k])) launch_flag_check(context, flags[flag++].index, k);
}

std::string TileKernelOp::check_message(std::int64_t id, std::int64_t value) const {
  if (id >= kFirstResult) {
    const auto k = static_cast<std::size_t>(id - kFirstResult);
    return "element " + std::to_string(value) + " of " + tensor(inputs_.size() + k) + ", which no instance of " + name_ + " stores";
  }
  if (id >= kFirstPlace) {
    const tile::PlaceCheck& place = built().places[static_cast<std::size_t>(id - kFirstPlace)];
    const auto [element, instance] = tile::place_failure(value);
    return std::string(place.word == tile::Word::Load    ? "a load"
                       : place.word == tile::Word::Store ? "a store"
                                                         : "an atomic word") +
           " of element " + std::to_string(element) + " of " + tensor(place.extent) + ", by the instance " + instance_text(instance) +
           " of " + name_ + " at " + to_string(place.where);
  }
  if (id < tile::Builder::kFirstSentence) return "the value " + std::to_string(value) + " in check " + std::to_string(id) + " of " + name_;
  const auto& sentence = program().sentences[static_cast<std::size_t>(id - tile::Builder::kFirstSentence)];
  return "the value " + std::to_string(value) + " where " + name_ + " says \"" + sentence.text + "\" at " + to_string(sentence.where);
}

/// The shape and dtype of input i, or after the inputs of an output.
Result TileKernelOp::tensor_of(std::size_t i) const {
  if (i < inputs_.size()) return inputs_[i];
  const TileOutput& output = launch_.outputs[i - inputs_.size()];
  return {output.shape, output.dtype};
}
std::string TileKernelOp::tensor(std::size_t i) const {
  const auto& [shape, dtype] = tensor_of(i);
  const bool input = i < inputs_.size();
  return (input ? "input " : "result ") + std::to_string(input ? i : i - inputs_.size()) + ", " + std::string(tegula::name(dtype)) +
         to_string(shape) + " with " + std::to_string(numel(shape)) + " elements";
}

std::string TileKernelOp::instance_text(std::int64_t instance) const {
  Dims at;
  for (const std::int64_t size : launch_.grid) {
    at.push_back(instance % std::max<std::int64_t>(size, 1));
    instance /= std::max<std::int64_t>(size, 1);
  }
  return to_string(at);
}

const std::shared_ptr<const TileProgram>& TileKernelOp::shared_program() const {
  std::call_once(once_written_, [&] {
    if (!written_) written_ = write_down();
  });
  return written_;
}
const TileProgram& TileKernelOp::program() const { return *shared_program(); }

std::shared_ptr<const TileProgram> TileKernelOp::write_down() const {
  static Programs& programs = *new Programs;
  std::vector<std::uint64_t> key{reinterpret_cast<std::uintptr_t>(kernel_),
                                 reinterpret_cast<std::uintptr_t>(where_.file_name()),
                                 std::uint64_t{where_.line()} << 32 | where_.column(),
                                 inputs_.size(),
                                 launch_.outputs.size(),
                                 launch_.numbers.size(),
                                 launch_.reals.size(),
                                 std::hash<std::string>()(name_)};
  for (const Result& input : inputs_) key.push_back(static_cast<std::uint64_t>(input.dtype));
  for (const TileOutput& output : launch_.outputs) key.push_back(static_cast<std::uint64_t>(output.dtype));
  for (const std::int64_t constant : launch_.constants) key.push_back(static_cast<std::uint64_t>(constant));
  for (const int input : launch_.strided) {
    key.push_back(static_cast<std::uint64_t>(input));
    key.push_back(static_cast<std::uint64_t>(inputs_[static_cast<std::size_t>(input)].shape.rank()));
  }
  return programs.of(key, [&] {
    tile::Builder builder(name_);
    builder.set_location(where_);
    builder.locate_each_access();
    const TileParameters parameters(builder, inputs_, launch_);
    kernel_(builder, {parameters.inputs, parameters.outputs, parameters.numbers, parameters.reals, launch_.constants, parameters.strides});
    auto written = std::make_shared<TileProgram>();
    written->sentences = builder.sentences();
    written->program = tile::in_canonical_order(builder.finish());
    written->structure = tile::structure(written->program);
    return written;
  });
}

const TileKernelOp::Built& TileKernelOp::built() const {
  std::call_once(once_built_, [&] { built_ = std::make_unique<const Built>(build()); });
  return *built_;
}

TileKernelOp::Built TileKernelOp::build() const {
  Built built{.program = program().program, .places = {}, .used = std::vector<bool>(program().program.parameters.size())};
  std::vector<bool> named(built.program.instructions.size());
  const auto name_all = [&](const std::vector<tile::Id>& ids) {
    for (const tile::Id id : ids) named[static_cast<std::size_t>(id)] = true;
  };
  for (const tile::Instruction& one : built.program.instructions) {
    name_all(one.operands);
    for (const tile::Region& region : one.regions) name_all(region.results);
  }
  for (std::size_t id = 0; id < named.size(); ++id) {
    const tile::Instruction& one = built.program.instructions[id];
    if (one.word == tile::Word::Parameter && named[id]) built.used[static_cast<std::size_t>(one.attribute)] = true;
  }
  refuse_unfilled(built.program);
  if (checked_) check_places(built);
  built.has_check =
      std::ranges::any_of(built.program.instructions, [](const tile::Instruction& one) { return one.word == tile::Word::Assert; });
  built.has_check = built.has_check || std::ranges::any_of(launch_.outputs, [&](const TileOutput& output) { return is_marked(output); });
  return built;
}

void TileKernelOp::check_places(Built& built) const {
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

void TileKernelOp::refuse_unfilled(const tile::Program& program) const {
  const tile::PointerOrigins origins(program);
  for (const tile::Instruction& one : program.instructions) {
    if (one.word != tile::Word::Atomic) continue;
    for (const int parameter : origins(one.operands[0])) {
      const std::size_t k = static_cast<std::size_t>(parameter) - inputs_.size();
      const TileOutput& output = launch_.outputs[k];
      if (output.fill || output.begins_as >= 0) continue;
      throw Error({.op = name_,
                   .got = "an atomic word on result " + std::to_string(k) + ", which begins with what memory held",
                   .expected = "a number that it begins with: .outputs = {" + std::string(k > 0 ? "…, " : "") + "{.shape = {" +
                               sizes_text(output.shape) + "}, .dtype = " + std::string(tegula::name(output.dtype)) + ", .fill = 0}}",
                   .where = one.where});
    }
  }
}

std::vector<Tensor> tile_kernel(std::string name, TileKernel kernel, const std::vector<Tensor>& inputs, TileLaunch launch, Line where) {
  const In frame(kName, where);
  if (!kernel || name.empty()) ops::refuse(kName, kernel ? "no name" : "no kernel", "a function and its name", where);
  if (launch.outputs.empty()) ops::refuse(kName, "no outputs", "shape and dtype of at least one result", where);
  if (launch.grid.rank() > 3 || std::any_of(launch.grid.begin(), launch.grid.end(), [](std::int64_t size) { return size < 0; }))
    ops::refuse(kName, "the grid " + to_string(launch.grid), "up to three sizes of at least 0", where);
  std::vector<Result> operands, outputs;
  for (const TileOutput& output : launch.outputs) {
    if (output.begins_as < 0) continue;
    const auto input = static_cast<std::size_t>(output.begins_as);
    if (input >= inputs.size() || inputs[input].shape(where) != output.shape || inputs[input].dtype() != output.dtype)
      ops::refuse(kName, "a result that begins as input " + std::to_string(output.begins_as), "an input of its shape and dtype", where);
  }
  for (const int input : launch.strided) {
    if (input < 0 || static_cast<std::size_t>(input) >= inputs.size())
      ops::refuse(kName, "strides of input " + std::to_string(input), "the number of an input", where);
  }
  for (const Tensor& input : inputs) operands.push_back({input.shape(where), input.dtype()});
  for (const TileOutput& output : launch.outputs) outputs.push_back({output.shape, output.dtype});
  auto op = make<const TileKernelOp>(std::move(name), kernel, std::move(operands), std::move(launch), where);
  if (outputs.size() == 1) return {make_node(std::move(op), inputs, outputs[0].shape, outputs[0].dtype, where)};
  return make_nodes(std::move(op), inputs, outputs, where);
}

}  // namespace tegula
