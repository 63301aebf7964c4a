#include "tegula/cuda/nccl/communicator.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "tegula/cuda/nccl/nccl_library.h"

namespace tegula::gpu {
namespace {

using runtime::Collective;
using runtime::CollectiveKind;
using runtime::Reduction;

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Reduce;
}

/// NCCL's type for a reduction. Nothing if NCCL lacks it: 16-bit integers, and the maximum of floats, which would lose a NaN.
std::optional<Nccl::Type> type_of(DType dtype, Reduction reduction) {
  if (reduction == Reduction::Max && is_float(dtype)) return {};
  switch (dtype) {
    case DType::f64: return Nccl::Float64;
    case DType::f32: return Nccl::Float32;
    case DType::f16: return Nccl::Float16;
    case DType::bf16: return Nccl::BFloat16;
    case DType::i64: return Nccl::Int64;
    case DType::i32: return Nccl::Int32;
    case DType::u64: return Nccl::Uint64;
    case DType::u32: return Nccl::Uint32;
    case DType::u16:
    case DType::i16:
    case DType::e4m3:
    case DType::e5m2: return {};
    case DType::i8: return Nccl::Int8;
    case DType::u8:
    case DType::boolean: return Nccl::Uint8;
  }
  return {};
}

Nccl::Operation operation_of(Reduction reduction) {
  return reduction == Reduction::Max ? Nccl::Max : reduction == Reduction::Mean ? Nccl::Average : Nccl::Sum;
}

/// The state shared by the communicator and its calls.
struct Joined {
  const Nccl& nccl = Nccl::get();
  NcclQueue queue;
  Nccl::Comm comm = nullptr;
  int rank = 0, size = 1;
  std::atomic<bool> aborted{false}, gone{false};
  std::timed_mutex calling;
};

class NcclCall final : public runtime::Call {
 public:
  NcclCall(std::shared_ptr<Joined> joined, Collective what) : joined_(std::move(joined)), what_(std::move(what)) {}

  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    Joined& j = *joined_;
    j.queue.enter();
    const std::lock_guard lock(j.calling);
    if (j.aborted) return;  // the thread that aborted has told the device, whose next synchronize() reports it
    j.nccl.check(queue(buffers.front(), buffers.back()), "an exchange");
    j.queue.queued();
  }

  std::string describe() const override { return "NCCL among " + std::to_string(joined_->size); }

 private:
  // Data that is moved, not reduced, is sent as bytes.
  Nccl::Result queue(const void* in, void* out) const {
    const Joined& j = *joined_;
    const Nccl& nccl = j.nccl;
    Nccl::Stream const stream = stream_of(j);
    const auto count = static_cast<std::size_t>(numel(what_.shape));
    const std::size_t bytes = count * size_of(what_.dtype);
    if (what_.kind == CollectiveKind::Barrier) {
      void* const word = j.queue.word->data();
      return nccl.all_reduce(word, word, 1, Nccl::Uint8, Nccl::Max, j.comm, stream);
    }
    if (bytes == 0) return Nccl::kSuccess;
    const int type = reduces(what_.kind) ? *type_of(what_.dtype, what_.reduction) : Nccl::Uint8;
    const int operation = operation_of(what_.reduction);
    switch (what_.kind) {
      case CollectiveKind::AllReduce: return nccl.all_reduce(in, out, count, type, operation, j.comm, stream);
      case CollectiveKind::ReduceScatter:
        return nccl.reduce_scatter(in, out, count / static_cast<std::size_t>(j.size), type, operation, j.comm, stream);
      case CollectiveKind::AllGather: return nccl.all_gather(in, out, bytes, type, j.comm, stream);
      case CollectiveKind::Broadcast: return nccl.broadcast(in, out, bytes, type, what_.root, j.comm, stream);
      case CollectiveKind::Reduce: {
        const Nccl::Result result = nccl.reduce(in, out, count, type, operation, what_.root, j.comm, stream);
        if (result == Nccl::kSuccess && j.rank != what_.root) j.queue.zero(out, bytes);
        return result;
      }
      case CollectiveKind::AllToAll: return all_to_all(static_cast<const std::byte*>(in), static_cast<std::byte*>(out), bytes);
      case CollectiveKind::Send: return nccl.send(in, bytes, type, what_.root, j.comm, stream);
      case CollectiveKind::Receive: return nccl.receive(out, bytes, type, what_.root, j.comm, stream);
      case CollectiveKind::Barrier: break;
    }
    return Nccl::kSuccess;
  }

