#include "tegula/ops/cuda_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/kernel_gradient.h"
#include "tegula/ops/op_families.h"
#include "tegula/runtime/cuda_text.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

using runtime::CudaArgument;
using runtime::CudaParameter;
using runtime::CudaTensor;

constexpr std::size_t kMostResults = 8;
constexpr std::int64_t kMostBlocks = std::numeric_limits<std::int32_t>::max(), kMostBlocksAcross = 65535, kMostThreadsDeep = 64;

/// The bytes of a number in this dtype, in the lowest ones.
std::int64_t element_bits(const Number& number, DType dtype) {
  std::int64_t bits = 0;
  visit(dtype, [&](auto zero) {
    const auto value = number.as<decltype(zero)>();
    std::memcpy(&bits, &value, sizeof value);
  });
  return bits;
}

/// The sizes of grids and blocks, which files have as well.
bool fits(const Dims& grid, const Dims& block, std::int64_t shared) {
  const auto within = [](const Dims& sizes, std::int64_t least) {
    return sizes.rank() >= 1 && sizes.rank() <= 3 && std::ranges::all_of(sizes, [&](std::int64_t size) { return size >= least; });
  };
  if (!within(grid, 0) || !within(block, 1) || grid[0] > kMostBlocks || shared < 0 || shared > runtime::CudaKernel::kMostShared)
    return false;
  for (int axis = 1; axis < grid.rank(); ++axis)
    if (grid[axis] > kMostBlocksAcross) return false;
  std::int64_t threads = 1;
  for (const std::int64_t size : block) threads *= std::min(size, runtime::CudaKernel::kMostThreads + 1);
  return threads <= runtime::CudaKernel::kMostThreads && (block.rank() < 3 || block[2] <= kMostThreadsDeep);
}

/// Integers of one size are read as what the kernel says.
bool same_element(DType wanted, DType given) {
  return wanted == given || (is_integer(wanted) && is_integer(given) && size_of(wanted) == size_of(given));
}

bool may_set(const std::optional<runtime::CudaVariable>& variable, DType dtype) {
  return variable && !variable->is_const && (!variable->dtype || same_element(*variable->dtype, dtype));
}

class CudaKernelOp final : public LibraryOp {
 public:
  CudaKernelOp() = default;
  CudaKernelOp(runtime::CudaKernel kernel, double operations) : kernel_(std::move(kernel)), operations_(operations) {}

  std::string_view name() const override { return kernel_.name; }
  std::string_view class_name() const override { return "cuda_kernel"; }
  Numerics numerics() const override { return Numerics::Full; }
  void attributes(Attributes& a) override;
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  DType input_dtype(int index, DType) const override { return kernel_.tensors[static_cast<std::size_t>(index)].dtype; }
  bool may_be_in_place() const override {
    return static_cast<std::int64_t>(kernel_.tensors.size()) == kernel_.inputs + 1 &&
           kernel_.tensors.back().begins == CudaTensor::Begins::Copied && kernel_.tensors.back().bits == 0;
  }
  runtime::CallDescription describe(const Setting& setting) const override {
    runtime::CudaKernel kernel = kernel_;
    kernel.unwanted = setting.unwanted;
    return kernel;
  }
  double operations(std::span<const Shape>, const Shape&) const override { return operations_; }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {
    throw Error({.op = kernel_.name, .got = "a kernel in CUDA C++", .expected = "an op that has a reference"});
  }

 private:
  runtime::CudaKernel kernel_;
  double operations_ = 0;
};

