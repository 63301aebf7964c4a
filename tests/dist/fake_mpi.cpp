// A libtegula_mpi.so in which another rank, 1 of 2, has sent its data and then stopped: the notice comes at once, the data after TEGULA_FAKE_MPI_TURNS
// questions for them. With a negative number they never come.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "tegula/dist/transport/mpi/functions.h"

namespace {

constexpr std::string_view kSentence = "rank 1: enough";

struct Request {
  void* bytes = nullptr;
  std::size_t count = 0;
  int channel = 0;
  long asked = 0;
};

bool heard = false;
std::unordered_map<void*, std::unique_ptr<Request>> requests;  // what does not end goes with the run

void* request(void* bytes, std::size_t count, int channel) {
  auto made = std::make_unique<Request>(Request{bytes, count, channel, 0});
  Request* const handle = made.get();
  return requests.emplace(handle, std::move(made)), handle;
}

long turns() {
  const char* const text = std::getenv("TEGULA_FAKE_MPI_TURNS");
  return text ? std::atol(text) : 0;
}

bool is_done(void* handle) {
  Request& one = *static_cast<Request*>(handle);
  if (one.bytes && one.channel == 0 && (turns() < 0 || ++one.asked <= turns())) return false;
  if (one.bytes && one.channel == 0) std::memset(one.bytes, 7, one.count);
  if (one.bytes && one.channel == 1) std::memcpy(one.bytes, kSentence.data(), one.count);
  requests.erase(handle);
  return true;
}

bool waits(int channel, int* from, std::size_t* count) {
  if (channel != 1 || heard) return false;
  return heard = true, *from = 1, *count = kSentence.size(), true;
}

const tegula::dist::MpiFunctions kFunctions{
    .version = tegula::dist::kMpiInterface,
    .start = [](int* rank, int* size) -> const char* { return *rank = 0, *size = 2, heard = false, nullptr; },
    .send = [](int, const void*, std::size_t, int channel) -> void* { return request(nullptr, 0, channel); },
    .receive = [](int, void* bytes, std::size_t count, int channel) -> void* { return request(bytes, count, channel); },
    .is_done = is_done,
    .waits = waits,
    .finish = [] { requests.clear(); }};

}  // namespace

extern "C" const tegula::dist::MpiFunctions* tegula_mpi_functions() { return &kFunctions; }
