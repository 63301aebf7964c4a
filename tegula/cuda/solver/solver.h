#pragma once
// cuSOLVER and cuBLAS: opened at the first routine of linear algebra, one handle of each per card.

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <memory>
#include <string>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

struct Solver {
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  cublasHandle_t blas = nullptr;
  gesvdjInfo_t rotations = nullptr;

  decltype(&cusolverDnSetStream) set_stream;
  decltype(&cublasSetStream) set_blas_stream;
  decltype(&cusolverDnXgetrf_bufferSize) getrf_size;
  decltype(&cusolverDnXgetrf) getrf;
  decltype(&cusolverDnXpotrf_bufferSize) potrf_size;
  decltype(&cusolverDnXpotrf) potrf;
  decltype(&cusolverDnXgeqrf_bufferSize) geqrf_size;
  decltype(&cusolverDnXgeqrf) geqrf;
  decltype(&cusolverDnXsyevd_bufferSize) syevd_size;
  decltype(&cusolverDnXsyevd) syevd;
  decltype(&cusolverDnXsyevBatched_bufferSize) syev_batched_size;
  decltype(&cusolverDnXsyevBatched) syev_batched;
  decltype(&cusolverDnXgesvd_bufferSize) gesvd_size;
  decltype(&cusolverDnXgesvd) gesvd;
  decltype(&cusolverDnSgesvdj_bufferSize) sgesvdj_size;
  decltype(&cusolverDnDgesvdj_bufferSize) dgesvdj_size;
  decltype(&cusolverDnSgesvdj) sgesvdj;
  decltype(&cusolverDnDgesvdj) dgesvdj;
  decltype(&cusolverDnXgesvdjSetTolerance) set_tolerance;
  decltype(&cusolverDnSorgqr_bufferSize) sorgqr_size;
  decltype(&cusolverDnDorgqr_bufferSize) dorgqr_size;
  decltype(&cusolverDnSorgqr) sorgqr;
  decltype(&cusolverDnDorgqr) dorgqr;
  decltype(&cusolverDnSpotrfBatched) spotrf_batched;
  decltype(&cusolverDnDpotrfBatched) dpotrf_batched;
  decltype(&cublasSgetrfBatched) sgetrf_batched;
  decltype(&cublasDgetrfBatched) dgetrf_batched;
  decltype(&cublasSgemm) sgemm;
  decltype(&cublasDgemm) dgemm;
  decltype(&cublasSgeam) sgeam;
  decltype(&cublasDgeam) dgeam;
  decltype(&cublasStrsm) strsm;
  decltype(&cublasDtrsm) dtrsm;
  decltype(&cublasStrsmBatched) strsm_batched;
  decltype(&cublasDtrsmBatched) dtrsm_batched;

  explicit Solver(Context& context);
};

/// The one of this card; null where a library is missing. Makes the context current.
const Solver* solver(Context& context);

/// True if cuSOLVER or cuBLAS computes it here. General eigenvalues and empty matrices are the host's.
bool solves(Context& context, const runtime::MatrixRoutine& description);
std::unique_ptr<runtime::Call> make_matrix_routine(Context& context, const runtime::MatrixRoutine& description);

}  // namespace tegula::gpu
