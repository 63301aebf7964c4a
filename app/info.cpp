// tegula info: the devices of this machine, or the contents of a file.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/file_info.h"
#include "app/progress.h"
#include "tegula/bench/power.h"
#include "tegula/core/text.h"
#include "tegula/dist/transport/environment.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/host_libraries.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {
namespace {

void line(const char* what, const std::string& text) { std::printf("  %-14s %s\n", what, text.c_str()); }

void describe(Device& device) {
  const auto p = device.properties();
  std::printf("%s: %s\n", device.name().c_str(), p.model.c_str());
  if (!p.architecture.empty()) line("architecture", p.architecture);
  if (p.processors > 0) line("processors", std::to_string(p.processors));
  if (p.memory_bytes > 0) line("memory", format("%.1f GiB", static_cast<double>(p.memory_bytes) / (1 << 30)));
  if (p.bytes_per_second > 0) line("bandwidth", quantity(p.bytes_per_second) + "B/s");
  for (const auto& [name, rate] : {std::pair("fp32", p.f32), {"tf32", p.tf32}, {"bf16", p.bf16}, {"fp16", p.f16}, {"fp8", p.fp8}}) {
    if (rate > 0) line(name, "at most " + quantity(rate) + "FLOP/s");
  }
  if (const auto limits = card_limits(device)) {
    line("of each",
         format("%d registers, %.0f KiB of shared memory (a block at most %.0f), %d threads in warps of %d, %d blocks", limits->registers,
                limits->shared_memory / 1024, limits->shared_memory_of_block / 1024, limits->threads, limits->warp, limits->blocks));
    line("cache", format("%.0f MiB", limits->cache / (1 << 20)));
  }
  if (const auto state = card_state(device)) {
    line("power", format("%.0f W of at most %.0f W", state->watts, state->limit_watts));
    line("temperature", format("%.0f °C", state->celsius));
    line("in use", format("%.0f %% of the time, %.1f GiB of the memory", 100 * state->busy, state->memory_used / (1 << 30)));
  } else if (const auto joules = joules_of(device)) {
    line("energy", quantity(*joules) + "J on the counter");
  }
}

struct InfoChoice {
  std::vector<std::string> files;
  bool all = false;
};

void run(const InfoChoice& choice) {
  for (std::size_t i = 0; i < choice.files.size(); ++i)
    std::printf("%s%s", i ? "\n" : "", describe_file(choice.files[i], choice.all ? INT64_MAX : 60).c_str());
  if (!choice.files.empty()) return;
  describe(cpu());
  line("linear algebra", runtime::linear_algebra_library());
  std::string why;
  const int count = cuda_count(&why);
  for (int i = 0; i < count; ++i) describe(cuda(i));
  if (count == 0) std::printf("%s\n", why.c_str());
}

/// Each of several ranks on one machine takes a GPU of its own for "cuda", in turn if there are fewer.
Device& device_of_rank(const std::string& name) {
  const auto place = name == "cuda" ? dist::find_rank() : std::nullopt;
  return place ? cuda(place->local_rank % std::max(cuda_count(), 1), {}) : device(name, {});
}

}  // namespace

void add_info(Command& app) {
  auto choice = std::make_shared<InfoChoice>();
  Command command = app.command("info", "what is in a file; without one the devices of this machine, with what they can do at most");
  command
      .option("files", choice->files,
              "weights (safetensors, PyTorch, Keras, GGUF), checkpoints, arrays (.npy, .npz, idx), ONNX models, pictures, tables, "
              "tokenizers, word vectors; or a folder "
              "of pictures, or a SavedModel")
      .check(not_empty())
      .type("FILE");
  command.flag("--all", choice->all, "every tensor, key or column, not 60 of each");
  command.runs([choice] { run(*choice); });
}

void add_device_option(Command& command) {
  command
      .option(
          "--device", [](const std::string& name) { set_default_device(device_of_rank(name)); },
          "where to compute: cpu, cuda (of ranks: each its own GPU), cuda:1, … [cpu]")
      .type("NAME");
}

}  // namespace tegula::app
