// regenerate FOLDER [TEXTS]: generates the kernel of each request in FOLDER's *.jsonl files and prints a line for each distinct kernel: its name, which
// is a hash of its text without comments, its threads, blocks, bytes of shared memory, and whether it waits for the launch ahead by itself. Equal output before and after
// a change of the generator: the change changes no kernel. With TEXTS each text is left in a file of that folder. The processor time goes to stderr.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tests/simt/kernel_request.h"

namespace {

using namespace tegula;
using namespace tegula::gpu;
namespace fs = std::filesystem;

std::set<std::string> lines_of(const fs::path& folder) {
  std::set<std::string> lines;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) lines.insert(line);
  }
  return lines;
}

std::string summary(const Generated& kernel) {
  return kernel.name + " " + std::to_string(kernel.threads) + " " + std::to_string(kernel.cluster) + " " +
         std::to_string(kernel.shared_bytes) + (kernel.early ? " early" : "");
}

int regenerate(const fs::path& folder, const fs::path& texts) {
  std::vector<KernelRequest> requests;
  for (const std::string& line : lines_of(folder)) requests.push_back(request_of(line));
  if (requests.empty()) return std::fprintf(stderr, "no requests in %s\n", folder.c_str()), 2;
  std::set<std::string> summaries;
  double seconds = 0;
  for (const KernelRequest& request : requests) {
    const std::clock_t begin = std::clock();
    std::string told;
    try {
      const Generated kernel = generate(request.program, request.specialisation, request.architecture);
      told = summary(kernel);
      if (!texts.empty()) std::ofstream(texts / (kernel.name + ".cu")) << kernel.source;
    } catch (const Error& error) { told = "refused: " + request.program.name + ": " + error.report().got; }
    seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    summaries.insert(told);
  }
  for (const std::string& told : summaries) std::cout << told << "\n";
  std::fprintf(stderr, "%zu requests, %zu distinct kernels, %.2f s\n", requests.size(), summaries.size(), seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: regenerate FOLDER [TEXTS]\n"), 2;
  try {
    if (argc > 2) fs::create_directories(argv[2]);
    return regenerate(argv[1], argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) { return std::fprintf(stderr, "%s\n", error.what()), 2; }
}
