#include "tegula/cuda/driver/device.h"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/cuda/driver/candidates.h"
#include "tegula/cuda/driver/findings.h"
#include "tegula/cuda/driver/host_turn.h"
#include "tegula/cuda/driver/joining.h"
#include "tegula/cuda/driver/kernel.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/ordered_call.h"
#include "tegula/cuda/driver/peers.h"
#include "tegula/cuda/driver/progress.h"
#include "tegula/cuda/driver/properties.h"
#include "tegula/cuda/driver/queue.h"
#include "tegula/cuda/driver/raw_kernel.h"
#include "tegula/cuda/driver/recording.h"
#include "tegula/cuda/driver/time_marks.h"
#include "tegula/cuda/fourier/fourier.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/nccl/communicator.h"
#include "tegula/cuda/solver/solver.h"
#include "tegula/runtime/device.h"
#include "tegula/simt/costs.h"
#include "tegula/simt/decide/layout.h"

namespace tegula::gpu {
namespace {

constexpr int kOldestArchitecture = 75;
/// Any driver of the toolkit's major version runs its output.
constexpr int kOldestDriver = CUDA_VERSION / 1000 * 1000;

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(cuDeviceGetAttribute(&value, which, device), "cuda");
  return value;
}

int architecture_of(CUdevice device) {
  return 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::string name_of(CUdevice device) {
  char name[256] = {};
  check(cuDeviceGetName(name, sizeof name, device), "cuda");
  return name;
}

[[noreturn]] void no_device() {
  throw Error({.op = "cuda",
               .got = "no NVIDIA GPU",
               .expected = "at least one that the driver sees",
               .advice = "nvidia-smi lists what the driver sees; CUDA_VISIBLE_DEVICES hides devices from programs"});
}

std::vector<CUdevice> usable_devices() {
  int driver = 0;
  check(cuDriverGetVersion(&driver), "cuda");
  if (driver < kOldestDriver) {
    throw Error({.op = "cuda",
                 .got = "an NVIDIA driver for CUDA " + version_text(driver),
                 .expected = "CUDA " + version_text(kOldestDriver) + " or newer, for which this library was built",
                 .advice = "update the driver"});
  }
  const CUresult started = cuInit(0);
  if (started == CUDA_ERROR_NO_DEVICE) no_device();
  check(started, "cuda");
  int count = 0;
  check(cuDeviceGetCount(&count), "cuda");
  if (count == 0) no_device();
  std::vector<CUdevice> usable;
  std::string too_old;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    check(cuDeviceGet(&device, i), "cuda");
    const int architecture = architecture_of(device);
    if (architecture >= kOldestArchitecture) {
      usable.push_back(device);
    } else {
      too_old += (too_old.empty() ? "" : ", ") + name_of(device) + " (sm_" + std::to_string(architecture) + ")";
    }
  }
  if (!usable.empty()) return usable;
  throw Error(
      {.op = "cuda", .got = too_old, .expected = "a GPU of architecture sm_" + std::to_string(kOldestArchitecture) + " (Turing) or newer"});
}

class CudaQueues final : public runtime::DeviceQueues {
 public:
  CudaQueues(runtime::Device& device, Context& context) : context_(context), all_(device, context) {}
  runtime::Queue& of(runtime::Use use) override { return all_[use]; }
  void synchronize() override { context_.synchronize_all(context_.device_name()); }
  bool copy_from(void* to, runtime::Device& other, const void* from, std::size_t bytes) override {
    const auto* const peer = dynamic_cast<const CudaQueues*>(&other.queues());
    return peer && copy_from_peer(context_, to, peer->context_, from, bytes);
  }
  std::unique_ptr<runtime::TimeMark> time_mark() override { return make_time_mark(context_); }

 private:
  Context& context_;
  runtime::QueuesOf<CudaQueue> all_;
};

class CudaCompiler final : public runtime::ProgramCompiler {
 public:
  explicit CudaCompiler(Context& context) : context_(context), code_(context) {}
  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override {
    return std::make_unique<Kernel>(context_, code_, program);
  }
  void request(std::span<const runtime::PlannedLaunch> launches) override { gpu::request(code_, launches); }
  void prepare(std::span<const runtime::PlannedLaunch> launches) override { gpu::prepare(code_, launches); }
  const CodeCache& code() const { return code_; }

