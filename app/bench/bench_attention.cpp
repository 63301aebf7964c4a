// tegula bench attention: softmax(Q Kᵀ) V forward, and with its gradients, by the device's call and by tile programs.

#include <cmath>
#include <cstdio>
#include <memory>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/attention.h"
#include "tegula/ops/products/attention_tiles.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {
namespace {

struct AttentionChoice : BenchChoice {
  std::vector<std::string> given;  // lengths
  std::int64_t tokens = 32768, heads = 16, width = 128;
  bool full = false;  // all keys are seen
};

using Tensors = std::vector<Tensor>;

/// Computes o, or the gradients of q, k and v, from q, k, v and the gradient of o, (B, H, T, D) each.
class Attention {
 public:
  Attention(const AttentionChoice& choice, bool tiles, bool backward)
      : form_{.causal = !choice.full, .scale = 1 / std::sqrt(static_cast<double>(choice.width))},
        tiles_(tiles),
        backward_(backward) {}

  Tensors operator()(const Tensors& x) const {
    const Tensors inputs(x.begin(), x.begin() + 3);
    if (!tiles_) {
      const Tensor o = scaled_dot_product_attention(x[0], x[1], x[2], {.causal = form_.causal});
      return backward_ ? grad(sum(cast(o, f32) * cast(x[3], f32)), inputs) : Tensors{o};
    }
    const Tensors forward = ops::attention_tiles_nodes(form_, inputs, default_device().tiles());
    if (!backward_) return {permute(forward[0], {0, 2, 1, 3})};
    Tensors given = inputs;
    given.insert(given.end(), {forward[0], forward[1], permute(x[3], {0, 2, 1, 3})});
    Tensors gradients = ops::attention_tiles_gradients(form_, given);
    gradients.pop_back();  // those of scores
    for (Tensor& one : gradients) one = permute(one, {0, 2, 1, 3});
    return gradients;
  }

 private:
  ops::AttentionForm form_;
  bool tiles_, backward_;
};

Tensors random_inputs(const Shape& shape, DType dtype) {
  Tensors x;
  for (int i = 0; i < 4; ++i) x.push_back(normal(shape, 0, 1, {.dtype = dtype})), eval(x.back());
  return x;
}

/// The largest deviation from the same in f32, relative to its largest element.
double attention_error(const AttentionChoice& choice, const Tensors& x, const Tensors& found, bool backward) {
  Tensors wide;
  for (const Tensor& one : x) wide.push_back(cast(one, f32));
  const Tensors wanted = Attention(choice, false, backward)(wide);
  double largest = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    largest = std::max(largest, (max(abs(cast(found[k], f32) - wanted[k])) / max(abs(wanted[k]))).item<double>());
  return largest;
}

void attention(AttentionChoice choice) {
  std::vector<std::int64_t> lengths = sizes_of(choice.given);
  if (lengths.empty())
    lengths = choice.quick ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{512, 1024, 2048, 4096, 8192, 16384};
  if (choice.quick) choice.tokens = 64, choice.heads = 2, choice.width = 16;
  Report report("attention", {{"device", "device", 7},
                              {"precision", "precision", 9},
                              {"length", "T", 6, 0},
                              {"direction", "direction", 9},
                              {"form", "form", 8},
                              {"seconds", "time ms", 10, 3, 1e3},
                              {"flops", "GFLOP/s", 10, 1, 1e-9},
                              {"share", "of library", 10, 3},
                              {"error", "error 1e-3", 11, 2, 1e3}});
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (const auto& precision : chosen_precisions(choice, {"bf16"}, *device)) {
      if (!is_half(precision.dtype)) {
        std::fprintf(stderr, "tegula: attention in tiles is for bf16 and fp16, not for %s\n", precision.name.c_str());
        continue;
      }
      for (const std::int64_t length : lengths) {
        const std::int64_t batch = std::max<std::int64_t>(choice.tokens / length, 1);
        const Tensors x = random_inputs({batch, choice.heads, length, choice.width}, precision.dtype);
        const bool checks = length <= 1024;  // in f32 all scores are held
        for (const bool backward : {false, true}) {
          const double products = backward ? 7 : 2,
                       scores = static_cast<double>(batch * choice.heads) * static_cast<double>(length) * static_cast<double>(length);
          const double operations = products * (choice.full ? 2 : 1) * scores * static_cast<double>(choice.width);
          double library = 0;
          for (const bool tiles : {false, true}) {
            auto compiled = jit(Attention(choice, tiles, backward));
            const double seconds = runtime::measure(*device, [&] { compiled(x); }, choice.measuring()).median;
            if (!tiles) library = seconds;
            report.add({device->name(), precision.name, static_cast<double>(length), backward ? "both" : "forward",
                        tiles ? "tile" : "library", seconds, operations / seconds, library / seconds,
                        checks ? attention_error(choice, x, compiled(x), backward) : std::nan("")});
          }
        }
      }
    }
  }
  finish(choice, report,
         {.title = std::string(choice.full ? "" : "causal ") + "attention of T tokens: the library, and tile programs",
          .x_label = "T",
          .panels = {{.y_label = "GFLOP/s",
                      .series = report.curves("length", "flops", {"device", "precision", "direction", "form"}),
                      .y_scale = io::Scale::Log10}},
          .x_scale = io::Scale::Log2});
}

}  // namespace

void add_bench_attention(Command& bench) {
  auto choice = std::make_shared<AttentionChoice>();
  Command command =
      bench.command("attention", "GFLOP/s of attention against its length, forward and with gradients: the library and tile programs");
  add_options(command, *choice, WithPrecision::Yes);
  add_sizes(command, choice->given);
  command.option("--tokens", choice->tokens, "of all samples together").check(positive()).shows_default().type("N");
  command.option("--heads", choice->heads, "heads").check(positive()).shows_default().type("N");
  command.option("--width", choice->width, "features of a head: a power of two from 16 to 256").check(positive()).shows_default().type("N");
  command.flag("--full", choice->full, "all keys are seen, not only those before a query");
  command.runs([choice] {
    require_files(*choice);
    attention(*choice);
  });
}

}  // namespace tegula::app
