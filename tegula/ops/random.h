#pragma once
// Random numbers from Philox 4x32-10 (Salmon et al., SC 2011): the word at a position of a seed's stream is the same on every device.
// Integers and uniforms agree bit for bit between devices, normals within 2 ulp.

#include "tegula/graph/variable.h"

namespace tegula {

/// A stream of random words and a position in it. Both are Variables, so a jit-ed function captures them and every call draws anew.
/// A copy continues from the same position on its own.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0, Line where = Line::current());

  /// Another generator that continues from the same position. Unlike a copy it may be made inside a trace.
  Generator fork() const;
  /// Restarts the stream of `seed`.
  void manual_seed(std::uint64_t seed, Line where = Line::current());
  /// Takes `words` 32-bit words: the position of the first, i64, rank 0.
  Tensor draw(std::int64_t words, Line where = Line::current());
  Tensor seed(Line where = Line::current()) const { return seed_.read(where); }

  /// Fields for state_dict and checkpoints.
  Variable& seed_variable() { return seed_; }
  Variable& counter_variable() { return counter_; }

 private:
  struct Empty {};
  explicit Generator(Empty) {}
  Variable seed_, counter_;
};

/// The generator of this thread: seed 0 until manual_seed. Threads with the same seed draw the same numbers.
Generator& default_generator();
/// Seeds the generator of this thread.
void manual_seed(std::uint64_t seed, Line where = Line::current());

struct RandomOptions {
  DType dtype = DType::f32;
  Generator* generator = nullptr;  // null: the default one
};

/// i32 words, all 2^32 values equally likely.
Tensor random_bits(const Shape& shape, Generator* generator = nullptr, Line where = Line::current());
/// Numbers in [low, high), up to rounding: 24 random bits for f32 and the halves, 53 for f64. Throws Error unless both are finite and low <= high.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, const RandomOptions& options = {}, Line where = Line::current());
/// Gaussian, by Box and Muller (1958). Throws Error for a negative deviation.
Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, const RandomOptions& options = {}, Line where = Line::current());
/// Gaussian, restricted to [low, high] (in units of x, not of the deviation), by inversion: at most 5.4 deviations off, in f64 8.2.
Tensor truncated_normal(const Shape& shape, double mean = 0, double deviation = 1, double low = -2, double high = 2,
                        const RandomOptions& options = {}, Line where = Line::current());
/// Uniform in [0, 1) and standard normal, of the shape of x and, if that is a float, in its dtype.
Tensor rand_like(Arg x, Generator* generator = nullptr);
Tensor randn_like(Arg x, Generator* generator = nullptr);
/// Exponential with density rate * exp(-rate * x). Throws Error unless the rate is positive.
Tensor exponential(const Shape& shape, double rate = 1, const RandomOptions& options = {}, Line where = Line::current());
/// i64 in [low, high), high - low at most 2^53.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator* generator = nullptr, Line where = Line::current());
/// true with probability p, a number or a tensor that broadcasts to `shape`. Throws Error where p is not in [0, 1], of a tensor when it is computed.
Tensor bernoulli(Arg p, const Shape& shape, Generator* generator = nullptr);
/// true with the probability in each element of p.
Tensor bernoulli(Arg p, Generator* generator = nullptr);
/// (n) i64: 0 … n-1 in random order.
Tensor permutation(std::int64_t n, Generator* generator = nullptr, Line where = Line::current());
/// x with its slices along axis 0 in random order.
Tensor shuffle(Arg x, Generator* generator = nullptr);

/// May a number be drawn again?
enum class Replacement : std::uint8_t { No, Yes };
/// weights (n) or (rows, n), at least 0, not all of them -> (count) or (rows, count) i64: numbers in [0, n) with probabilities in proportion to
/// the weights of their row; without replacement in the order in which they would be drawn one after the other, each at most once (Efraimidis and
/// Spirakis, 2006). Throws Error when it is computed and a weight is negative, infinite or NaN, or too few are above 0.
Tensor multinomial(Arg weights, std::int64_t count, Replacement replacement = Replacement::No, Generator* generator = nullptr);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> random_cases();

}  // namespace tegula
