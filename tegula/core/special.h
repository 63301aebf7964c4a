#pragma once
// Functions of f64 that the C library lacks, or has with a fault.

namespace tegula::special {

/// The inverse of erf: infinite at -1 and 1, NaN beyond.
double erfinv(double y);
/// The derivative of log gamma: NaN at negative integers.
double digamma(double x);
/// Right for both signs: neither overflows nor loses the digits of a small result.
double sigmoid(double x);
/// lgamma without the global sign, which threads would share.
double log_gamma(double x);

}  // namespace tegula::special
