// tegula kernel show: the tile programs of an expression, or a kernel of a graph file, and a device's code for them; tegula kernel build.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/formats/graph_file.h"
#include "tegula/formats/kernel_code.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/dropout.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/attention.h"
#include "tegula/ops/products/convolution_ladder.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {
namespace {

/// An expression of one tensor that is worth looking at.
struct Expression {
  std::string name, meaning;
  Tensor (*build)(const Tensor& x);
};

std::int64_t width(const Tensor& x) { return x.shape().back(); }

void require_rank(const Tensor& x, int rank, const char* expected, const char* advice) {
  if (x.rank() == rank) return;
  throw Error({.op = "tegula kernel show", .got = "x of shape " + to_string(x.shape()), .expected = expected, .advice = advice});
}

/// Numbers beside x.
Tensor another(const Shape& shape, const Tensor& x) {
  const Tensor y = uniform(shape, -1, 1, {.dtype = x.dtype()});
  eval(y);
  return y;
}

template <ConvolutionAlgorithm algorithm>
Tensor convolved(const Tensor& x) {
  require_rank(x, 4, "images (N, C, H, W)", "--shape 16x64x56x56");
  const Tensor weight = another({16, x.shape()[1], 3, 3}, x);
  return conv2d_with(algorithm, x, weight, {.padding = 1});
}

const Expression kExpressions[] = {
    {"relu", "relu(x)", [](const Tensor& x) { return relu(x); }},
    {"gelu", "gelu(x)", [](const Tensor& x) { return gelu(x); }},
    {"dropout", "dropout(x, 0.1)", [](const Tensor& x) { return dropout(x, 0.1); }},
    {"add", "x + y", [](const Tensor& x) { return x + another(x.shape(), x); }},
    {"saxpy", "0.5 x + y", [](const Tensor& x) { return 0.5 * x + another(x.shape(), x); }},
    {"sum", "sum of all elements", [](const Tensor& x) { return sum(x); }},
    {"row-sum", "sum along the last axis", [](const Tensor& x) { return sum(x, -1); }},
    {"column-sum", "sum along the first axis", [](const Tensor& x) { return sum(x, 0); }},
    {"softmax", "softmax along the last axis", [](const Tensor& x) { return softmax(x); }},
    {"layer-norm", "layer_norm over the last axis", [](const Tensor& x) { return layer_norm(x, {width(x)}); }},
    {"rms-norm", "rms_norm over the last axis", [](const Tensor& x) { return rms_norm(x, {width(x)}); }},
    {"cross-entropy", "cross_entropy of rows of scores",
     [](const Tensor& x) {
       const Tensor labels = randint(0, width(x), {x.shape()[0]});
       eval(labels);
       return cross_entropy(x, labels);
     }},
    {"cumsum", "cumsum along the last axis", [](const Tensor& x) { return cumsum(x, -1); }},
    {"sort", "sort along the last axis", [](const Tensor& x) { return sort(x).values; }},
    {"matmul", "matmul(x, y), y square", [](const Tensor& x) { return matmul(x, another({width(x), width(x)}, x)); }},
    {"attention", "scaled_dot_product_attention(x, x, x), causal",
     [](const Tensor& x) {
       require_rank(x, 4, "queries (N, heads, T, width)", "--shape 2x8x1024x64");
       return scaled_dot_product_attention(x, x, x, {.causal = true});
     }},
    {"conv-direct", "conv2d_with(Direct), 16 filters 3x3", convolved<ConvolutionAlgorithm::Direct>},
    {"conv-tiled", "conv2d_with(Tiled)", convolved<ConvolutionAlgorithm::Tiled>},
    {"conv-unrolled", "conv2d_with(Unrolled)", convolved<ConvolutionAlgorithm::Unrolled>},
    {"conv-implicit-gemm", "conv2d_with(ImplicitGemm)", convolved<ConvolutionAlgorithm::ImplicitGemm>},
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& one : kExpressions) all.push_back(one.name);
  return all;
}

struct ShowChoice {
  std::string expression, shape = "1024x1024", dtype = "f32", part = "all", kernel;
  std::int64_t architecture = 90;
  bool gradient = false;
};

struct BuildChoice {
  std::string file, kernel, folder = ".";
  std::int64_t architecture = 90;
};

KernelCodeOptions code_options(const std::string& kernel, std::int64_t architecture) {
  return {.kernel = kernel, .architecture = static_cast<int>(architecture)};
}

/// The result of a graph file that its kernel computes. The file is the user's own: it may have kernels.
Tensor result_of(const std::string& file, const std::string& kernel) {
  const GraphFunction f = load_graph(file, {.tile_kernels = true});
  std::vector<Tensor> inputs;
  for (const GraphValue& input : f.inputs()) inputs.push_back(zeros(input.shape, input.dtype));
  for (const Tensor& result : f(inputs)) {
    const std::vector<std::string> names = kernels_in({result});
    if (kernel.empty() ? !names.empty() : std::ranges::find(names, kernel) != names.end()) return result;
  }
  throw Error({.op = "tegula kernel",
               .got = file + (kernel.empty() ? ", whose results no kernel of one's own computes" : ", which has no kernel " + kernel),
               .expected = "a graph file of a function with a tile kernel or CUDA C++",
               .advice = "save_graph writes one"});
}

