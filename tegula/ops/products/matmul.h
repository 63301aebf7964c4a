#pragma once
// Products of matrices.

#include "tegula/graph/tensor.h"

namespace tegula {

/// PyTorch's matmul. (K)·(K) -> (); (M, K)·(K) -> (M); (K)·(K, N) -> (N); (…, M, K)·(…, K, N) -> (…, M, N) with the leading axes
/// broadcast. Dtypes are promoted; halves are summed in f32, integers in their own dtype. Throws Error when the inner sizes differ, for rank 0 and for booleans.
Tensor matmul(Arg a, Arg b);

/// x (…, in), weight (out, in), bias (out) -> x · weightᵀ + bias (…, out).
Tensor linear(Arg x, Arg weight);
Tensor linear(Arg x, Arg weight, Arg bias);

/// (N)·(N) -> (): Σ a*b.
Tensor dot(Arg a, Arg b);
/// (M), (N) -> (M, N): a[i] * b[j].
Tensor outer(Arg a, Arg b);
/// (M, K)·(K) -> (M).
Tensor mv(Arg a, Arg b);
/// (M, K)·(K, N) -> (M, N), exactly two axes each.
Tensor mm(Arg a, Arg b);
/// (B, M, K)·(B, K, N) -> (B, M, N), exactly three axes each, no broadcast.
Tensor bmm(Arg a, Arg b);

struct AddmmOptions {
  double beta = 1;
  double alpha = 1;
};
/// beta*input + alpha*(a · b), input broadcast to (M, N).
Tensor addmm(Arg input, Arg a, Arg b, const AddmmOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> matmul_cases();

}  // namespace tegula
