#include "tegula/emulator/kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/emulator/image.h"
#include "tegula/emulator/memory_check.h"
#include "tegula/emulator/threads.h"
#include "tegula/runtime/cuda_text.h"

namespace tegula::emulator {
namespace {

using runtime::CudaArgument;
using runtime::CudaKernel;

constexpr std::int64_t kMostDeclaredShared = 48 * 1024;  // bytes of a block
constexpr const char* kEntry = "tegula_entry";
constexpr const char* kDynamic = "tegula_dynamic_shared";
constexpr const char* kMostThreads = "tegula_most_threads";  // of a block, by __launch_bounds__

/// Numbers as the launch lays them down: the type of the parameter, by its bytes.
std::string number_type(const runtime::CudaParameter& parameter) {
  if (parameter.dtype == f32) return "float";
  if (parameter.dtype == f64) return "double";
  if (parameter.dtype == boolean) return "bool";
  if (parameter.dtype == f16) return "__half";
  if (parameter.dtype == bf16) return "__nv_bfloat16";
  const char* const whole = parameter.bytes == 1 ? "char" : parameter.bytes == 2 ? "short" : parameter.bytes == 4 ? "int" : "long long";
  return std::string(parameter.is_unsigned ? "unsigned " : "signed ") + whole;
}

/// The text behind CUDA's words, with what calls the kernel.
std::string unit_of(const CudaKernel& kernel, const runtime::EmulatedText& text, const runtime::CudaSignature& signature) {
  std::string unit = words(Checked::Yes) + text.text + "\n#line 1 \"the entry of the kernel\"\n";
  unit += "extern \"C\" { alignas(128) unsigned char " + std::string(kDynamic) + "[" + std::to_string(CudaKernel::kMostShared) + "]; }\n";
  std::vector<std::string> dynamic;
  for (const runtime::CudaShared& shared : text.shared)
    if (shared.dynamic && std::ranges::find(dynamic, shared.name) == dynamic.end()) dynamic.push_back(shared.name);
  for (const std::string& name : dynamic) unit += "asm(\".globl " + name + "\\n.set " + name + ", " + kDynamic + "\\n\");\n";
  if (!signature.bounds.empty() && !signature.is_template)
    unit += "#define TEGULA_FIRST(first, ...) (first)\nextern \"C\" { extern const long " + std::string(kMostThreads) + "; const long " +
            kMostThreads + " = TEGULA_FIRST" + signature.bounds.substr(signature.bounds.find('(')) + "; }\n";
  // In names that no macro of the text's has.
  unit += std::string("extern \"C\" TEGULA_WORD __attribute__((used)) void ") + kEntry +
          "(void* tegula_place) {\n  void* const* tegula_places = static_cast<void* const*>(tegula_place);\n  ::" + kernel.name + "(";
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const std::string place = "tegula_places[" + std::to_string(i) + "]";
    unit += (i > 0 ? ", " : "") + (signature.parameters[i].pointer
                                       ? "emulated::Pointer{" + place + "}"
                                       : "emulated::given<" + number_type(signature.parameters[i]) + ">(" + place + ")");
  }
  return unit + ");\n}\n";
}

/// Copies of tensors, each with room around it that belongs to nobody.
class Copies {
 public:
  explicit Copies(const std::vector<runtime::CudaTensor>& tensors) : tensors_(tensors) {
    std::size_t total = kRoom;
    for (const runtime::CudaTensor& tensor : tensors)
      offsets_.push_back(total), total += (tensor.bytes() + kRoom + kAlignment - 1) / kAlignment * kAlignment;
    memory_.resize(total + kAlignment);
    begin_ = memory_.data() + (kAlignment - reinterpret_cast<std::uintptr_t>(memory_.data()) % kAlignment);
  }
  unsigned char* of(std::size_t i) { return begin_ + offsets_[i]; }
  void fetch(std::span<void* const> buffers) {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].bytes() > 0) std::memcpy(of(i), buffers[i], tensors_[i].bytes());
  }
  void empty(std::size_t i) { std::memset(of(i), kNothing, tensors_[i].bytes()); }
  void give_back(std::size_t first, std::span<void* const> buffers) {
    for (std::size_t i = first; i < tensors_.size(); ++i)
      if (tensors_[i].bytes() > 0) std::memcpy(buffers[i], of(i), tensors_[i].bytes());
  }

 private:
  static constexpr std::size_t kRoom = 4096, kAlignment = 256;
  const std::vector<runtime::CudaTensor>& tensors_;
  std::vector<std::size_t> offsets_;
  std::vector<unsigned char> memory_;
  unsigned char* begin_ = nullptr;
};

