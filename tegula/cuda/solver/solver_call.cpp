// Routines of linear algebra on the GPU. Many small matrices are one call where the libraries have one.

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "tegula/core/divide.h"
#include "tegula/core/error.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_singular.h"
#include "tegula/cuda/solver/plain_solver.cuh.h"
#include "tegula/cuda/solver/solver.h"
#include "tegula/runtime/matrix_buffers.h"

namespace tegula::gpu {
namespace {

using runtime::MatrixRoutine;
using runtime::Routine;

constexpr std::int64_t kTogether = 512;  // rows up to which LU and Cholesky of a batch are one call

template <class Status>
void succeed(Status status, const char* op) {
  if (status != static_cast<Status>(0))
    throw Error({.op = op, .got = "status " + std::to_string(static_cast<int>(status)) + " of cuSOLVER or cuBLAS", .expected = "0"});
}

class RoutineCall final : public runtime::Call {
 public:
  RoutineCall(Context& context, const MatrixRoutine& d)
      : context_(context),
        solver_(*solver(context)),
        d_(d),
        parts_(runtime::buffers_of(d)),
        op_(runtime::name(d.routine)) {
    const auto k = static_cast<std::size_t>(d.least()), batch = static_cast<std::size_t>(d.batch);
    const bool factors = d.routine == Routine::Cholesky || d.routine == Routine::LU;
    at_once_ = d.batch > 1 && (d.routine == Routine::TriangularSolve || d.routine == Routine::SymmetricEigen ||
                               (factors && d.rows == d.columns && d.rows <= kTogether));
    rotates_ = d.routine == Routine::SVD && d.vectors;
    if (d.routine == Routine::LU) pivots_ = take(batch * k * (at_once_ ? sizeof(int) : sizeof(std::int64_t)));
    if (d.routine == Routine::QR) tau_ = take(k * size_of(d.dtype));
    if (d.routine == Routine::QR || d.routine == Routine::SVD || (d.routine == Routine::Cholesky && !at_once_))
      copy_ = take(parts_.bytes[0]);
    if (rotates_) {
      u_ = take(parts_.bytes[1]), v_ = take(parts_.bytes[3]), values_ = take(parts_.bytes[2]);
      gram_ = take(static_cast<std::size_t>(count()) * static_cast<std::size_t>(count()) * size_of(d.dtype));
      refined_.emplace_back(context, singular_values_kernel(d));
      refined_.emplace_back(context, singular_order_kernel(d));
    }
    if (at_once_) pointers_ = take(2 * batch * sizeof(void*));
    info_ = take(batch * sizeof(int));
    ask_for_work();
    work_ = take(work_bytes_);
    host_work_.resize(host_bytes_);
    const std::string text = "#define BATCH " + std::to_string(d.batch) + "LL\n#define ROWS " + std::to_string(d.rows) +
                             "LL\n#define COUNT " + std::to_string(d.least()) + "LL\ntypedef " + (at_once_ ? "int" : "long long") +
                             " Pivot;\n";
    const auto kernel = [&](const char* name, std::size_t length, std::int64_t blocks) {
      return PlainKernel{name, text + "#define LENGTH " + std::to_string(length) + "LL\n" + kSolver, blocks, 128};
    };
    const std::int64_t few = divide_up(d.batch, std::int64_t{128});
    if (at_once_)
      address_.emplace_back(
          context, kernel("matrix_pointers", parts_.bytes[d.routine == Routine::LU || d.routine == Routine::Cholesky ? 1 : 0], few));
    if (at_once_ && d.routine == Routine::TriangularSolve) address_.emplace_back(context, kernel("matrix_pointers", parts_.bytes[2], few));
    if (d.routine == Routine::LU) order_.emplace_back(context, kernel("row_order", 0, d.batch));
  }

  std::size_t scratch_bytes() const override { return scratch_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    // cuSOLVER may wait for the device.
    if (d_.routine != Routine::TriangularSolve) require_no_recording(context_, op_);
    context_.enter();
    succeed(solver_.set_stream(solver_.handle, reinterpret_cast<cudaStream_t>(context_.stream())), op_);
    succeed(solver_.set_blas_stream(solver_.blas, reinterpret_cast<cudaStream_t>(context_.stream())), op_);
    std::vector<void*> all(buffers.begin(), buffers.end());
    std::vector<Ref<Buffer>> unread;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool without = d_.routine == Routine::SVD && !d_.vectors && (i == 1 || i == 3);
      if (all[i] || without) continue;
      all[i] = unread.emplace_back(allocate(context_, parts_.bytes[i] * static_cast<std::size_t>(d_.batch)))->data();
    }
    auto* const scratch = static_cast<std::byte*>(options.scratch);
    if (d_.dtype == f64) queue<double>(all, scratch);
    else queue<float>(all, scratch);
    context_.queued(op_);
  }

