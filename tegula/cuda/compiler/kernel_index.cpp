#include "tegula/cuda/compiler/kernel_index.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdio>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "tegula/runtime/cache_file.h"
#include "tegula/simt/text_hash.h"

namespace tegula::gpu {
namespace {

constexpr std::size_t kIdCharacters = 32, kChecksumCharacters = 16;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of the file: no more is appended
constexpr std::size_t kMostParts = 64;  // of a kernel's maps, planes and factors

std::string hexadecimal(std::uint64_t word) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(word));
  return text;
}

/// Two words over all that is put in.
class Hash {
 public:
  void put(std::uint64_t word) {
    for (std::uint64_t* const h : {&first_, &second_}) {
      *h = (*h ^ word) * 0x9E3779B97F4A7C15ull;
      *h ^= *h >> 32;
    }
  }
  void put(std::string_view text) { put(text.size()), put(text_hash(text)), put(text_hash(text, 1)); }
  void put(const tile::Region& region) {
    for (const std::vector<tile::Id>* const ids : {&region.parameters, &region.body}) {
      put(ids->size());
      for (const tile::Id id : *ids) put(static_cast<std::uint64_t>(id));
    }
  }
  std::string text() const { return hexadecimal(first_) + hexadecimal(second_); }

 private:
  std::uint64_t first_ = kTextHashSeed, second_ = 1;
};

/// Words of a line, each behind a space.
class Writer {
 public:
  explicit Writer(std::string& line) : line_(line) {}
  void operator()(const std::string& word) { line_ += " " + word; }
  void operator()(std::integral auto number) { line_ += " " + std::to_string(number); }
  void operator()(DType dtype) { operator()(static_cast<int>(dtype)); }
  template <class T>
  void list(std::vector<T>& all) {
    operator()(all.size());
  }

 private:
  std::string& line_;
};

class Reader {
 public:
  explicit Reader(std::string_view line) : words_(std::string(line)) {}
  void operator()(std::string& word) { words_ >> word; }
  template <std::integral T>
  void operator()(T& number) {
    words_ >> number;
  }
  void operator()(DType& dtype) {
    int number = 0;
    operator()(number);
    dtype = static_cast<DType>(number);
  }
  template <class T>
  void list(std::vector<T>& all) {
    std::size_t count = 0;
    operator()(count);
    if (count > kMostParts) words_.setstate(std::ios::failbit);
    if (words_) all.resize(count);
  }
  /// Nothing was missing.
  bool is_whole() const { return static_cast<bool>(words_); }

 private:
  std::istringstream words_;
};

void pass(auto& io, simt::TensorMap::Size& size) { io(size.parameter), io(size.number); }
void pass(auto& io, simt::TensorMap::Plane& plane) {
  io.list(plane.factors);
  for (simt::TensorMap::Size& factor : plane.factors) pass(io, factor);
  bool has_size = plane.size.has_value();
  io(has_size);
  if (has_size) pass(io, plane.size ? *plane.size : plane.size.emplace());
  io(plane.box), io(plane.step);
}
void pass(auto& io, simt::TensorMap& map) {
  auto& [pointer, dtype, columns, rows, stride, planes, box_columns, box_rows, pitch, row_step, inside] = map;
  io(pointer), io(dtype), pass(io, columns), pass(io, rows), pass(io, stride);
  io.list(planes);
  for (simt::TensorMap::Plane& plane : planes) pass(io, plane);
  io(box_columns), io(box_rows), io(pitch), io(row_step), io(inside);
}
void pass(auto& io, Generated& generated) {
  auto& [name, source, threads, cluster, shared_bytes, stays, early, maps] = generated;
  io(name), io(threads), io(cluster), io(shared_bytes), io(stays), io(early);
  io.list(maps);
  for (simt::TensorMap& map : maps) pass(io, map);
}
/// The key has spaces between its words, and comes last.
void pass(auto& io, KnownKernel& kernel, std::array<std::string, 3>& key) {
  pass(io, kernel.generated);
  io(kernel.characters);
  for (std::string& word : key) io(word);
}

struct BuildId {
  std::uintptr_t within = 0;  // an address
  std::string text;
};

