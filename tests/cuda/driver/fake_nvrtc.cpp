// An NVRTC that compiles nothing: it keeps every text that the pretended GPU of fake_driver.cpp would run, in the folder $TEGULA_KERNELS, for
// scripts/every_kernel.sh, which compiles them all together. A file is named by a hash of its contents: a line with the options behind "// ",
// then the source. A line of the file "made" there names the file of each unit that a process asked for. Without such a folder nothing compiles.
// TEGULA_FAKE_NVRTC is the minor version that it returns.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tegula/simt/text_hash.h"

namespace {

struct Program {
  std::string source;
};

// The text in the place of machine code; the driver on paper finds no kernels in it.
constexpr std::string_view kCode = "this is no machine code: see tests/cuda/driver/fake_nvrtc.cpp, which wrote it";

constexpr int kSuccess = 0, kFailed = 6;

/// Whole, or not at all: processes keep the same text at the same time.
bool write_whole(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path unfinished = path.string() + "." + std::to_string(getpid());
  if (!(std::ofstream(unfinished) << text).flush()) return false;
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  return !error;
}

bool append_line(const std::filesystem::path& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const std::string text = line + "\n";
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

bool keep(const std::string& text) {
  const char* folder = std::getenv("TEGULA_KERNELS");
  if (!folder || !*folder) return false;
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx.cu", static_cast<unsigned long long>(tegula::gpu::text_hash(text)),
                static_cast<unsigned long long>(tegula::gpu::text_hash(text, 1)));
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  return (std::filesystem::exists(path) || write_whole(path, text)) && append_line(std::filesystem::path(folder) / "made", name);
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  const char* const other = std::getenv("TEGULA_FAKE_NVRTC");
  return *major = TEGULA_NVRTC_MAJOR, *minor = other ? std::atoi(other) : 99, kSuccess;
}  // keeps it out of caches of the real one
const char* nvrtcGetErrorString(int) { return "TEGULA_KERNELS names no folder that can be written"; }
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*, const char* const*) {
  return *program = new Program{source}, kSuccess;
}
int nvrtcDestroyProgram(Program** program) { return delete *program, kSuccess; }
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  std::string line = "//";
  for (int i = 0; i < count; ++i) line += std::string(" ") + options[i];
  const bool machine_code = line.find("architecture=sm_") != std::string::npos;  // the rest is for people, or to warm up
  return !machine_code || keep(line + "\n" + program->source) ? kSuccess : kFailed;
}
int nvrtcGetProgramLogSize(Program*, std::size_t* size) { return *size = 1, kSuccess; }
int nvrtcGetProgramLog(Program*, char* log) { return *log = '\0', kSuccess; }
int nvrtcGetCUBINSize(Program*, std::size_t* size) { return *size = kCode.size(), kSuccess; }
int nvrtcGetCUBIN(Program*, char* code) { return std::memcpy(code, kCode.data(), kCode.size()), kSuccess; }
int nvrtcGetPTXSize(Program*, std::size_t* size) { return *size = kCode.size(), kSuccess; }
int nvrtcGetPTX(Program*, char* code) { return std::memcpy(code, kCode.data(), kCode.size()), kSuccess; }

}  // extern "C"