  std::string describe() const override {
    return std::string(op_) + " " + std::string(name(d_.dtype)) + " " + (d_.batch == 1 ? "" : std::to_string(d_.batch) + " of ") +
           std::to_string(d_.rows) + "x" + std::to_string(d_.columns) + ", by " +
           (d_.routine == Routine::TriangularSolve || (d_.routine == Routine::LU && at_once_) ? "cuBLAS" : "cuSOLVER");
  }

 private:
  std::size_t take(std::size_t bytes) { return std::exchange(scratch_, scratch_ + align_scratch(bytes)); }
  cudaDataType type() const { return d_.dtype == f64 ? CUDA_R_64F : CUDA_R_32F; }
  cusolverEigMode_t mode() const { return d_.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR; }
  signed char job() const { return !d_.vectors ? 'N' : d_.full ? 'A' : 'S'; }
  int count() const { return static_cast<int>(d_.full ? d_.rows : d_.least()); }

  void ask_for_work() {
    const std::int64_t m = d_.rows, n = d_.columns;
    const cudaDataType t = type();
    const Solver& s = solver_;
    switch (d_.routine) {
      case Routine::LU:
        if (!at_once_) succeed(s.getrf_size(s.handle, s.params, m, n, t, nullptr, m, t, &work_bytes_, &host_bytes_), op_);
        return;
      case Routine::Cholesky:
        if (!at_once_)
          succeed(s.potrf_size(s.handle, s.params, CUBLAS_FILL_MODE_LOWER, n, t, nullptr, n, t, &work_bytes_, &host_bytes_), op_);
        return;
      case Routine::QR: {
        succeed(s.geqrf_size(s.handle, s.params, m, n, t, nullptr, m, t, nullptr, t, &work_bytes_, &host_bytes_), op_);
        const int rows = static_cast<int>(m), k = static_cast<int>(d_.least());
        if (d_.dtype == f64) succeed(s.dorgqr_size(s.handle, rows, count(), k, nullptr, rows, nullptr, &q_elements_), op_);
        else succeed(s.sorgqr_size(s.handle, rows, count(), k, nullptr, rows, nullptr, &q_elements_), op_);
        work_bytes_ = std::max(work_bytes_, static_cast<std::size_t>(q_elements_) * size_of(d_.dtype));
        return;
      }
      case Routine::SymmetricEigen:
        if (at_once_)
          succeed(s.syev_batched_size(s.handle, s.params, mode(), CUBLAS_FILL_MODE_UPPER, n, t, nullptr, n, t, nullptr, t, &work_bytes_,
                                      &host_bytes_, d_.batch),
                  op_);
        else
          succeed(
              s.syevd_size(s.handle, s.params, mode(), CUBLAS_FILL_MODE_UPPER, n, t, nullptr, n, t, nullptr, t, &work_bytes_, &host_bytes_),
              op_);
        return;
      case Routine::SVD:
        succeed(s.gesvd_size(s.handle, s.params, job(), d_.vectors ? 'S' : 'N', m, n, t, nullptr, m, t, nullptr, t, nullptr, m, t, nullptr,
                             n, t, &work_bytes_, &host_bytes_),
                op_);
        if (rotates_) {
          const int rows = static_cast<int>(m), columns = static_cast<int>(n), economic = d_.full ? 0 : 1;
          if (d_.dtype == f64)
            succeed(s.dgesvdj_size(s.handle, mode(), economic, rows, columns, nullptr, rows, nullptr, nullptr, rows, nullptr, columns,
                                   &rotation_elements_, s.rotations),
                    op_);
          else
            succeed(s.sgesvdj_size(s.handle, mode(), economic, rows, columns, nullptr, rows, nullptr, nullptr, rows, nullptr, columns,
                                   &rotation_elements_, s.rotations),
                    op_);
          work_bytes_ = std::max(work_bytes_, static_cast<std::size_t>(rotation_elements_) * size_of(d_.dtype));
        }
        return;
      default: return;
    }
  }

