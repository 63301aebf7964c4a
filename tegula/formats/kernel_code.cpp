#include "tegula/formats/kernel_code.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <variant>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/graph_ops.h"
#include "tegula/io/child.h"
#include "tegula/io/file.h"
#include "tegula/ops/tile_kernel_op.h"
#include "tegula/runtime/call_description.h"
#include "tegula/runtime/cuda_text.h"
#include "tegula/runtime/kernel_code.h"

namespace tegula {
namespace {

/// A launch in the graph.
struct Found {
  const Node* node = nullptr;
  const TileKernelOp* tile = nullptr;
  runtime::CudaKernel cuda = {};
  std::string name() const { return tile ? std::string(tile->name()) : cuda.name; }
};

void collect(const std::vector<Tensor>& results, std::vector<Found>& found) {
  std::set<const Node*> seen;
  std::vector<const Node*> pending;
  for (const Tensor& result : results) pending.push_back(&*result.node());
  while (!pending.empty()) {
    const Node* const node = pending.back();
    pending.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Ref<Node>& input : node->inputs()) pending.push_back(&*input);
    if (const TileKernelOp* const tile = TileKernelOp::of(node->op())) found.push_back({node, tile});
    else if (node->op().class_name() == "cuda_kernel")
      found.push_back({node, nullptr, std::get<runtime::CudaKernel>(static_cast<const LibraryOp&>(node->op()).describe({}))});
  }
  std::ranges::sort(found, {}, [](const Found& one) { return one.node->sequence(); });
}

Found find(const char* op, const Tensor& result, const KernelCodeOptions& options, const Line& where) {
  std::vector<Found> found;
  if (result.defined()) collect({result}, found);
  std::string names;
  for (const Found& one : found) names += (names.empty() ? "" : ", ") + one.name();
  if (found.empty())
    throw Error({.op = op,
                 .got = "a tensor that no kernel of one's own computes",
                 .expected = "the result of a launch",
                 .advice = "ask before it is computed in a jit-ed function, and without TEGULA_CHECK=tile, by which kernels run at once",
                 .where = where});
  if (!options.kernel.empty()) {
    const auto named = std::ranges::find(found, options.kernel, &Found::name);
    if (named == found.end()) throw Error({.op = op, .got = "the kernel " + options.kernel, .expected = "one of " + names, .where = where});
    return *named;
  }
  // Several launches of one program are one kernel.
  const auto same = [&](const Found& one) { return one.name() == found.front().name(); };
  if (!std::ranges::all_of(found, same))
    throw Error({.op = op,
                 .got = "a result of the kernels " + names,
                 .expected = "the name of one of them",
                 .advice = "{.kernel = \"" + found.front().name() + "\"}",
                 .where = where});
  return found.front();
}

runtime::GpuKernelCode code_of(const Found& found, const KernelCodeOptions& options) {
  const runtime::GpuTarget target{options.architecture, options.aligned};
  return found.tile ? runtime::code_for_gpu(found.tile->program().program, target) : runtime::code_for_gpu(found.cuda, target);
}

std::vector<Result> results_of(const Node& node) {
  if (node.results().empty()) return {{node.shape(), node.dtype()}};
  return {node.results().begin(), node.results().end()};
}

/// SASS, by the toolkit's tools.
std::string sass_of(const std::vector<char>& cubin) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("tegula_kernel_" + std::to_string(std::hash<std::string>()({cubin.begin(), cubin.end()})) + ".cubin");
  io::AtomicFile out(file.string(), "show_kernel");
  out.write(std::as_bytes(std::span(cubin)));
  out.commit();
  std::string text = "Neither nvdisasm nor cuobjdump is in PATH: they come with the CUDA toolkit (cuda-nvdisasm, cuda-cuobjdump).\n";
  for (const auto& tool : {std::vector<std::string>{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}}) {
    std::vector<std::string> command = tool;
    command.push_back(file.string());
    const io::ChildResult result = io::run_child(command, {});
    if (!result.found || result.exit_code != 0) continue;
    text.assign(reinterpret_cast<const char*>(result.output.data()), result.output.size());
    break;
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return text;
}

std::string figures_text(const runtime::GpuKernelCode& code, const Found& found, const KernelCodeOptions& options) {
  double bytes = 0;
  for (const Ref<Node>& input : found.node->inputs())
    bytes += static_cast<double>(numel(input->shape())) * static_cast<double>(size_of(input->dtype()));
  for (const Result& result : results_of(*found.node))
    bytes += static_cast<double>(numel(result.shape)) * static_cast<double>(size_of(result.dtype));
  const Dims& grid = found.tile ? found.tile->launch().grid : found.cuda.grid;
  std::int64_t blocks = 1;
  for (const std::int64_t size : grid) blocks *= size;
  const double operations =
      found.tile ? found.tile->launch().operations : static_cast<const LibraryOp&>(found.node->op()).operations({}, {});
  char occupancy[64];
  std::snprintf(occupancy, sizeof occupancy, "%d blocks on a multiprocessor, %.0f %%", code.resident_blocks, 100 * code.occupancy);
  std::string text = "architecture  sm_" + std::to_string(options.architecture) + "\n";
  text += "blocks        " + std::to_string(blocks * code.cluster) + " of " + std::to_string(code.threads) + " threads\n";
  text += "registers     " + std::to_string(code.registers) + " of a thread\n";
  text += "spills        " + std::to_string(code.spill_stores) + " bytes stored, " + std::to_string(code.spill_loads) + " loaded; stack " +
          std::to_string(code.stack_bytes) + "\n";
  text += "shared        " + std::to_string(code.static_shared + code.dynamic_shared) + " bytes of a block\n";
  text += std::string("occupancy     ") + occupancy + "\n";
  text += "bytes         " + number_text(bytes) + " of tensors, each read or written once\n";
  return text + "operations    " + (operations > 0 ? number_text(operations) : std::string("not told (.operations of the launch)")) + "\n";
}

/// The name as an identifier of C.
std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "kernel_" + out : out;
}