/// The note NT_GNU_BUILD_ID of the object that the address belongs to.
int find_build_id(dl_phdr_info* object, std::size_t, void* of) {
  auto& id = *static_cast<BuildId*>(of);
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  const bool is_it = std::ranges::any_of(headers, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && id.within - object->dlpi_addr - part.p_vaddr < part.p_memsz;
  });
  if (!is_it) return 0;
  for (const ElfW(Phdr) & part : headers) {
    if (part.p_type != PT_NOTE) continue;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(object->dlpi_addr + part.p_vaddr);
    const auto whole = [](std::size_t size) { return (size + 3) / 4 * 4; };
    ElfW(Nhdr) note{};
    for (std::size_t at = 0; at + sizeof note <= part.p_memsz; at += sizeof note + whole(note.n_namesz) + whole(note.n_descsz)) {
      std::memcpy(&note, bytes + at, sizeof note);
      const std::size_t name = at + sizeof note, contents = name + whole(note.n_namesz);
      if (contents + note.n_descsz > part.p_memsz) break;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(bytes + name, "GNU", 4) != 0) continue;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", bytes[contents + i]);
        id.text += digits;
      }
    }
  }
  return 1;
}

}  // namespace

std::string kernel_id(const tile::Program& program, const Specialisation& variant, int architecture) {
  Hash hash;
  const std::vector<std::uint64_t> structure = tile::structure(program);
  hash.put(structure.size());
  for (const std::uint64_t word : structure) hash.put(word);
  hash.put(program.body);  // texts name values by their ids, which the structure does not know
  for (const tile::Instruction& instruction : program.instructions)
    for (const tile::Region& region : instruction.regions) hash.put(region);
  hash.put(program.name);
  for (const tile::Parameter& parameter : program.parameters) hash.put(parameter.name);
  const auto& [facts, many_sets, guarded, one_axis, maps] = variant;
  hash.put(std::string_view(reinterpret_cast<const char*>(facts.data()), facts.size()));
  hash.put((many_sets ? 8u : 0u) | (guarded ? 4u : 0u) | (one_axis ? 2u : 0u) | (maps ? 1u : 0u));
  hash.put(static_cast<std::uint64_t>(architecture));
  return hash.text();
}

KernelIndex::KernelIndex(std::optional<std::filesystem::path> path, std::string_view build)
    : path_(std::move(path)),
      seed_(text_hash(build)) {}

std::string KernelIndex::checksum(std::string_view line) const { return hexadecimal(text_hash(line, seed_)); }

/// Call with the mutex held.
void KernelIndex::load() {
  if (loaded_ || !path_) return;
  loaded_ = true;
  contents_ = runtime::read_cache_file(*path_, runtime::Trust::Owner).value_or("");
  const std::string_view all = contents_;
  for (std::size_t at = 0, end = 0; at < all.size(); at = end + 1) {
    end = std::min(all.find('\n', at), all.size());
    const std::string_view line = all.substr(at, end - at);
    if (line.size() > kIdCharacters + kChecksumCharacters) lines_[line.substr(0, kIdCharacters)] = line;
  }
}

std::optional<KnownKernel> KernelIndex::find(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  load();
  const auto found = lines_.find(id);
  if (found == lines_.end()) return {};
  const std::string_view line = found->second, text = line.substr(0, line.size() - kChecksumCharacters);
  if (line.substr(text.size()) != checksum(text)) return {};
  KnownKernel kernel;
  std::array<std::string, 3> key;
  Reader reader(text.substr(kIdCharacters));
  pass(reader, kernel, key);
  if (!reader.is_whole()) return {};
  kernel.key = key[0] + " " + key[1] + " " + key[2];
  return kernel;
}

void KernelIndex::note(const std::string& id, const KnownKernel& kernel) {
  if (!path_) return;
  KnownKernel copy{{}, kernel.key, kernel.characters};
  copy.generated = kernel.generated;
  std::array<std::string, 3> key;
  std::istringstream(kernel.key) >> key[0] >> key[1] >> key[2];
  std::string line = id;
  Writer writer(line);
  pass(writer, copy, key);
  line += ' ';
  const std::scoped_lock lock(mutex_);
  noted_ += line + checksum(line) + "\n";
}

void KernelIndex::flush() {
  const std::scoped_lock lock(mutex_);
  if (noted_.empty()) return;
  // In one call, behind the end of a line: what several processes write does not mix.
  const std::string text = "\n" + std::exchange(noted_, {});
  runtime::append_cache_file(*path_, text, kMostBytes);
}

KernelIndex& kernel_index() {
  static auto* index = [] {
    BuildId id{reinterpret_cast<std::uintptr_t>(&find_build_id), {}};
    dl_iterate_phdr(find_build_id, &id);
    const auto folder = runtime::cache_folder();
    using Path = std::optional<std::filesystem::path>;
    return new KernelIndex(folder && !id.text.empty() ? Path(*folder / (id.text + ".kernels")) : Path(), id.text);
  }();
  return *index;
}

}  // namespace tegula::gpu
