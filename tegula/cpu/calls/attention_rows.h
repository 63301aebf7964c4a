#pragma once
// The operations of attention on a row of scores. Rows are contiguous.

#include <cstdint>

namespace tegula::host {

/// The greatest of scale * x[i]; -inf of none.
float greatest(const float* x, std::int64_t count, float scale);
double greatest(const double* x, std::int64_t count, double scale);
/// x[i] = exp(scale * x[i] - shift), where the product is rounded as `greatest` rounds it, so that 0 is the most; their sum.
float exponentials(float* x, std::int64_t count, float scale, float shift);
double exponentials(double* x, std::int64_t count, double scale, double shift);
/// x[i] *= factor.
void multiply(float* x, std::int64_t count, float factor);
void multiply(double* x, std::int64_t count, double factor);
/// dp[i] = p[i] * (dp[i] - mean), 0 where p[i] is, whatever dp[i] holds: the gradient of the scores.
void softmax_gradient(const float* p, float* dp, std::int64_t count, float mean);
void softmax_gradient(const double* p, double* dp, std::int64_t count, double mean);
/// y[i] += factor * x[i].
void add_multiple(float factor, const float* x, float* y, std::int64_t count);
void add_multiple(double factor, const double* x, double* y, std::int64_t count);
bool holds_nan(const float* x, std::int64_t count);
bool holds_nan(const double* x, std::int64_t count);
/// Σ x[i] * y[i].
float inner_product(const float* x, const float* y, std::int64_t count);
double inner_product(const double* x, const double* y, std::int64_t count);

}  // namespace tegula::host
