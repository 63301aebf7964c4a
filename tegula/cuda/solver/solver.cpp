#include "tegula/cuda/solver/solver.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <type_traits>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/shared_library.h"

namespace tegula::gpu {

Solver::Solver(Context& context) {
  constexpr const char* kName = "linear algebra";
  const Library blas_library(kName, {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
                             "install cuBLAS (it is part of the CUDA toolkit)");
  const Library library(kName, {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"},
                        "install cuSOLVER (it is part of the CUDA toolkit)");
  const auto get = [](const Library& from, auto& function, const char* symbol) {
    function = from.function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
  };
  get(library, set_stream, "cusolverDnSetStream");
  get(blas_library, set_blas_stream, "cublasSetStream_v2");
  get(library, getrf_size, "cusolverDnXgetrf_bufferSize");
  get(library, getrf, "cusolverDnXgetrf");
  get(library, potrf_size, "cusolverDnXpotrf_bufferSize");
  get(library, potrf, "cusolverDnXpotrf");
  get(library, geqrf_size, "cusolverDnXgeqrf_bufferSize");
  get(library, geqrf, "cusolverDnXgeqrf");
  get(library, syevd_size, "cusolverDnXsyevd_bufferSize");
  get(library, syevd, "cusolverDnXsyevd");
  get(library, syev_batched_size, "cusolverDnXsyevBatched_bufferSize");
  get(library, syev_batched, "cusolverDnXsyevBatched");
  get(library, gesvd_size, "cusolverDnXgesvd_bufferSize");
  get(library, gesvd, "cusolverDnXgesvd");
  get(library, sgesvdj_size, "cusolverDnSgesvdj_bufferSize");
  get(library, dgesvdj_size, "cusolverDnDgesvdj_bufferSize");
  get(library, sgesvdj, "cusolverDnSgesvdj");
  get(library, dgesvdj, "cusolverDnDgesvdj");
  get(library, set_tolerance, "cusolverDnXgesvdjSetTolerance");
  get(library, sorgqr_size, "cusolverDnSorgqr_bufferSize");
  get(library, dorgqr_size, "cusolverDnDorgqr_bufferSize");
  get(library, sorgqr, "cusolverDnSorgqr");
  get(library, dorgqr, "cusolverDnDorgqr");
  get(library, spotrf_batched, "cusolverDnSpotrfBatched");
  get(library, dpotrf_batched, "cusolverDnDpotrfBatched");
  get(blas_library, sgetrf_batched, "cublasSgetrfBatched");
  get(blas_library, dgetrf_batched, "cublasDgetrfBatched");
  get(blas_library, sgemm, "cublasSgemm_v2");
  get(blas_library, dgemm, "cublasDgemm_v2");
  get(blas_library, sgeam, "cublasSgeam");
  get(blas_library, dgeam, "cublasDgeam");
  get(blas_library, strsm, "cublasStrsm_v2");
  get(blas_library, dtrsm, "cublasDtrsm_v2");
  get(blas_library, strsm_batched, "cublasStrsmBatched");
  get(blas_library, dtrsm_batched, "cublasDtrsmBatched");
  context.enter();
  const auto create = library.function<decltype(cusolverDnCreate)>("cusolverDnCreate");
  const auto create_params = library.function<decltype(cusolverDnCreateParams)>("cusolverDnCreateParams");
  const auto create_blas = blas_library.function<decltype(cublasCreate_v2)>("cublasCreate_v2");
  const auto create_rotations = library.function<decltype(cusolverDnCreateGesvdjInfo)>("cusolverDnCreateGesvdjInfo");
  const auto set_most_sweeps = library.function<decltype(cusolverDnXgesvdjSetMaxSweeps)>("cusolverDnXgesvdjSetMaxSweeps");
  constexpr int kSweeps = 30;  // twice as many as matrices of any kind take
  if (create(&handle) != CUSOLVER_STATUS_SUCCESS || create_params(&params) != CUSOLVER_STATUS_SUCCESS ||
      create_blas(&blas) != CUBLAS_STATUS_SUCCESS || create_rotations(&rotations) != CUSOLVER_STATUS_SUCCESS ||
      set_most_sweeps(rotations, kSweeps) != CUSOLVER_STATUS_SUCCESS)
    throw Error({.op = kName, .got = "no handle of cuSOLVER or cuBLAS", .expected = "memory for them, and a driver as new as they are"});
}

const Solver* solver(Context& context) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<int, std::unique_ptr<Solver>>;
  const std::scoped_lock lock(*mutex);
  const auto found = all->find(context.index);
  if (found != all->end()) return context.enter(), found->second.get();
  std::unique_ptr<Solver>& one = (*all)[context.index];
  one = made_or_told([&] { return std::make_unique<Solver>(context); }, "the host factors and solves, and plans say so");
  return one.get();
}

bool solves(Context& context, const runtime::MatrixRoutine& d) {
  using runtime::Routine;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (d.routine == Routine::Eigen || std::min({d.batch, d.rows, d.columns}) == 0) return false;
  if (d.routine == Routine::TriangularSolve && d.right == 0) return false;
  if ((d.routine == Routine::LU && d.transposed) || (d.routine == Routine::Cholesky && d.full)) return false;
  if (std::max({d.batch, d.rows, d.columns, d.right}) >= kMost || d.rows * d.columns >= kMost) return false;
  return solver(context) != nullptr;
}

}  // namespace tegula::gpu