std::vector<Region> regions_of(const CudaKernel& kernel, const runtime::CudaSignature& signature, const runtime::EmulatedText& text,
                               const Image& image, Copies& copies) {
  std::vector<Region> regions;
  for (std::size_t i = 0; i < kernel.tensors.size(); ++i) {
    const runtime::CudaTensor& tensor = kernel.tensors[i];
    if (tensor.bytes() == 0) continue;
    std::string name = "a tensor";
    for (std::size_t k = 0; k < signature.parameters.size(); ++k)
      if (kernel.arguments[k].kind == CudaArgument::Kind::Tensor && kernel.arguments[k].tensor == static_cast<std::int64_t>(i)) {
        const std::string& said = signature.parameters[k].name;
        name = said.empty() ? "argument " + std::to_string(k) : said;
        break;
      }
    const bool result = i >= static_cast<std::size_t>(kernel.inputs);
    regions.push_back({.name = name + ", " + std::string(tegula::name(tensor.dtype)) + to_string(tensor.shape),
                       .begin = copies.of(i),
                       .bytes = tensor.bytes(),
                       .kind = Region::Kind::Tensor,
                       .writable = result,
                       .filled = !result || tensor.begins != runtime::CudaTensor::Begins::Empty,
                       .element = size_of(tensor.dtype)});
  }
  for (const Image::Variable& variable : image.variables()) {
    if (variable.name == "tegula_emulated" || variable.name.starts_with("__") || variable.name.find('.') != std::string::npos)
      continue;  // the compiler's own
    const auto declared = std::ranges::find(text.shared, variable.name, &runtime::CudaShared::name);
    if (declared != text.shared.end() && declared->dynamic) continue;
    if (variable.name == kDynamic) {
      const auto dynamic = std::ranges::find(text.shared, true, &runtime::CudaShared::dynamic);
      const auto asked = static_cast<std::size_t>(kernel.shared);
      regions.push_back({"", variable.begin + asked, variable.bytes - asked, Region::Kind::Nobody});
      if (dynamic == text.shared.end() || asked == 0) continue;
      regions.push_back({dynamic->name + " (shared)", variable.begin, static_cast<std::size_t>(kernel.shared), Region::Kind::Shared, true,
                         false, dynamic->element});
    } else if (declared != text.shared.end()) {
      regions.push_back(
          {variable.name + " (shared)", variable.begin, variable.bytes, Region::Kind::Shared, true, false, declared->element});
    } else if (variable.begin >= image.begin() && variable.begin + variable.bytes <= image.end() && variable.function.empty()) {
      regions.push_back({variable.name, variable.begin, variable.bytes, Region::Kind::Global, true, true, 4});
    }
  }
  return regions;
}

/// Writes what the launch says that variables hold.
void set_variables(const CudaKernel& kernel, const Image& image, Copies& copies, const Line& where) {
  for (const auto& [name, tensor] : runtime::settings_of(kernel)) {
    const std::size_t bytes = kernel.tensors[tensor].bytes();
    const auto found = std::ranges::find_if(image.variables(), [&, &name = name](const Image::Variable& variable) {
      return variable.name == name && variable.function.empty();
    });
    if (found == image.variables().end() || bytes > found->bytes)
      throw Error({.op = "cuda_kernel " + kernel.name,
                   .got = std::to_string(bytes) + " bytes for the variable " + name,
                   .expected = found == image.variables().end() ? "a variable that the compiler keeps"
                                                                : "at most its " + std::to_string(found->bytes),
                   .where = where});
    if (bytes > 0) std::memcpy(const_cast<unsigned char*>(found->begin), copies.of(tensor), bytes);
  }
}