/// A parameter of the launch in C.
struct Argument {
  std::string type, name, meaning;
  bool pointer = false;
};

std::vector<Argument> arguments_of(const Found& found) {
  std::vector<Argument> all;
  const std::vector<Result> results = results_of(*found.node);
  if (!found.tile) {
    for (const runtime::CudaParameter& one : runtime::signature_of({found.cuda.text, found.cuda.file}, found.cuda.name, {}).parameters) {
      const std::string unsigned_ = one.is_unsigned ? "u" : "";
      const std::string number = one.dtype == f32       ? "float"
                                 : one.dtype == f64     ? "double"
                                 : one.dtype == boolean ? "unsigned char"
                                                        : unsigned_ + "int" + std::to_string(8 * one.bytes) + "_t";
      all.push_back({one.pointer ? "CUdeviceptr" : number, one.name.empty() ? "a" + std::to_string(all.size()) : one.name,
                     "`" + one.type + "`", one.pointer});
    }
    return all;
  }
  const auto& parameters = found.tile->program().program.parameters;
  const std::size_t inputs = found.node->inputs().size();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const tile::Parameter& one = parameters[i];
    std::string meaning = std::string(name(one.dtype));
    if (one.pointer) meaning += i < inputs ? ", read" : ", written";
    if (one.pointer && i >= inputs && i - inputs < results.size()) {
      const TileOutput& output = found.tile->launch().outputs[i - inputs];
      if (output.fill) meaning += "; its elements begin as " + number_text(output.fill->real());
      if (output.begins_as >= 0) meaning += "; it begins as a copy of x" + std::to_string(output.begins_as);
    }
    all.push_back({one.pointer ? "CUdeviceptr" : is_float(one.dtype) ? "double" : "int64_t", one.name, meaning, one.pointer});
  }
  return all;
}

std::string launch_head(const std::string& name, const std::vector<Argument>& arguments) {
  std::string text =
      "CUresult " + name + "_launch(const " + name + "_kernel* kernel, CUstream stream, int64_t grid_x, int64_t grid_y, int64_t grid_z";
  for (const Argument& one : arguments) text += ",\n    " + one.type + " " + one.name;
  return text + ")";
}

