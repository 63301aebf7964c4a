#include "tegula/emulator/image.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/emulator/interface.cuh.h"
#include "tegula/emulator/math_words.cuh.h"
#include "tegula/emulator/words.cuh.h"
#include "tegula/io/child.h"

namespace tegula::emulator {
namespace {

namespace fs = std::filesystem;

/// The folder of this process; removed when it ends.
const fs::path& folder() {
  static const fs::path path = [] {
    const fs::path made = fs::temp_directory_path() / ("tegula_emulator_" + std::to_string(getpid()));
    fs::create_directories(made);
    static const fs::path kept = made;
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(kept, ignored);
    });
    return made;
  }();
  return path;
}

std::string compiler() {
  const char* const chosen = std::getenv("TEGULA_CXX");
  return chosen && *chosen ? chosen : "c++";
}

std::vector<std::string> command(const fs::path& source, const fs::path& object, Checked checked) {
  std::vector<std::string> words{compiler(), "-std=c++17", "-O0", "-w", "-fwrapv", "-fno-exceptions", "-fPIC", "-shared", "-Wl,-Bsymbolic"};
  // The unit defines the functions that the sanitizers call: their libraries are not linked.
  if (checked == Checked::Yes)
    for (const char* const word : {"-g1", "-fsanitize=thread", "-fsanitize=bounds,integer-divide-by-zero", "-nodefaultlibs"})
      words.emplace_back(word);
  words.insert(words.end(), {source.string(), "-o", object.string()});
  if (checked == Checked::Yes) words.insert(words.end(), {"-lgcc", "-lc", "-lm"});
  return words;
}

std::string first_lines(const std::string& text, int count) {
  std::size_t at = 0;
  for (int i = 0; i < count && at != std::string::npos; ++i) at = text.find('\n', at + 1);
  return text.substr(0, at);
}

/// The text without the folder of this process.
std::string without_folder(std::string text) {
  const std::string prefix = folder().string() + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) text.erase(at, prefix.size());
  return text;
}

/// The symbol as C++ has it, with what it is declared in.
std::string readable(const char* symbol) {
  if (std::strncmp(symbol, "_Z", 2) != 0) return symbol;  // "s" alone is also how `short` is written
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : symbol;
}

}  // namespace

std::string words(Checked checked) {
  const std::string begin = checked == Checked::Yes ? "#define TEGULA_CHECKED 1\n" : "";
  return begin + gpu::kInterface + gpu::kWords + gpu::kMath + gpu::kVectors + (checked == Checked::Yes ? gpu::kChecks : "");
}

const Image& Image::of(const std::string& unit, Checked checked, const std::string& op) {
  static std::mutex mutex;
  static auto& images = *new std::map<std::pair<std::string, Checked>, Image>;
  const std::scoped_lock lock(mutex);
  if (const auto found = images.find({unit, checked}); found != images.end()) return found->second;
  Image image;
  const fs::path base = folder() / ("k" + std::to_string(images.size())), source = base.string() + ".cpp";
  image.path_ = base.string() + ".so";
  image.compiled_in_ = fs::current_path().string() + "/";
  std::ofstream(source) << unit;
  const io::ChildResult result = io::run_child(command(source, image.path_, checked), {});
  if (!result.found) {
    throw Error({.op = op,
                 .got = "no program " + compiler() + " in PATH",
                 .expected = "the system's C++ compiler, by which CUDA C++ runs where there is no GPU",
                 .advice = "install g++ or clang, or name one by TEGULA_CXX"});
  }
  if (result.exit_code != 0) {
    throw Error({.op = op,
                 .got = "text that the C++ compiler refuses:\n" + first_lines(without_folder(result.messages), 24),
                 .expected = "CUDA C++ in the words that the emulator knows",
                 .advice = "docs/cuda_kernels.md says which; of what calls kernels, main and <<<…>>>, nothing belongs to the text"});
  }
  image.handle_ = dlopen(image.path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!image.handle_) throw Error({.op = op, .got = without_folder(dlerror()), .expected = "a shared object that can be loaded"});
  image.read_symbols();
  return images.emplace(std::pair(unit, checked), std::move(image)).first->second;
}

void* Image::find(const std::string& name) const { return dlsym(handle_, name.c_str()); }

void Image::read_symbols() {
  Dl_info info;
  if (!dladdr(find("tegula_emulated"), &info)) return;
  begin_ = static_cast<const unsigned char*>(info.dli_fbase);
  std::ifstream file(path_, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  const auto at = [&]<class T>(std::size_t offset, T) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  };
  const auto header = at(0, Elf64_Ehdr());
  std::size_t length = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto part = at(header.e_phoff + i * header.e_phentsize, Elf64_Phdr());
    if (part.p_type == PT_LOAD) length = std::max<std::size_t>(length, part.p_vaddr + part.p_memsz);
  }
  end_ = begin_ + length;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto table = at(header.e_shoff + i * header.e_shentsize, Elf64_Shdr());
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto names = at(header.e_shoff + table.sh_link * header.e_shentsize, Elf64_Shdr());
    for (std::size_t offset = table.sh_offset; offset < table.sh_offset + table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at(offset, Elf64_Sym());
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 || names.sh_offset + symbol.st_name >= bytes.size()) continue;
      const char* const name = bytes.data() + names.sh_offset + symbol.st_name;
      const std::string whole = readable(name);
      const std::size_t own = whole.rfind("::");
      variables_.push_back({own == std::string::npos ? whole : whole.substr(own + 2), begin_ + symbol.st_value, symbol.st_size,
                            std::strncmp(name, "_ZZ", 3) == 0 && own != std::string::npos ? whole.substr(0, own) : ""});
    }
  }
}

std::string Image::line_of(const void* from) const {
  if (!from) return "";
  char offset[32];
  std::snprintf(offset, sizeof offset, "0x%zx", static_cast<std::size_t>(static_cast<const unsigned char*>(from) - begin_) - 1);
  const io::ChildResult result = io::run_child({"addr2line", "-e", path_, offset}, {});
  if (!result.found || result.exit_code != 0) return "";
  std::string text(reinterpret_cast<const char*>(result.output.data()), result.output.size());
  text = text.substr(0, text.find_first_of("\n"));
  if (const std::size_t note = text.find(" ("); note != std::string::npos) text.erase(note);  // " (discriminator 2)"
  if (text.find("??") != std::string::npos) return "";
  if (text.starts_with(compiled_in_)) text.erase(0, compiled_in_.size());  // the compiler's prefix of a name
  return text;
}

}  // namespace tegula::emulator
