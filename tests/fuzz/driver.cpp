// Stands in for libFuzzer where the compiler has none: mutates the files of the given folders at random and feeds them to
// LLVMFuzzerTestOneInput. Not guided by coverage; the sanitizers or a crash tell. Reads libFuzzer's -seed, -runs and -max_total_time.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

void read_folder(const std::string& folder, std::vector<Bytes>& seeds) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
}

// A few small changes: bits, interesting bytes, cuts, repetitions.
void mutate(Bytes& input, std::mt19937& random) {
  const std::uint8_t interesting[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '{', '"', ':'};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
    if (input.empty()) {
      input.push_back(static_cast<std::uint8_t>(random()));
      continue;
    }
    // Half of the changes go to the first 64 bytes: headers are where readers err.
    const std::size_t at = below(2) == 0 ? below(std::min<std::size_t>(64, input.size())) : below(input.size());
    switch (below(5)) {
      case 0: input[at] ^= static_cast<std::uint8_t>(1u << below(8)); break;
      case 1: input[at] = interesting[below(std::size(interesting))]; break;
      case 2: input[at] = static_cast<std::uint8_t>(random()); break;
      case 3: input.resize(at); break;
      default: input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8), input[at]); break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  long seed = 1, runs = 20000, max_seconds = 20;
  std::vector<Bytes> seeds{Bytes{}};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](std::string_view name, long& out) {
      if (!argument.starts_with(name)) return false;
      out = std::stol(argument.substr(name.size()));
      return true;
    };
    if (value("-seed=", seed) || value("-runs=", runs) || value("-max_total_time=", max_seconds)) continue;
    read_folder(argument, seeds);
  }
  const auto start = std::chrono::steady_clock::now();
  std::mt19937 random(static_cast<unsigned>(seed));
  long done = 0;
  for (const Bytes& input : seeds) LLVMFuzzerTestOneInput(input.data(), input.size());
  for (; done < runs && std::chrono::steady_clock::now() - start < std::chrono::seconds(max_seconds); ++done) {
    Bytes input = seeds[random() % seeds.size()];
    mutate(input, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%ld inputs made from %zu seeds\n", done, seeds.size());
  return 0;
}