void CudaKernelOp::attributes(Attributes& a) {
  a("kernel", kernel_.name), a("text", kernel_.text), a("file", kernel_.file);
  a("grid", kernel_.grid), a("block", kernel_.block), a("shared", kernel_.shared), a("operations", operations_);
  std::vector<std::int64_t> arguments, begins;  // kind, tensor, bits of each; the initial contents of each result
  for (const CudaArgument& one : kernel_.arguments)
    arguments.insert(arguments.end(), {static_cast<std::int64_t>(one.kind), one.tensor, one.bits});
  for (std::size_t i = static_cast<std::size_t>(kernel_.inputs); i < kernel_.tensors.size(); ++i)
    begins.insert(begins.end(), {static_cast<std::int64_t>(kernel_.tensors[i].begins), kernel_.tensors[i].bits});
  a("arguments", arguments), a("begins", begins);
  const Signature* const node = a.made_for();
  if (!node) return;
  a.require(fits(kernel_.grid, kernel_.block, kernel_.shared), "grid");
  a.require(begins.size() == 2 * node->results.size() && node->results.size() <= kMostResults, "begins");
  kernel_.inputs = static_cast<std::int64_t>(node->inputs.size());
  kernel_.tensors.clear(), kernel_.arguments.clear();
  for (const auto& [shape, dtype] : node->inputs) kernel_.tensors.push_back({dtype, shape});
  for (std::size_t k = 0; k < node->results.size(); ++k) {
    const std::int64_t how = begins[2 * k], bits = begins[2 * k + 1];
    a.require(how >= 0 && how <= 2 &&
                  (how != 2 || (bits >= 0 && bits < kernel_.inputs && node->inputs[static_cast<std::size_t>(bits)] == node->results[k])),
              "begins");
    kernel_.tensors.push_back({node->results[k].dtype, node->results[k].shape, static_cast<CudaTensor::Begins>(how), bits});
  }
  const runtime::CudaSignature signature = runtime::signature_of({kernel_.text, kernel_.file}, kernel_.name, {});
  a.require(arguments.size() % 3 == 0 && arguments.size() >= 3 * signature.parameters.size(), "arguments");
  for (std::size_t i = 0; 3 * i < arguments.size(); ++i) {
    const std::int64_t kind = arguments[3 * i], tensor = arguments[3 * i + 1], bits = arguments[3 * i + 2];
    const bool is_tensor = kind == 0 && tensor >= 0 && tensor < static_cast<std::int64_t>(kernel_.tensors.size());
    const bool parameter = i < signature.parameters.size(), pointer = parameter && signature.parameters[i].pointer;
    a.require(parameter ? (kind == 0   ? pointer && is_tensor
                           : kind == 1 ? !pointer
                                       : kind == 2 && pointer)
                        : is_tensor && tensor < kernel_.inputs && bits >= 0 && bits < static_cast<std::int64_t>(kernel_.text.size()),
              "arguments");
    kernel_.arguments.push_back({static_cast<CudaArgument::Kind>(kind), tensor, bits});
  }
  for (const runtime::CudaSetting& one : runtime::settings_of(kernel_))
    a.require(may_set(runtime::variable_of({kernel_.text, kernel_.file}, one.name), kernel_.tensors[one.tensor].dtype), "arguments");
}

/// Arguments as the description of the call, checked against the parameters of the kernel.
class Taken {
 public:
  Taken(const std::string& name, const CudaSource& source, const std::vector<CudaArg>& arguments, const CudaLaunch& launch,
        const Line& where)
      : op_("cuda_kernel " + name),
        where_(where),
        arguments_(arguments) {
    if (name.empty() || source.text.empty()) refuse(name.empty() ? "no name" : "no text", "a kernel's name and CUDA C++");
    kernel_ = {.name = name,
               .text = source.text,
               .file = source.file.empty() ? "text of " + name : source.file,
               .grid = launch.grid,
               .block = launch.block,
               .shared = launch.shared};
    if (!fits(launch.grid, launch.block, launch.shared))
      refuse("the grid " + to_string(launch.grid) + ", blocks of " + to_string(launch.block) + " and " + std::to_string(launch.shared) +
                 " bytes of shared memory",
             "up to 65,535 blocks along the second and third axis, 1,024 threads of a block and 227 KiB");
    parameters_ = runtime::signature_of({kernel_.text, kernel_.file}, name, where).parameters;
    if (parameters_.size() != arguments.size())
      refuse(std::to_string(arguments.size()) + " arguments", std::to_string(parameters_.size()) + ": " + list());
    // Inputs come first in the node: updated ones before all others, so that they may stay in place.
    for (const CudaArg& one : arguments)
      if (one.kind == CudaArg::Kind::Update) add_input(one.variable->read(where));
    for (const CudaArg& one : arguments)
      if (one.kind == CudaArg::Kind::Input) add_input(one.tensor);
    for (const CudaVariable& one : launch.variables) add_variable(one);
    kernel_.inputs = static_cast<std::int64_t>(inputs_.size());
    std::int64_t updates = 0, reads = std::ranges::count(arguments, CudaArg::Kind::Update, &CudaArg::kind);
    for (std::size_t i = 0; i < arguments.size(); ++i) add(i, updates, reads);
    for (const std::size_t begin : variables_)
      kernel_.arguments.push_back({CudaArgument::Kind::Tensor, reads++, static_cast<std::int64_t>(begin)});
    if (kernel_.tensors.size() == inputs_.size())
      refuse("no result", "cuda_out(shape, dtype) or cuda_update(variable) among the arguments");
    if (kernel_.tensors.size() > inputs_.size() + kMostResults)
      refuse(std::to_string(kernel_.tensors.size() - inputs_.size()) + " results", "at most 8");
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }
  const runtime::CudaKernel& kernel() const { return kernel_; }
  std::vector<Result> results() const {
    std::vector<Result> all;
    for (std::size_t i = inputs_.size(); i < kernel_.tensors.size(); ++i)
      all.push_back({kernel_.tensors[i].shape, kernel_.tensors[i].dtype});
    return all;
  }