  static Nccl::Stream stream_of(const Joined& j) { return j.queue.stream ? static_cast<Nccl::Stream>(j.queue.stream()) : nullptr; }

  // One after another they would wait for each other.
  Nccl::Result all_to_all(const std::byte* in, std::byte* out, std::size_t bytes) const {
    const Joined& j = *joined_;
    const std::size_t part = bytes / static_cast<std::size_t>(j.size);
    Nccl::Stream const stream = stream_of(j);
    Nccl::Result worst = j.nccl.group_start();
    for (int r = 0; r < j.size && worst == Nccl::kSuccess; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * part;
      worst = j.nccl.send(in + at, part, Nccl::Uint8, r, j.comm, stream);
      if (worst == Nccl::kSuccess) worst = j.nccl.receive(out + at, part, Nccl::Uint8, r, j.comm, stream);
    }
    const Nccl::Result ended = j.nccl.group_end();
    return worst == Nccl::kSuccess ? ended : worst;
  }

  std::shared_ptr<Joined> joined_;
  Collective what_;
};

class NcclCommunicator final : public runtime::Communicator {
 public:
  explicit NcclCommunicator(std::shared_ptr<Joined> joined) : joined_(std::move(joined)) {}
  /// The owner has waited for its calls. An abort, which waits for no other rank, frees NCCL's resources.
  ~NcclCommunicator() override {
    if (joined_->aborted || !joined_->queue.enter()) return;
    abort();
    for (int left = 2000; left > 0 && !joined_->gone; --left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  bool has(const Collective& what) const override { return !reduces(what.kind) || type_of(what.dtype, what.reduction); }
  std::unique_ptr<runtime::Call> call(const Collective& what) override { return std::make_unique<NcclCall>(joined_, what); }

  std::string failure() const override {
    if (joined_->aborted) return "";
    Nccl::Result result = Nccl::kSuccess;
    const Nccl::Result asked = joined_->nccl.async_error(joined_->comm, &result);
    if (asked != Nccl::kSuccess) result = asked;
    if (result == Nccl::kSuccess || result == Nccl::kInProgress) return "";
    const char* const more = joined_->nccl.last_error(joined_->comm);
    return std::string("NCCL: ") + joined_->nccl.error_text(result) + (more && *more ? " (" + std::string(more) + ")" : "");
  }

  // NCCL's abort stops its kernels at once, and then waits until recordings that have them are gone: it therefore gets a thread of its own, detached.
  void abort() noexcept override {
    if (joined_->aborted.exchange(true)) return;
    try {
      std::thread([joined = joined_] {
        // Beside a call that another thread is in; but one that waits for a rank that has gone is ended by it.
        const std::unique_lock lock(joined->calling, std::chrono::seconds(1));
        if (joined->queue.enter()) joined->nccl.abort(joined->comm);
        joined->gone = true;
      }).detach();
    } catch (...) {  // no thread to be had: the process is about to end anyway
    }
  }

 private:
  std::shared_ptr<Joined> joined_;
};

}  // namespace

std::string nccl_name() { return "NCCL " + Nccl::get().version; }

runtime::Communicates::Id draw_nccl_id() {
  Nccl::UniqueId drawn{};
  Nccl::get().check(Nccl::get().draw(&drawn), "an id");
  runtime::Communicates::Id id;
  static_assert(sizeof id == sizeof drawn);
  std::memcpy(id.data(), drawn.internal, sizeof drawn);
  return id;
}

std::unique_ptr<runtime::Communicator> join_nccl(NcclQueue queue, const runtime::Communicates::Id& id, int rank, int size) {
  auto joined = std::make_shared<Joined>();
  joined->queue = std::move(queue);
  joined->rank = rank;
  joined->size = size;
  joined->queue.enter();
  Nccl::UniqueId drawn{};
  std::memcpy(drawn.internal, id.data(), sizeof drawn);
  joined->nccl.check(joined->nccl.join(&joined->comm, size, drawn, rank), "a communicator");
  return std::make_unique<NcclCommunicator>(std::move(joined));
}

}  // namespace tegula::gpu
