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

constexpr const char* kEntry = "tegula_entry";
constexpr const char* kDynamic = "tegula_dynamic_shared";

/// Numbers as the launch lays them down: the type of the parameter, by its bytes.
std::string number_type(const runtime::CudaParameter& parameter) {
  if (parameter.dtype == f32) return "float";
  if (parameter.dtype == f64) return "double";
  if (parameter.dtype == boolean) return "bool";
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
  unit +=
      "namespace emulated { struct Pointer { void* p; template <class T> TEGULA_WORD operator T*() const { return static_cast<T*>(p); } }; "
      "}\n";
  unit += std::string("extern \"C\" TEGULA_WORD __attribute__((used)) void ") + kEntry +
          "(void* p) {\n  void* const* a = static_cast<void* const*>(p);\n  ::" + kernel.name + "(";
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const std::string a = "a[" + std::to_string(i) + "]";
    unit += (i > 0 ? ", " : "") + (signature.parameters[i].pointer
                                       ? "emulated::Pointer{" + a + "}"
                                       : "*static_cast<const " + number_type(signature.parameters[i]) + "*>(" + a + ")");
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
    for (std::size_t k = 0; k < kernel.arguments.size(); ++k)
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
    if (variable.name == "tegula_emulated" || variable.name.starts_with("__")) continue;
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
    } else if (variable.begin >= image.begin() && variable.begin + variable.bytes <= image.end() && !variable.local) {
      regions.push_back({variable.name, variable.begin, variable.bytes, Region::Kind::Global, true, true, 4});
    }
  }
  return regions;
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
  Copies copies(kernel.tensors);
  copies.fetch(buffers);
  for (std::size_t i = static_cast<std::size_t>(kernel.inputs); i < kernel.tensors.size(); ++i)
    if (kernel.tensors[i].begins == runtime::CudaTensor::Begins::Empty) copies.empty(i);
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