 private:
  [[noreturn]] void refuse(std::string got, std::string expected, std::string advice = "") const {
    throw Error({.op = op_, .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where_});
  }
  std::string list() const {
    std::string text;
    for (const CudaParameter& one : parameters_) text += (text.empty() ? "" : ", ") + one.type + (one.name.empty() ? "" : " " + one.name);
    return text;
  }
  void add_input(const Tensor& x) {
    if (!x.defined()) refuse("an empty tensor", "a tensor with elements, or nullptr");
    kernel_.tensors.push_back({x.dtype(), x.shape(where_)});
    inputs_.push_back(x);
  }
  void add_variable(const CudaVariable& one) {
    const std::optional<runtime::CudaVariable> declared = runtime::variable_of({kernel_.text, kernel_.file}, one.name);
    if (!declared) refuse("the variable " + one.name, "one that the text declares __constant__ or __device__ outside of functions");
    if (declared->is_const) refuse("the variable " + one.name + ", which is const in C++", "one that may be written");
    add_input(one.value);
    if (!may_set(declared, one.value.dtype()))
      refuse("a tensor of " + std::string(tegula::name(one.value.dtype())) + " for the variable " + one.name + " of " + declared->type,
             std::string(tegula::name(*declared->dtype)), "cast it");
    variables_.push_back(declared->begin);
  }
  std::string parameter_text(std::size_t i) const {
    return "parameter " + std::to_string(i) + ", `" + parameters_[i].type + (parameters_[i].name.empty() ? "" : " " + parameters_[i].name) +
           "`";
  }

  void add(std::size_t i, std::int64_t& updates, std::int64_t& reads) {
    const CudaArg& one = arguments_[i];
    const CudaParameter& parameter = parameters_[i];
    if (one.kind == CudaArg::Kind::Number) return add_number(i, one.number);
    if (!parameter.pointer) refuse((one.kind == CudaArg::Kind::Null ? "nullptr" : "a tensor") + (" for " + parameter_text(i)), "a number");
    if (one.kind == CudaArg::Kind::Null) return kernel_.arguments.push_back({CudaArgument::Kind::Null});
    std::int64_t tensor = 0;
    if (one.kind == CudaArg::Kind::Input) {
      tensor = reads++;
    } else {
      tensor = static_cast<std::int64_t>(kernel_.tensors.size());
      if (!parameter.writable) refuse("a result for " + parameter_text(i), "a pointer to what is not const");
      const bool update = one.kind == CudaArg::Kind::Update;
      if (update) {
        CudaTensor changed = kernel_.tensors[static_cast<std::size_t>(updates)];
        changed.begins = CudaTensor::Begins::Copied, changed.bits = updates++;
        kernel_.tensors.push_back(changed);
      } else {
        const bool filled = one.out.fill.has_value();
        if (!is_valid(one.out.shape)) refuse("a result of shape " + to_string(one.out.shape), "sizes of at least 0");
        kernel_.tensors.push_back({one.out.dtype, one.out.shape, filled ? CudaTensor::Begins::Filled : CudaTensor::Begins::Empty,
                                   filled ? element_bits(*one.out.fill, one.out.dtype) : 0});
      }
    }
    const CudaTensor& given = kernel_.tensors[static_cast<std::size_t>(tensor)];
    if (parameter.dtype && !same_element(*parameter.dtype, given.dtype))
      refuse("a tensor of " + std::string(tegula::name(given.dtype)) + to_string(given.shape) + " for " + parameter_text(i),
             std::string(tegula::name(*parameter.dtype)), "cast it, or make the kernel a template of its type");
    kernel_.arguments.push_back({CudaArgument::Kind::Tensor, tensor});
  }

