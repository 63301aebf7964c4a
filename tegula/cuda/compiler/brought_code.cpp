#include "tegula/cuda/compiler/brought_code.h"

#include <atomic>
#include <cstdio>
#include <utility>

#include "tegula/simt/text_hash.h"

namespace tegula::gpu {
namespace {

struct Brought {
  std::mutex mutex;
  std::map<std::string, Code> all;
};
Brought& everything() {
  static auto* instance = new Brought;
  return *instance;
}

struct Versions {
  std::mutex mutex;
  std::map<std::string, std::pair<std::string, std::uint64_t>> all;  // by library, with the moment when it was asked last
};
Versions& versions() {
  static auto* instance = new Versions;
  return *instance;
}

}  // namespace

std::string code_key(std::string_view kernel, std::string_view source, int architecture, Products products) {
  const std::uint64_t seed = products == Products::Contracted ? kTextHashSeed + 1 : kTextHashSeed;
  char text[80];
  std::snprintf(text, sizeof text, " sm_%d %016llx%016llx", architecture, static_cast<unsigned long long>(text_hash(source, seed)),
                static_cast<unsigned long long>(text_hash(source, ~seed)));
  return std::string(kernel) + text;
}

void bring(runtime::Findings::Code code) {
  std::promise<std::vector<char>> promise;
  const Code image = promise.get_future().share();
  promise.set_value(std::move(code.image));
  Brought& b = everything();
  const std::scoped_lock lock(b.mutex);
  for (const std::string& key : code.kernels) b.all.emplace(key, image);
}

Code brought(const std::string& key) {
  Brought& b = everything();
  const std::scoped_lock lock(b.mutex);
  const auto found = b.all.find(key);
  return found == b.all.end() ? Code() : found->second;
}

void AskedCode::note(std::string key, const Code& code) {
  const std::scoped_lock lock(mutex_);
  all_[std::move(key)] = {code, next_moment()};
}

std::vector<runtime::Findings::Code> AskedCode::since(std::uint64_t moment) const {
  std::map<std::string, Asked> asked;
  {
    const std::scoped_lock lock(mutex_);
    asked = all_;
  }
  std::vector<runtime::Findings::Code> out;
  std::map<const std::vector<char>*, std::size_t> places;
  for (const auto& [key, one] : asked) {
    if (one.when <= moment) continue;
    const std::vector<char>& image = one.code.get();
    const auto [place, is_new] = places.emplace(&image, out.size());
    if (is_new) out.push_back({{}, image});
    out[place->second].kernels.push_back(key);
  }
  return out;
}

void note_version(const std::string& library, const std::string& version) {
  Versions& v = versions();
  const std::scoped_lock lock(v.mutex);
  v.all[library] = {version, next_moment()};
}

std::map<std::string, std::string> versions_since(std::uint64_t moment) {
  Versions& v = versions();
  const std::scoped_lock lock(v.mutex);
  std::map<std::string, std::string> out;
  for (const auto& [library, one] : v.all)
    if (one.second > moment) out.emplace(library, one.first);
  return out;
}

}  // namespace tegula::gpu