void build(const BuildChoice& choice) {
  for (const std::string& path :
       build_kernel(result_of(choice.file, choice.kernel), choice.folder, code_options(choice.kernel, choice.architecture)))
    std::printf("%s\n", path.c_str());
}

Shape shape_of(const std::string& text) {
  Shape shape;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const std::string part = text.substr(at, end - at);
    if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos || shape.rank() == kMaxRank) {
      throw Error(
          {.op = "tegula kernel show", .got = "the shape " + text, .expected = "sizes with x between them", .advice = "--shape 8192x1024"});
    }
    shape.push_back(std::stoll(part));
    at = end + 1;
  }
  return shape;
}

DType dtype_of(const std::string& text) {
  for (const DType dtype : {f64, f32, f16, bf16}) {
    if (name(dtype) == text) return dtype;
  }
  throw Error({.op = "tegula kernel show", .got = "the dtype " + text, .expected = "f64, f32, f16 or bf16"});
}

void run(const ShowChoice& choice) {
  if (is_graph_file(choice.expression)) {
    const std::string text = show_kernel(result_of(choice.expression, choice.kernel), code_options(choice.kernel, choice.architecture));
    std::printf("%s", text.c_str());
    return;
  }
  const Shape shape = shape_of(choice.shape);
  if (numel(shape) == 0)
    throw Error({.op = "tegula kernel show",
                 .got = "the shape " + choice.shape,
                 .expected = "at least one element",
                 .advice = "else nothing runs"});
  const Tensor x = uniform(shape, -1, 1, {.dtype = dtype_of(choice.dtype)});
  eval(x);
  for (const Expression& expression : kExpressions) {
    if (expression.name != choice.expression) continue;
    const auto build = [&] {
      const Tensor y = expression.build(x);
      return choice.gradient ? vjp({y}, {ones_like(y)}, {x})[0] : y;
    };
    const Tensor y = build();
    // The compiler hands the text of each stage to the warning handler.
    static bool shown = false;
    set_warning_handler([](const std::string& name, const std::string& text) {
      shown = true;
      if (name.starts_with("print.")) std::printf("# %s\n%s\n", name.c_str() + 6, text.c_str());
      else std::fprintf(stderr, "tegula: %s: %s\n", name.c_str(), text.c_str());
    });
    ::setenv("TEGULA_PRINT", choice.part == "all" ? "plan,tile,kernel,assembly,figures" : choice.part.c_str(), 1);
    eval(y);
    if (!shown) std::printf("The %s has no %s: it is what a GPU's compiler makes.\n", default_device().name().c_str(), choice.part.c_str());
  }
}

}  // namespace

void add_kernel(Command& app) {
  auto choice = std::make_shared<ShowChoice>();
  Command kernel = app.command("kernel", "what tensor expressions become");
  kernel.needs_command();
  Command command = kernel.command("show", "the tile programs of an expression, and what the device compiled them to");
  std::string list;
  for (const auto& one : kExpressions) list += "\n  " + one.name + ": " + one.meaning;
  Check known = one_of(names());
  known.complaint = [of_names = known.complaint](const std::string& text) { return is_graph_file(text) ? "" : of_names(text); };
  command.option("expression", choice->expression, "of a tensor x, or a graph file with a kernel of one's own:" + list)
      .required()
      .check(known)
      .type("NAME");
  command.option("--kernel", choice->kernel, "of a graph file with several: which").type("NAME");
  command.option("--architecture", choice->architecture, "of a graph file's kernel: 90 for sm_90")
      .check(between(80, 130))
      .shows_default()
      .type("NUMBER");
  command.option("--shape", choice->shape, "of x").shows_default().type("AxBxC");
  command.option("--dtype", choice->dtype, "of x: f64, f32, f16, bf16").shows_default().type("DTYPE");
  command
      .option("--stage", choice->part,
              "what to print: the plan, its tile programs, the code they become (CUDA C++; a CPU's steps), its assembly (PTX), the "
              "figures of each launch (registers, spills, shared memory, occupancy), or all of these; memory: what the plan holds")
      .check(one_of({"plan", "tile", "kernel", "assembly", "figures", "memory", "all"}))
      .shows_default();
  command.flag("--gradient", choice->gradient, "the gradient of its sum instead of the expression");
  add_device_option(command);
  command.runs([choice] { run(*choice); });

  auto built = std::make_shared<BuildChoice>();
  Command build_command =
      kernel.command("build", "machine code of a kernel in a graph file, with a C header and launcher that need the CUDA driver alone");
  build_command.option("file", built->file, "a graph file (save_graph) with a tile kernel or CUDA C++")
      .required()
      .check(not_empty())
      .type("FILE");
  build_command.option("--kernel", built->kernel, "which, where there are several").type("NAME");
  build_command.option("--architecture", built->architecture, "90 for sm_90").check(between(80, 130)).shows_default().type("NUMBER");
  build_command.option("--output", built->folder, "the folder of NAME.cubin, NAME.h and NAME.c").shows_default().type("FOLDER");
  build_command.runs([built] { build(*built); });
}

}  // namespace tegula::app