  static bool is_valid(const Shape& shape) {
    return std::ranges::all_of(shape, [](std::int64_t size) { return size >= 0; });
  }
  void add_number(std::size_t i, const Number& number) {
    const CudaParameter& parameter = parameters_[i];
    if (parameter.pointer) refuse("a number for " + parameter_text(i), "a tensor, a result, a Variable or nullptr");
    const DType dtype = *parameter.dtype;
    if (is_integer(dtype)) {
      const double real = number.real();
      const int bits = 8 * parameter.bytes;
      const double least = parameter.is_unsigned ? 0.0 : -std::ldexp(1.0, bits - 1),
                   beyond = std::ldexp(1.0, parameter.is_unsigned ? bits : bits - 1);
      const bool whole = number.whole() || real == std::floor(real);
      if (!whole || real < least || real >= beyond) {
        const std::string text = number.whole() ? std::to_string(number.integer()) : number_text(real);
        refuse("the number " + text + " for " + parameter_text(i), "one that its type holds");
      }
    }
    kernel_.arguments.push_back({CudaArgument::Kind::Number, 0, parameter_bits(number, parameter)});
  }
  static std::int64_t parameter_bits(const Number& number, const CudaParameter& parameter) {
    return is_integer(*parameter.dtype) ? number.integer() : element_bits(number, *parameter.dtype);
  }

  std::string op_;
  Line where_;
  const std::vector<CudaArg>& arguments_;
  std::vector<CudaParameter> parameters_;
  runtime::CudaKernel kernel_;
  std::vector<Tensor> inputs_;
  std::vector<std::size_t> variables_;  // where their names stand
};

/// Writes the results that are Variables' new values, and gives the others.
std::vector<Tensor> settle(std::vector<Tensor> results, const std::vector<CudaArg>& arguments, const Line& where) {
  std::vector<Tensor> given;
  std::size_t k = 0;
  for (const CudaArg& one : arguments) {
    if (one.kind == CudaArg::Kind::Update) one.variable->assign(results[k++], where);
    else if (one.kind == CudaArg::Kind::Output) given.push_back(results[k++]);
  }
  return given;
}

}  // namespace

CudaSource cuda_file(const std::string& path, Line where) {
  std::ifstream file(path, std::ios::binary);
  CudaSource source(std::string((std::istreambuf_iterator<char>(file)), {}));
  if (!file) throw Error({.op = "cuda_file", .got = path + ", which cannot be read", .expected = "a file of CUDA C++", .where = where});
  source.file = path;
  return source;
}

std::vector<Tensor> RawKernel::operator()(const CudaLaunch& launch, const std::vector<CudaArg>& arguments, Line where) const {
  const In frame("cuda_kernel", where);
  const Taken taken(name_, source_, arguments, launch, where);
  const std::vector<Result> kinds = taken.results();
  Ref<const Op> op = make<const CudaKernelOp>(taken.kernel(), launch.operations);
  std::vector<Tensor> results;
  if (kinds.size() == 1) results = {make_node(std::move(op), taken.inputs(), kinds[0].shape, kinds[0].dtype, where)};
  else results = make_nodes(std::move(op), taken.inputs(), kinds, where);
  if (gradient_) {
    results = with_kernel_gradient(
        name_, results, taken.inputs(),
        [gradient = gradient_, launch, where](const std::vector<Tensor>& xs, const std::vector<Tensor>& ys,
                                              const std::vector<Tensor>& dys) { return gradient({xs, ys, dys, launch, where}); },
        where);
  }
  return settle(std::move(results), arguments, where);
}

std::vector<Tensor> cuda_kernel(const std::string& name, const CudaSource& source, const std::vector<CudaArg>& arguments,
                                const CudaLaunch& launch, Line where) {
  return RawKernel(name, source)(launch, arguments, where);
}

void add_cuda_kernel_ops(OpTable& table) { table.add_several<CudaKernelOp>("cuda_kernel", OpTable::kAnyInputs); }

}  // namespace tegula