  void copy(void* to, const void* from, std::size_t bytes) const {
    check(cuMemcpyDtoDAsync(device_pointer(to), device_pointer(const_cast<void*>(from)), bytes, context_.stream()), op_);
  }

  /// Transposes a square matrix.
  template <class T>
  void transpose(const T* from, T* to, int n) const {
    const T one = 1, nothing = 0;
    if constexpr (sizeof(T) == 4)
      succeed(solver_.sgeam(solver_.blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, &one, from, n, &nothing, to, n, to, n), op_);
    else succeed(solver_.dgeam(solver_.blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, &one, from, n, &nothing, to, n, to, n), op_);
  }

  /// A limit of one rounding ends early for many equal singular values: 345 roundings off in the mean for 169 of 170 (H200, cuSOLVER 12). At this one
  /// such matrices do not converge, so that QR steps follow, and others take no more sweeps.
  static constexpr double kRotated = 1.0 / 256;

  /// The SVD by Jacobi's rotations, which are faster than QR steps here. False where they do not converge; cuSOLVER waits for the device anyway.
  template <class T>
  bool rotated(T* a, T* values, T* u, T* v, std::byte* scratch, int* state) const {
    const int rows = static_cast<int>(d_.rows), columns = static_cast<int>(d_.columns), economic = d_.full ? 0 : 1;
    T *const turned = reinterpret_cast<T*>(scratch + v_), *const work = reinterpret_cast<T*>(scratch + work_);
    const Solver& s = solver_;
    succeed(s.set_tolerance(s.rotations, kRotated * static_cast<double>(std::numeric_limits<T>::epsilon())), op_);
    if constexpr (sizeof(T) == 4)
      succeed(s.sgesvdj(s.handle, mode(), economic, rows, columns, a, rows, values, u, rows, turned, columns, work, rotation_elements_,
                        state, s.rotations),
              op_);
    else
      succeed(s.dgesvdj(s.handle, mode(), economic, rows, columns, a, rows, values, u, rows, turned, columns, work, rotation_elements_,
                        state, s.rotations),
              op_);
    int end = 0;
    check(cuMemcpyDtoHAsync(&end, device_pointer(state), sizeof end, context_.stream()), op_);
    check(cuStreamSynchronize(context_.stream()), op_);
    if (end != 0) return false;
    transpose(turned, v, columns);
    return true;
  }

  /// Multiplies matrices that lie by columns, in full precision: c = alpha · op(a) · op(b) + beta · c.
  template <class T>
  void multiply(cublasOperation_t turn_a, cublasOperation_t turn_b, int m, int n, int k, T alpha, const T* a, const T* b, T beta,
                T* c) const {
    const int rows_a = turn_a == CUBLAS_OP_N ? m : k, rows_b = turn_b == CUBLAS_OP_N ? k : n;
    if constexpr (sizeof(T) == 4)
      succeed(solver_.sgemm(solver_.blas, turn_a, turn_b, m, n, k, &alpha, a, rows_a, b, rows_b, &beta, c, m), op_);
    else succeed(solver_.dgemm(solver_.blas, turn_a, turn_b, m, n, k, &alpha, a, rows_a, b, rows_b, &beta, c, m), op_);
  }

  /// A step of Newton's and Schulz's to the nearest matrix whose columns have length 1 and right angles.
  template <class T>
  void straighten(const T* from, T* to, int rows, int columns, T* gram) const {
    copy(to, from, static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * sizeof(T));
    multiply<T>(CUBLAS_OP_T, CUBLAS_OP_N, columns, columns, rows, 1, from, from, 0, gram);
    multiply<T>(CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, columns, T(-0.5), from, gram, T(1.5), to);
  }

  /// Mends u, v and the values, which are then those of uᵀ a v. Each rotation changes the lengths of two columns by a rounding: after some thousand of them
  /// values and angles are a few hundred roundings off, whether by Jacobi or by QR steps.
  template <class T>
  void refine(const T* a, T* values, T* u, T* v, std::byte* scratch) const {
    const int rows = static_cast<int>(d_.rows), columns = static_cast<int>(d_.columns);
    T *const left = reinterpret_cast<T*>(scratch + u_), *const right = reinterpret_cast<T*>(scratch + v_);
    T *const product = reinterpret_cast<T*>(scratch + copy_), *const found = reinterpret_cast<T*>(scratch + values_);
    T* const gram = reinterpret_cast<T*>(scratch + gram_);
    straighten(u, left, rows, count(), gram);
    straighten(v, right, columns, columns, gram);
    multiply<T>(CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, columns, 1, a, right, 0, product);
    refined_[0].launch({left, product, found});
    refined_[1].launch({found, left, right, values, u, v});
  }

