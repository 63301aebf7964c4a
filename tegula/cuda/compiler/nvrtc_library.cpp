#include "tegula/cuda/compiler/nvrtc_library.h"

#include "tegula/core/error.h"

namespace tegula::gpu {
namespace {

void check(Nvrtc::Result result, const char* what) {
  if (result == Nvrtc::kSuccess) return;
  throw Error({.op = "cuda",
               .got = std::string(what) + ": " + Nvrtc::get().error_text(result),
               .advice = "this is a defect of the generated code or of the compiler's installation"});
}

}  // namespace

const Nvrtc& Nvrtc::get() {
  static const Nvrtc instance;
  return instance;
}

Nvrtc::Nvrtc()
    : library_("cuda", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, "install the CUDA toolkit's NVRTC package, or set CUDA_PATH") {
  library_.read_ahead();  // 110 MB
  find(create, "nvrtcCreateProgram");
  find(destroy, "nvrtcDestroyProgram");
  find(compile, "nvrtcCompileProgram");
  find(log_size, "nvrtcGetProgramLogSize");
  find(log, "nvrtcGetProgramLog");
  find(cubin_size, "nvrtcGetCUBINSize");
  find(cubin, "nvrtcGetCUBIN");
  find(ptx_size, "nvrtcGetPTXSize");
  find(ptx, "nvrtcGetPTX");
  find(error_text, "nvrtcGetErrorString");
  find(get_version_, "nvrtcVersion");
  int major = 0, minor = 0;
  if (get_version_(&major, &minor) == kSuccess) version = 1000 * major + 10 * minor;
}

void Nvrtc::warm_up() { Unit("extern \"C\" __global__ void nothing() {}\n", {"--gpu-architecture=compute_80"}); }

Unit::Unit(const std::string& source, const std::vector<std::string>& options) {
  check(nvrtc_.create(&handle_, source.c_str(), "tegula.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const Nvrtc::Result result = nvrtc_.compile(handle_, static_cast<int>(texts.size()), texts.data());
  log_ = text(nvrtc_.log_size, nvrtc_.log);
  if (result == Nvrtc::kSuccess) return;
  const std::string what =
      result == Nvrtc::kCompilationFailed ? "source that does not compile:\n" + log_ : nvrtc_.error_text(result) + ("\n" + log_);
  nvrtc_.destroy(&handle_);
  throw Error({.op = "cuda", .got = what, .expected = "CUDA C++ that NVRTC accepts"});
}

std::vector<char> Unit::cubin() const {
  std::size_t size = 0;
  check(nvrtc_.cubin_size(handle_, &size), "nvrtcGetCUBINSize");
  std::vector<char> image(size);
  check(nvrtc_.cubin(handle_, image.data()), "nvrtcGetCUBIN");
  return image;
}

std::string Unit::text(Nvrtc::Result (*size_of_text)(Nvrtc::Handle, std::size_t*), Nvrtc::Result (*get)(Nvrtc::Handle, char*)) const {
  std::size_t size = 0;
  check(size_of_text(handle_, &size), "the size of a text");
  std::string result(size, '\0');
  check(get(handle_, result.data()), "a text");
  while (!result.empty() && result.back() == '\0') result.pop_back();
  return result;
}

}  // namespace tegula::gpu
