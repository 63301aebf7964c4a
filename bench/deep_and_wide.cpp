// The time to build, differentiate, compile, run and free a graph as the graph grows. Each case doubles its size from the first to the last;
// a linear time doubles too. bench_deep_and_wide [case [first last]]; without arguments all cases up to the sizes of docs/benchmarks_cpu.md.

#include <cmath>
#include <cstdint>
#include <ctime>
#include <string>

#include "bench/measure.h"
#include "bench/support/written_out_lstm.h"
#include "tegula/graph/evaluate.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

struct Times {
  double build = 0, differentiate = 0, run = 0, free = 0;
};

/// The processor's time: other processes do not count. Set OMP_NUM_THREADS=1.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Seconds since the last call of this.
double lap() {
  static double last = 0;
  const double now = seconds();
  return now - std::exchange(last, now);
}

void compute(const std::vector<Tensor>& values) {
  std::vector<Ref<Node>> nodes;
  for (const Tensor& value : values) nodes.push_back(value.node());
  evaluate(nodes, Line::current());
}

/// Builds values, looks at all of them, frees them.
template <class Build>
Times looked_at(Build build) {
  Times times;
  lap();
  std::vector<Tensor> values = build();
  times.build = lap();
  compute(values);
  times.run = lap();
  values.clear();
  times.free = lap();
  return times;
}

/// The same with the gradient of the sum of `y(x)` by x, which is evaluated.
template <class Function>
Times differentiated(const Shape& shape, Function y) {
  Times times;
  Tensor x = normal(shape) * 0.1;
  eval(x);
  lap();
  Tensor loss = y(x);
  times.build = lap();
  Tensor g = grad(loss, std::vector<Wrt>{x})[0];
  loss = {};
  times.differentiate = lap();
  eval(g);
  times.run = lap();
  g = {};
  times.free = lap();
  return times;
}

/// The first call of a jit-ed function traces, compiles and runs.
template <class Function>
Times called(Function function) {
  Times times;
  lap();
  {
    auto f = jit(function);
    Tensor x = normal({16, 16}) * 0.1;
    eval(x);
    lap();
    eval(f(x));
    times.run = lap();
  }
  times.free = lap();
  return times;
}

Times chain(int n) {
  return looked_at([n] {
    Tensor y = ones({4});
    for (int i = 0; i < n; ++i) y = y * 0.5f + 1.0f;
    return std::vector{y};
  });
}

Times chain_in_jit(int n) {
  return called([n](Tensor y) {
    for (int i = 0; i < n; ++i) y = y * 0.5f + 1.0f;
    return y;
  });
}

Times chain_gradient(int n) {
  return differentiated({4}, [n](Tensor y) {
    for (int i = 0; i < n; ++i) y = sin(y);
    return sum(y);
  });
}

Times products(int n) {
  Tensor w = normal({16, 16}) * 0.2;
  eval(w);
  return differentiated({16, 16}, [&](Tensor y) {
    for (int i = 0; i < n; ++i) y = matmul(y, w);
    return sum(y);
  });
}

Times views(int n) {
  return looked_at([n] {
    Tensor y = arange(0.f, 24.f);
    for (int i = 0; i < n; ++i) y = i % 2 == 0 ? reshape(y, {4, 6}) : flip(reshape(y, {24}), 0);
    return std::vector{y + 1.0f};
  });
}

std::vector<Tensor> pieces(int n) {
  std::vector<Tensor> out;
  for (int i = 0; i < n; ++i) out.push_back(full({4}, static_cast<float>(i)));
  return out;
}

Times joined(int n) {
  return looked_at([n] { return std::vector{concat(pieces(n), 0)}; });
}

Times stacked(int n) {
  return differentiated({4}, [n](Tensor x) {
    std::vector<Tensor> all;
    for (int i = 0; i < n; ++i) all.push_back(x * static_cast<float>(i));
    return sum(square(stack(all, 0)));
  });
}

Times outputs(int n) {
  return looked_at([n] {
    Tensor x = ones({4});
    std::vector<Tensor> all;
    for (int i = 0; i < n; ++i) all.push_back(x * static_cast<float>(i) + 1.0f);
    return all;
  });
}

Times steps(int n) {
  Times times;
  Variable w(normal({8, 8}));
  Tensor x = normal({4, 8});
  optim::SGD sgd(Parameters{{"w", w.cell()}}, {.lr = 1e-3});
  eval(x, w.read());
  lap();
  for (int i = 0; i < n; ++i) sgd.step(grad(mean(square(matmul(x, w.read()))), std::vector<Wrt>{w}));
  times.build = lap();
  eval(w.read());
  times.run = lap();
  return times;
}