  template <class T>
  void queue(std::span<void* const> buffers, std::byte* scratch) const {
    const Solver& s = solver_;
    const std::int64_t m = d_.rows, n = d_.columns, k = d_.least(), batch = d_.batch;
    const int rows = static_cast<int>(m), columns = static_cast<int>(n);
    const cudaDataType t = type();
    void *const work = scratch + work_, *const host = host_work_.data();
    auto** const pointers = reinterpret_cast<T**>(scratch + pointers_);
    int* const info = reinterpret_cast<int*>(scratch + info_);
    const auto of = [&](std::size_t buffer, std::int64_t i) {
      return static_cast<std::byte*>(buffers[buffer]) + static_cast<std::size_t>(i) * parts_.bytes[buffer];
    };
    const auto pick = [](auto* single, auto* twice) {
      if constexpr (sizeof(T) == 4) return single;
      else return twice;
    };
    const std::size_t whole = parts_.bytes[0] * static_cast<std::size_t>(batch);
    switch (d_.routine) {
      case Routine::LU: {
        copy(buffers[1], buffers[0], whole);
        void* const pivots = scratch + pivots_;
        if (at_once_) {
          address_[0].launch({buffers[1], pointers});
          succeed(pick(s.sgetrf_batched, s.dgetrf_batched)(s.blas, columns, pointers, columns, static_cast<int*>(pivots), info,
                                                           static_cast<int>(batch)),
                  op_);
        }
        for (std::int64_t i = 0; i < batch && !at_once_; ++i)
          succeed(s.getrf(s.handle, s.params, m, n, t, of(1, i), m, static_cast<std::int64_t*>(pivots) + i * k, t, work, work_bytes_, host,
                          host_bytes_, info),
                  op_);
        order_[0].launch({pivots, buffers[2], buffers[3]});
        return;
      }
      case Routine::Cholesky: {
        int* const states = static_cast<int*>(buffers[2]);
        if (at_once_) {
          copy(buffers[1], buffers[0], whole);
          address_[0].launch({buffers[1], pointers});
          succeed(pick(s.spotrf_batched, s.dpotrf_batched)(s.handle, CUBLAS_FILL_MODE_UPPER, columns, pointers, columns, states,
                                                           static_cast<int>(batch)),
                  op_);
        }
        // By columns the triangle that is read is the upper one, of which cuSOLVER makes the factor in twice the time of the lower one's.
        T* const turned = reinterpret_cast<T*>(scratch + copy_);
        for (std::int64_t i = 0; i < batch && !at_once_; ++i) {
          transpose(reinterpret_cast<const T*>(of(0, i)), turned, columns);
          succeed(s.potrf(s.handle, s.params, CUBLAS_FILL_MODE_LOWER, n, t, turned, n, t, work, work_bytes_, host, host_bytes_, states + i),
                  op_);
          transpose(turned, reinterpret_cast<T*>(of(1, i)), columns);
        }
        return;
      }
      case Routine::TriangularSolve: {
        const int right = static_cast<int>(d_.right);
        const T one = 1;
        copy(buffers[2], buffers[1], parts_.bytes[2] * static_cast<std::size_t>(batch));
        // By columns X and B are transposed, and so is the triangle.
        const cublasFillMode_t side = d_.upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
        const cublasOperation_t turned = d_.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        const cublasDiagType_t diagonal = d_.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
        if (at_once_) {
          T** const to = pointers + batch;
          address_[0].launch({buffers[0], pointers});
          address_[1].launch({buffers[2], to});
          succeed(pick(s.strsm_batched, s.dtrsm_batched)(s.blas, CUBLAS_SIDE_RIGHT, side, turned, diagonal, right, columns, &one, pointers,
                                                         columns, to, right, static_cast<int>(batch)),
                  op_);
        } else {
          succeed(pick(s.strsm, s.dtrsm)(s.blas, CUBLAS_SIDE_RIGHT, side, turned, diagonal, right, columns, &one,
                                         static_cast<const T*>(buffers[0]), columns, static_cast<T*>(buffers[2]), right),
                  op_);
        }
        return;
      }
      case Routine::QR:
        for (std::int64_t i = 0; i < batch; ++i) {
          T *const a = reinterpret_cast<T*>(scratch + copy_), *const tau = reinterpret_cast<T*>(scratch + tau_);
          copy(a, of(0, i), parts_.bytes[0]);
          succeed(s.geqrf(s.handle, s.params, m, n, t, a, m, t, tau, t, work, work_bytes_, host, host_bytes_, info), op_);
          CUDA_MEMCPY2D upper{};
          upper.srcMemoryType = upper.dstMemoryType = CU_MEMORYTYPE_DEVICE;
          upper.srcDevice = device_pointer(a), upper.srcPitch = static_cast<std::size_t>(m) * sizeof(T);
          upper.dstDevice = device_pointer(of(2, i)), upper.dstPitch = static_cast<std::size_t>(count()) * sizeof(T);
          upper.WidthInBytes = upper.dstPitch, upper.Height = static_cast<std::size_t>(n);
          check(cuMemcpy2DAsync(&upper, context_.stream()), op_);
          T* const q = reinterpret_cast<T*>(of(1, i));
          copy(q, a, static_cast<std::size_t>(m * k) * sizeof(T));
          succeed(pick(s.sorgqr, s.dorgqr)(s.handle, rows, count(), static_cast<int>(k), q, rows, tau, static_cast<T*>(work), q_elements_,
                                           info),
                  op_);
        }
        return;
      case Routine::SymmetricEigen: {
        int* const states = static_cast<int*>(buffers[3]);
        copy(buffers[2], buffers[0], whole);
        if (at_once_)
          succeed(s.syev_batched(s.handle, s.params, mode(), CUBLAS_FILL_MODE_UPPER, n, t, buffers[2], n, t, buffers[1], t, work,
                                 work_bytes_, host, host_bytes_, states, batch),
                  op_);
        else
          succeed(s.syevd(s.handle, s.params, mode(), CUBLAS_FILL_MODE_UPPER, n, t, buffers[2], n, t, buffers[1], t, work, work_bytes_,
                          host, host_bytes_, states),
                  op_);
        return;
      }
      case Routine::SVD:
        for (std::int64_t i = 0; i < batch; ++i) {
          void* const a = scratch + copy_;
          void *const u = d_.vectors ? of(1, i) : nullptr, *const v = d_.vectors ? of(3, i) : nullptr;
          int* const state = static_cast<int*>(buffers[4]) + i;
          copy(a, of(0, i), parts_.bytes[0]);
          T* const values = reinterpret_cast<T*>(of(2, i));
          if (!rotates_ || !rotated(static_cast<T*>(a), values, static_cast<T*>(u), static_cast<T*>(v), scratch, state)) {
            if (rotates_) copy(a, of(0, i), parts_.bytes[0]);
            succeed(s.gesvd(s.handle, s.params, job(), d_.vectors ? 'S' : 'N', m, n, t, a, m, t, values, t, u, m, t, v, n, t, work,
                            work_bytes_, host, host_bytes_, state),
                    op_);
          }
          if (rotates_) refine(reinterpret_cast<const T*>(of(0, i)), values, static_cast<T*>(u), static_cast<T*>(v), scratch);
        }
        return;
      default: return;
    }
  }

  Context& context_;
  const Solver& solver_;
  MatrixRoutine d_;
  runtime::MatrixBuffers parts_;
  const char* op_;
  bool at_once_ = false, rotates_ = false;
  std::size_t scratch_ = 0, pivots_ = 0, tau_ = 0, copy_ = 0, u_ = 0, v_ = 0, values_ = 0, gram_ = 0, pointers_ = 0, info_ = 0, work_ = 0,
              work_bytes_ = 0, host_bytes_ = 0;
  int q_elements_ = 0, rotation_elements_ = 0;
  mutable std::vector<std::byte> host_work_;  // calls of a card run one after another
  std::vector<LoadedKernel> address_, order_, refined_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_matrix_routine(Context& context, const MatrixRoutine& d) {
  if (!solves(context, d) || (d.dtype != f32 && d.dtype != f64))
    throw Error({.op = runtime::name(d.routine), .got = "a routine that is not this device's", .expected = "one of its candidates"});
  return std::make_unique<RoutineCall>(context, d);
}

}  // namespace tegula::gpu