 private:
  Context& context_;
  CodeCache code_;
};

class CudaDevice final : public runtime::Device, public runtime::Communicates {
 public:
  CudaDevice(CUdevice device, int index) : pool_(context_), staging_(context_), compiler_(context_) {
    context_.device = device;
    context_.index = index;
    context_.card.architecture = architecture_of(device);
    context_.card.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    context_.shared_bytes = static_cast<std::size_t>(attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    check(cuDeviceTotalMem(&context_.memory_bytes, device), "cuda");
    context_.name = name_of(device);
    context_.pool = &pool_;
    context_.staging = &staging_;
    facts_ = {.name = context_.device_name(),
              .number = 1 + index,
              .traits = {.queues = true,
                         .numbers_in_memory = true,
                         .launches_are_dear = true,
                         .many_instances = true,
                         .layouts = {.alignment = 16, .worst_distance = 0, .reads_pixels_apart = true, .weights_channels_last = true}},
              .tiles = tiles_for(context_.card),
              .costs = gpu::costs()};
    check(cuDevicePrimaryCtxRetain(&context_.context, device), "opening " + name());
    context_.enter();
    context_.stream_of(runtime::Use::Compute);
  }

  runtime::DeviceMemory& pool() override { return pool_; }
  runtime::DeviceQueues& queues() override { return queues_; }
  runtime::ProgramCompiler& compiler() override { return compiler_; }

  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& description) const override {
    const std::scoped_lock lock(context_.order);
    return gpu::candidates(context_, description);
  }
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription& description) override {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    return std::visit(
        [&](auto d) -> std::unique_ptr<runtime::Call> {
          if constexpr (requires { d.arithmetic = runtime::Arithmetic::Full; })
            if (!has_tf32(context_.card)) d.arithmetic = runtime::Arithmetic::Full;
          return std::make_unique<OrderedCall>(context_, made(d));
        },
        description);
  }

  runtime::Communicates* communicates() override { return this; }
  std::string identity() override { return identity_of(context_.device); }
  std::string engine() override { return nccl_name(); }
  Id draw_id() override {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    return draw_nccl_id();
  }
  std::unique_ptr<runtime::Communicator> join(const Id& id, int rank, int size) override {
    return make_communicator(context_, progress_, id, rank, size);
  }
  bool ahead_of_replays(std::function<void()> first) override {
    Capture* const capture = Capture::current(context_);
    if (capture) capture->ahead_of_replays(std::move(first));
    return capture != nullptr;
  }
  double stalled() override { return progress_.stalled(); }
  void confirm_by(std::function<void()> confirm) override { context_.confirm_by(std::move(confirm)); }
  void fail(std::exception_ptr failure) noexcept override { context_.host_failed(std::move(failure)); }

  runtime::DeviceProperties properties() override { return find_properties(context_); }
  runtime::DeviceFindings& findings() { return findings_; }

 private:
  using Made = std::unique_ptr<runtime::Call>;
  using Later = OrderedCall::Make;  // when it is first looked at, when all calls of a plan have been asked for
  Later made(const runtime::Matmul& d) {
    if (!d.multiplies_codes()) request_matmul(context_, d);
    return [this, d] { return make_matmul(context_, d); };
  }
  Later made(const runtime::Convolution& d) {
    return [this, d, own = request_convolution(context_, d)] { return make_convolution(context_, d, own); };
  }
  Made made(const runtime::Pooling& d) { return make_pooling(context_, d); }
  Made made(const runtime::Attention& d) { return make_attention(context_, d); }
  Made made(const runtime::ScatterSum& d) { return make_scatter_sum(context_, d); }
  Made made(const runtime::HostTurn& d) { return make_host_turn(context_, d); }
  Made made(const runtime::CudaKernel& d) { return make_raw_kernel(context_, d); }
  Made made(const runtime::Packing& d) { runtime::throw_no_call(*this, d); }
  Made made(const runtime::MatrixRoutine& d) { return make_matrix_routine(context_, d); }
  Made made(const runtime::Fourier& d) { return make_fourier(context_, d); }
  Made made(const runtime::GroupedSum& d) { runtime::throw_no_call(*this, d); }
  Made made(const std::monostate&) { runtime::throw_no_call(*this, {}); }

  mutable Context context_;  // asking a library opens it
  Pool pool_;
  Staging staging_;
  CudaCompiler compiler_;
  CudaFindings findings_{context_, compiler_.code()};
  CudaQueues queues_{*this, context_};
  Progress progress_{context_};
};

}  // namespace

int count_devices() { return static_cast<int>(usable_devices().size()); }

namespace {

struct Devices {
  std::mutex mutex;
  std::map<int, CudaDevice*> all;
};
/// The devices, never destroyed: tensors may be released by static objects after main.
Devices& devices() {
  static auto* instance = new Devices;
  return *instance;
}

}  // namespace

runtime::DeviceFindings& findings_of_device(int index) {
  const std::scoped_lock lock(devices().mutex);
  return devices().all.at(index)->findings();
}

runtime::Device& open_device(int index) {
  const std::scoped_lock lock(devices().mutex);
  auto& all = devices().all;
  if (const auto found = all.find(index); found != all.end()) return *found->second;
  // A context takes longer to make than the compiler to open; where nothing is kept it will be needed.
  std::future<void> compiler;
  if (!anything_compiled()) compiler = std::async(std::launch::async, warm_up_compiler);
  const std::vector<CUdevice> usable = usable_devices();
  if (index < 0 || index >= static_cast<int>(usable.size())) {
    throw Error({.op = "cuda",
                 .got = "device " + std::to_string(index),
                 .expected = "a number below " + std::to_string(usable.size()) + ", the usable GPUs of this machine"});
  }
  auto device = std::make_unique<CudaDevice>(usable[static_cast<std::size_t>(index)], index);
  return *all.emplace(index, device.release()).first->second;
}

}  // namespace tegula::gpu