std::string header_text(const std::string& name, const Found& found, const runtime::GpuKernelCode& code, const KernelCodeOptions& options,
                        const std::vector<Argument>& arguments) {
  std::string guard = name + "_H", text;
  for (char& c : guard) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  text = "/* " + found.name() + ", a kernel for sm_" + std::to_string(options.architecture) +
         " and later minor versions, made by Tegula. It needs the CUDA driver (-lcuda) alone.\n";
  text += " * Blocks of " + std::to_string(code.threads) + " threads, " + std::to_string(code.registers) + " registers, " +
          std::to_string(code.static_shared + code.dynamic_shared) + " bytes of shared memory.\n";
  if (found.tile && !found.tile->launch().constants.empty()) {
    text += " * Constants:";
    for (const std::int64_t constant : found.tile->launch().constants) text += " " + std::to_string(constant);
    text += "\n";
  }
  text += " */\n#ifndef " + guard + "\n#define " + guard +
          "\n\n#include <cuda.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += "typedef struct " + name + "_kernel {\n  CUmodule module;\n  CUfunction function;\n} " + name + "_kernel;\n\n";
  text += "/* Into the current context. */\nCUresult " + name + "_load(" + name + "_kernel* kernel);\nCUresult " + name + "_unload(" +
          name + "_kernel* kernel);\n\n";
  text += "/* Queues it. The grid counts " + std::string(found.tile ? "program instances" : "blocks") + ".";
  if (options.aligned && found.tile) text += " Tensors begin at multiples of 16 bytes, else CUDA_ERROR_INVALID_VALUE comes back.";
  for (const Argument& one : arguments) text += "\n *   " + one.name + ": " + one.meaning;
  for (const runtime::CudaSetting& one : found.tile ? std::vector<runtime::CudaSetting>() : runtime::settings_of(found.cuda))
    text += "\n *   before it is launched, the variable " + one.name + " is to be set: cuModuleGetGlobal of kernel->module";
  text += " */\n" + launch_head(name, arguments) + ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string source_text(const std::string& name, const Found& found, const runtime::GpuKernelCode& code, const KernelCodeOptions& options,
                        const std::vector<Argument>& arguments) {
  std::string text =
      "#include \"" + name + ".h\"\n\n/* " + name + ".cubin */\nstatic const unsigned char image[] __attribute__((aligned(64))) = {";
  for (std::size_t i = 0; i < code.cubin.size(); ++i)
    text += (i % 24 == 0 ? "\n  " : "") + std::to_string(static_cast<unsigned char>(code.cubin[i])) + ",";
  text +=
      "\n};\n\nCUresult " + name + "_load(" + name + "_kernel* kernel) {\n  CUresult result = cuModuleLoadData(&kernel->module, image);\n";
  text += "  if (result == CUDA_SUCCESS) result = cuModuleGetFunction(&kernel->function, kernel->module, \"" + code.entry + "\");\n";
  if (code.dynamic_shared > 0)
    text +=
        "  if (result == CUDA_SUCCESS) result = cuFuncSetAttribute(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, " +
        std::to_string(code.dynamic_shared) + ");\n";
  text += "  return result;\n}\n\nCUresult " + name + "_unload(" + name + "_kernel* kernel) { return cuModuleUnload(kernel->module); }\n\n";
  text += launch_head(name, arguments) + " {\n";
  std::string list;
  if (found.tile) {
    text += "  struct {\n    int64_t none;\n";
    for (const Argument& one : arguments) text += "    " + one.type + " " + one.name + ";\n";
    text += "  } a = {0";
    for (const Argument& one : arguments) text += ", " + one.name;
    text += "};\n  void* failure = 0;\n";
    if (options.aligned) {
      std::string all;
      for (const Argument& one : arguments)
        if (one.pointer) all += (all.empty() ? "" : " | ") + one.name;
      if (!all.empty()) text += "  if (((" + all + ") & 15) != 0) return CUDA_ERROR_INVALID_VALUE;\n";
    }
    list = "&a." + std::string(arguments.empty() ? "none" : arguments[0].name) + ", &grid_x, &grid_y, &grid_z, &failure";
    if (std::ranges::count(found.tile->program().program.instructions, tile::Word::Print, &tile::Instruction::word) > 0) {
      text += "  void* printed = 0; /* device_print shows nothing */\n";
      list += ", &printed";
    }
    const std::string count = "(unsigned)(grid_x * grid_y * grid_z" + (code.cluster > 1 ? " * " + std::to_string(code.cluster) : "") + ")";
    text += "  void* parameters[] = {" + list + "};\n  if (grid_x * grid_y * grid_z == 0) return CUDA_SUCCESS;\n";
    text +=
        "  CUlaunchAttribute cluster;\n  CUlaunchConfig launch = {0};\n  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n  "
        "cluster.value.clusterDim.x = " +
        std::to_string(code.cluster) + ";\n  cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;\n  launch.gridDimX = " + count +
        ";\n  launch.gridDimY = launch.gridDimZ = 1;\n  launch.blockDimX = " + std::to_string(code.threads) +
        ";\n  launch.blockDimY = launch.blockDimZ = 1;\n  launch.sharedMemBytes = " + std::to_string(code.dynamic_shared) +
        ";\n  launch.hStream = stream;\n  launch.attrs = &cluster;\n  launch.numAttrs = " + (code.cluster > 1 ? "1" : "0") +
        ";\n  return cuLaunchKernelEx(&launch, kernel->function, parameters, 0);\n}\n";
    return text;
  }
  for (const Argument& one : arguments) list += (list.empty() ? "&" : ", &") + one.name;
  const auto size = [&](int axis) { return std::to_string(axis < found.cuda.block.rank() ? found.cuda.block[axis] : 1); };
  text += "  void* parameters[] = {" + list +
          "};\n  return cuLaunchKernel(kernel->function, (unsigned)grid_x, (unsigned)grid_y, (unsigned)grid_z, " + size(0) + ", " +
          size(1) + ", " + size(2) + ", " + std::to_string(code.dynamic_shared) + ", stream, parameters, 0);\n}\n";
  return text;
}

std::string write(const std::string& folder, const std::string& file, std::span<const std::byte> bytes) {
  const std::string path = (std::filesystem::path(folder) / file).string();
  io::AtomicFile out(path, "build_kernel");
  out.write(bytes);
  out.commit();
  return path;
}
std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::vector<std::string> kernels_in(const std::vector<Tensor>& results) {
  std::vector<Found> found;
  collect(results, found);
  std::vector<std::string> names;
  for (const Found& one : found)
    if (std::ranges::find(names, one.name()) == names.end()) names.push_back(one.name());
  return names;
}

std::string show_kernel(const Tensor& result, const KernelCodeOptions& options, Line where) {
  const Found found = find("show_kernel", result, options, where);
  const runtime::GpuKernelCode code = code_of(found, options);
  std::string text;
  const auto section = [&](const std::string& title, const std::string& body) {
    text += "# " + title + "\n" + body + (body.ends_with('\n') ? "\n" : "\n\n");
  };
  if (found.tile) section("program", tile::to_string(found.tile->program().program)), section("decisions", code.decisions);
  section("CUDA C++", code.text);
  section("PTX", code.ptx);
  section("SASS", sass_of(code.cubin));
  section("figures", figures_text(code, found, options));
  return text;
}

std::vector<std::string> build_kernel(const Tensor& result, const std::string& folder, const KernelCodeOptions& options, Line where) {
  const Found found = find("build_kernel", result, options, where);
  if (found.tile && found.tile->has_check())
    throw Error({.op = "build_kernel",
                 .got = found.name() + ", which checks its values (device_assert)",
                 .expected = "a kernel without: nobody outside of Tegula hears of them",
                 .where = where});
  const runtime::GpuKernelCode code = code_of(found, options);
  const std::string name = identifier(found.name());
  const std::vector<Argument> arguments = arguments_of(found);
  io::make_folder(folder, "build_kernel");
  return {write(folder, name + ".cubin", std::as_bytes(std::span(code.cubin))),
          write(folder, name + ".h", bytes_of(header_text(name, found, code, options, arguments))),
          write(folder, name + ".c", bytes_of(source_text(name, found, code, options, arguments)))};
}

}  // namespace tegula