Times slices(int n) {
  return differentiated({4, n, 16}, [n](Tensor x) {
    Tensor h = zeros({4, 16});
    for (int t = 0; t < n; ++t) h = tanh(h + select(x, 1, t));
    return sum(h);
  });
}

/// An LSTM of one layer, unrolled by hand, with its gradient.
Times lstm(int n) {
  const std::int64_t batch = 4, hidden = 16;
  const bench::WrittenOutLstm net{hidden};
  Tensor x = normal({batch, n, hidden});
  eval(x, net.in.read(), net.recurrent.read(), net.bias.read());
  Times times;
  lap();
  auto f = jit([&](Tensor x) { return net.gradients(x); });
  std::vector<Tensor> results = f(x);
  compute(results);
  times.run = lap();
  return times;
}

/// Blocks of attention and two layers, with their gradient.
Times gpt(int n) {
  const std::int64_t tokens = 8, heads = 2, width = 16;
  struct Block {
    Variable q = normal({width, 3 * width}) * 0.1, out = normal({width, width}) * 0.1, up = normal({width, 4 * width}) * 0.1,
             down = normal({4 * width, width}) * 0.1, gain = ones({width}), shift = zeros({width});
  };
  std::vector<Block> blocks(static_cast<std::size_t>(n));
  std::vector<Wrt> all;
  std::vector<Tensor> values;
  for (const Block& b : blocks) {
    for (const Variable* v : {&b.q, &b.out, &b.up, &b.down, &b.gain, &b.shift}) {
      all.emplace_back(*v);
      values.push_back(v->read());
    }
  }
  Tensor x = normal({tokens, width});
  compute(values);
  Times times;
  lap();
  auto f = jit([&](Tensor x) {
    const auto split_heads = [&](Tensor t) { return transpose(reshape(t, {tokens, heads, width / heads}), 0, 1); };
    for (const Block& b : blocks) {
      const auto normalised = [&](Tensor t) {
        const Tensor centred = t - mean(t, -1, Keep::Yes);
        return centred * rsqrt(mean(square(centred), -1, Keep::Yes) + 1e-5f) * b.gain.read() + b.shift.read();
      };
      const auto qkv = chunk(matmul(normalised(x), b.q.read()), 3, 1);
      const Tensor scores = matmul(split_heads(qkv[0]), transpose(split_heads(qkv[1]), 1, 2));
      const Tensor mixed = matmul(softmax(scores, -1), split_heads(qkv[2]));
      x = x + matmul(reshape(transpose(mixed, 0, 1), {tokens, width}), b.out.read());
      x = x + matmul(gelu(matmul(normalised(x), b.up.read())), b.down.read());
    }
    std::vector<Wrt> wrt;
    for (const Block& b : blocks) {
      for (const Variable* v : {&b.q, &b.out, &b.up, &b.down, &b.gain, &b.shift}) wrt.emplace_back(*v);
    }
    return grad(mean(square(x)), wrt);
  });
  std::vector<Tensor> results = f(x);
  compute(results);
  times.run = lap();
  return times;
}

struct Case {
  const char* name;
  Times (*run)(int);
  int first, last;
};
constexpr Case kCases[] = {
    {"chain", chain, 62'500, 1'000'000},
    {"chain_in_jit", chain_in_jit, 62'500, 500'000},
    {"chain_gradient", chain_gradient, 12'500, 50'000},
    {"products", products, 2'500, 20'000},
    {"views", views, 2'500, 20'000},
    {"joined", joined, 2'500, 20'000},
    {"stacked", stacked, 2'500, 20'000},
    {"outputs", outputs, 2'500, 20'000},
    {"steps", steps, 1'250, 10'000},
    {"slices", slices, 512, 4'096},
    {"lstm", lstm, 128, 1'024},
    {"gpt", gpt, 24, 192},
};

}  // namespace

int main(int argc, char** argv) {
  lap();
  if (std::getenv("TEGULA_BENCH_DEVICE")) bench::choose_device();
  std::printf("%-16s %9s %9s %9s %9s %9s %7s\n", "case", "n", "build", "grad", "run", "free", "slope");
  for (const Case& c : kCases) {
    if (argc > 1 && std::string(argv[1]) != c.name) continue;
    const int first = argc > 2 ? std::atoi(argv[2]) : c.first, last = argc > 3 ? std::atoi(argv[3]) : argc > 2 ? first : c.last;
    double before = 0;
    for (int n = first; n <= last; n *= 2) {
      const Times t = c.run(n);
      const double total = t.build + t.differentiate + t.run + t.free;
      std::printf("%-16s %9d %9.3f %9.3f %9.3f %9.3f", c.name, n, t.build, t.differentiate, t.run, t.free);
      if (before > 0) std::printf(" %7.2f", std::log2(total / before));
      std::printf("\n");
      std::fflush(stdout);
      before = total;
    }
  }
}