/// Throws for a launch that a GPU or its compiler refuses.
void check_limits(const CudaKernel& kernel, const runtime::CudaSignature& signature, const runtime::EmulatedText& text, const Image& image,
                  const Line& where) {
  const auto refuse = [&](std::string got, std::string expected, std::string advice) {
    throw Error({.op = "cuda_kernel " + kernel.name,
                 .got = std::move(got),
                 .expected = std::move(expected),
                 .advice = std::move(advice),
                 .where = where});
  };
  std::int64_t threads = 1;
  for (const std::int64_t size : kernel.block) threads *= size;
  const auto* const most = static_cast<const long*>(image.find(kMostThreads));
  if (most && threads > *most)
    refuse("blocks of " + std::to_string(threads) + " threads",
           "at most " + std::to_string(*most) + ", as its " + signature.bounds + " says", "");
  std::int64_t declared = 0;
  const auto is_its_own = [&](const std::string& function) {
    const std::size_t at = function.find(signature.name);
    const std::size_t end = at + signature.name.size();
    return at != std::string::npos && end < function.size() && (function[end] == '(' || function[end] == '<');
  };
  for (const Image::Variable& variable : image.variables())
    if (is_its_own(variable.function) && std::ranges::find(text.shared, variable.name, &runtime::CudaShared::name) != text.shared.end())
      declared += static_cast<std::int64_t>(variable.bytes);
  if (declared > kMostDeclaredShared)
    refuse(std::to_string(declared) + " bytes of variables in shared memory", "at most 49152",
           "declare it extern __shared__, and ask for it by .shared of the launch");
  if (declared + kernel.shared > CudaKernel::kMostShared)
    refuse(std::to_string(declared) + " bytes of variables in shared memory and " + std::to_string(kernel.shared) +
               " that the launch asks for",
           "at most 227 KiB together", "");
}

emulated::Index index_of(const Dims& sizes) {
  const auto at = [&](int axis) { return axis < sizes.rank() ? static_cast<unsigned>(sizes[axis]) : 1u; };
  return {at(0), at(1), at(2)};
}

}  // namespace

void launch(const CudaKernel& kernel, std::span<void* const> buffers, const Line& where) {
  const std::string op = "cuda_kernel " + kernel.name;
  const runtime::CudaText source{kernel.text, kernel.file};
  const runtime::CudaSignature signature = runtime::signature_of(source, kernel.name, where);
  const runtime::EmulatedText text = runtime::text_for_emulator(source);
  const Image* image = nullptr;
  try {
    image = &Image::of(unit_of(kernel, text, signature), Checked::Yes, op);
  } catch (const Error& error) {
    Report report = error.report();
    report.where = where;
    throw Error(std::move(report));
  }
  check_limits(kernel, signature, text, *image, where);
  Copies copies(kernel.tensors);
  copies.fetch(buffers);
  for (std::size_t i = static_cast<std::size_t>(kernel.inputs); i < kernel.tensors.size(); ++i)
    if (kernel.tensors[i].begins == runtime::CudaTensor::Begins::Empty) copies.empty(i);
  set_variables(kernel, *image, copies, where);
  std::vector<void*> values(kernel.arguments.size()), places(kernel.arguments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const CudaArgument& argument = kernel.arguments[i];
    const bool tensor = argument.kind == CudaArgument::Kind::Tensor;
    values[i] = tensor ? copies.of(static_cast<std::size_t>(argument.tensor)) : nullptr;
    places[i] = argument.kind == CudaArgument::Kind::Number ? const_cast<std::int64_t*>(&argument.bits) : values[i];
  }
  static std::atomic<unsigned> launches = 0;
  const unsigned order = launches++;
  MemoryCheck check(regions_of(kernel, signature, text, *image, copies), image->begin(), image->end(), index_of(kernel.block));
  const Stopped stopped = run({.state = &image->state(),
                               .body = reinterpret_cast<void (*)(void*)>(image->find(kEntry)),
                               .argument = places.data(),
                               .grid = index_of(kernel.grid),
                               .block = index_of(kernel.block),
                               .shared_bytes = static_cast<std::size_t>(kernel.shared),
                               .shared = static_cast<unsigned char*>(image->find(kDynamic)),
                               .order = order,
                               .uneven = order % 3 == 2,
                               .check = &check});
  if (!stopped.what.empty()) {
    const std::string line = stopped.from       ? image->line_of(stopped.from)
                             : stopped.line > 0 ? std::string(stopped.file) + ":" + std::to_string(stopped.line)
                                                : "";
    throw Error({.op = op, .got = stopped.what + (line.empty() ? "" : ", at " + line), .where = where});
  }
  if (const std::string element = check.unwritten(); !element.empty()) {
    throw Error({.op = op,
                 .got = element + ", which no thread writes",
                 .expected = "every element of a result to be written",
                 .advice = "a result may begin with a number: cuda_out(shape, dtype, 0)",
                 .where = where});
  }
  copies.give_back(static_cast<std::size_t>(kernel.inputs), buffers);
}

}  // namespace tegula::emulator
