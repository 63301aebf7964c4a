// Times every kernel and copy of a program on a GPU, also those inside replayed CUDA graphs, by CUPTI: `CUDA_INJECTION64_PATH=libkernel_trace.so PROGRAM`
// (the driver loads the library and calls InitializeInjection). At the end of the program prints a table to stderr: for each name and number of blocks how often, microseconds in
// all and each, of the last TEGULA_TRACE_MS milliseconds (default 100) of work, and how long the card was idle in between; TEGULA_TRACE_FILE=FILE has one line for each, too.

#include <cupti.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Record {
  std::uint64_t begin, end;  // nanoseconds
  std::string name;
  int blocks, threads;
};

std::vector<Record>& records() {
  static auto* all = new std::vector<Record>;  // outlives every destructor of the program
  return *all;
}
std::mutex mutex;

void note(const CUpti_Activity* activity) {
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(activity);
      records().push_back({kernel->start, kernel->end, kernel->name, kernel->gridX * kernel->gridY * kernel->gridZ,
                           kernel->blockX * kernel->blockY * kernel->blockZ});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy5*>(activity);
      records().push_back(
          {copy->start, copy->end, "memcpy " + std::to_string(copy->bytes) + " bytes, kind " + std::to_string(copy->copyKind), 0, 0});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {  // to another GPU
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(activity);
      records().push_back({copy->start, copy->end, "memcpy " + std::to_string(copy->bytes) + " bytes to a peer", 0, 0});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset4*>(activity);
      records().push_back({set->start, set->end, "memset " + std::to_string(set->bytes) + " bytes", 0, 0});
      return;
    }
    default: return;
  }
}

constexpr std::size_t kBufferBytes = 8 << 20;

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = kBufferBytes, *most = 0;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
}

void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(mutex);
  for (CUpti_Activity* activity = nullptr; valid && cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS;) note(activity);
  std::free(buffer);
}

void print_table() {
  cuptiActivityFlushAll(1);
  const std::lock_guard lock(mutex);
  std::vector<Record>& all = records();
  if (all.empty()) return;
  std::sort(all.begin(), all.end(), [](const Record& a, const Record& b) { return a.begin < b.begin; });
  const char* asked = std::getenv("TEGULA_TRACE_MS");
  const auto window = static_cast<std::uint64_t>((asked ? std::atof(asked) : 100) * 1e6);
  const std::uint64_t last = all.back().end, first = last > window ? last - window : 0;
  struct Sum {
    std::uint64_t count = 0, time = 0;
    int blocks = 0, threads = 0;
  };
  std::map<std::string, Sum> sums;
  std::uint64_t busy = 0, reached = 0, begun = 0, count = 0;
  for (const Record& record : all) {
    if (record.begin < first) continue;
    if (!begun) begun = reached = record.begin;
    Sum& sum = sums[record.name + " <" + std::to_string(record.blocks) + ">"];
    ++sum.count, ++count, sum.time += record.end - record.begin, sum.blocks = record.blocks, sum.threads = record.threads;
    busy += record.end > reached ? record.end - std::max(reached, record.begin) : 0;
    reached = std::max(reached, record.end);
  }
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  std::fprintf(stderr, "%llu kernels and copies in %.1f us, of which the card was busy for %.1f us\n%10s %8s %9s %8s %7s  name\n",
               static_cast<unsigned long long>(count), double(reached - begun) / 1e3, double(busy) / 1e3, "us", "times", "us each",
               "blocks", "threads");
  for (const auto& [name, sum] : rows) {
    std::fprintf(stderr, "%10.1f %8llu %9.2f %8d %7d  %s\n", double(sum.time) / 1e3, static_cast<unsigned long long>(sum.count),
                 double(sum.time) / 1e3 / double(sum.count), sum.blocks, sum.threads, name.substr(0, 110).c_str());
  }
  const char* path = std::getenv("TEGULA_TRACE_FILE");
  std::FILE* file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  for (const Record& record : all) {
    if (record.begin >= first) {
      std::fprintf(file, "%.3f %.3f %d %d %s\n", double(record.begin - begun) / 1e3, double(record.end - record.begin) / 1e3, record.blocks,
                   record.threads, record.name.substr(0, 160).c_str());
    }
  }
  std::fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(request, complete);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
    cuptiActivityEnable(kind);
  }
  std::atexit(print_table);
  return 1;
}
