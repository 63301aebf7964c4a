// tegula bench: the experiments of GPU and deep-learning lectures, each a table and a plot.

#include "app/bench/bench.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"

namespace tegula::app {
namespace {

const BenchPrecision kPrecisions[] = {
    {"fp32", DType::f32, &runtime::DeviceProperties::f32},
    {"tf32", DType::f32, &runtime::DeviceProperties::tf32, Precision::tf32},
    {"bf16", DType::bf16, &runtime::DeviceProperties::bf16},
    {"fp16", DType::f16, &runtime::DeviceProperties::f16},
    {"fp8", DType::bf16, &runtime::DeviceProperties::fp8, Precision::fp8},
    {"fp64", DType::f64, nullptr},
};

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const auto& one : kPrecisions) names.push_back(one.name);
  return names;
}

}  // namespace

runtime::MeasureOptions BenchChoice::measuring() const {
  return quick ? runtime::MeasureOptions{.seconds = 0, .batches = 1, .warm_up = 1} : runtime::MeasureOptions{};
}

std::vector<Device*> BenchChoice::chosen_devices() const {
  std::vector<Device*> chosen;
  for (const auto& name : devices) chosen.push_back(&device(name, {}));
  if (!chosen.empty()) return chosen;
  chosen.push_back(&cpu());
  if (cuda_count() > 0) chosen.push_back(&cuda());
  return chosen;
}

std::vector<BenchPrecision> chosen_precisions(const BenchChoice& choice, const std::vector<std::string>& otherwise, Device& device) {
  const auto properties = device.properties();
  std::vector<BenchPrecision> chosen;
  for (const auto& name : choice.precisions.empty() ? otherwise : choice.precisions) {
    for (const auto& one : kPrecisions) {
      const bool has = one.arithmetic == Precision::fp32 || properties.*one.peak > 0;
      if (one.name != name) continue;
      if (has) chosen.push_back(one);
      else if (!choice.precisions.empty())
        std::fprintf(stderr, "tegula: %s does not multiply in %s\n", device.name().c_str(), name.c_str());
    }
  }
  return chosen;
}

double peak_of(Device& device, const BenchPrecision& precision) { return precision.peak ? device.properties().*precision.peak : 0; }

double share_of(double value, double limit) { return limit > 0 ? value / limit : NAN; }

void note_device(Report& report, Device& device) {
  const auto p = device.properties();
  std::string text = p.model + ", " + std::to_string(p.processors) + " processors";
  if (p.f32 > 0) text += ", multiply-adds in f32 at " + quantity(p.f32) + "FLOP/s";
  report.note(device.name(), text);
}

void require_files(const BenchChoice& choice) {
  io::require_picture(choice.plot);
  if (!choice.json.empty()) io::require_writable(choice.json, "tegula bench");
}

void finish(const BenchChoice& choice, const Report& report, const io::Figure& figure) {
  if (report.rows() == 0)
    throw Error({.op = "tegula bench", .got = "nothing to measure", .expected = "a --precision in which one of the devices multiplies"});
  try {
    io::plot(choice.plot, figure);
    std::printf("\nplot: %s\n", choice.plot.c_str());
  } catch (const Error& error) {  // the table is there all the same
    std::fprintf(stderr, "tegula: no plot: %s\n", error.what());
  }
  if (choice.json.empty()) return;
  report.write_json(choice.json, choice.chosen_devices());
  std::printf("numbers: %s\n", choice.json.c_str());
}

std::vector<std::int64_t> sizes_of(const std::vector<std::string>& sizes) {
  std::vector<std::int64_t> out;
  for (const std::string& text : sizes) {
    std::array<long long, 3> range{0, 0, 1};
    int end = 0;
    const int read = std::sscanf(text.c_str(), "%lld:%lld:%lld%n", &range[0], &range[1], &range[2], &end);
    const bool one = text.find(':') == std::string::npos && read == 1;
    if (one) range[1] = range[0];
    if (range[0] < 1 || range[2] < 1 || range[1] < range[0] || (!one && (read != 3 || text[static_cast<std::size_t>(end)] != '\0')))
      throw Error({.op = "tegula bench",
                   .got = "--sizes " + text,
                   .expected = "sizes above 0, as in 256,512, or from:to:step, as in 1000:6000:500"});
    for (long long size = range[0]; size <= range[1]; size += range[2]) out.push_back(size);
  }
  return out;
}

void add_sizes(Command& command, std::vector<std::string>& sizes) {
  const Check check{"N", [](const std::string& text) -> std::string {
                      try {
                        static_cast<void>(sizes_of({text}));
                      } catch (const Error& error) { return "got " + text + ", expected " + error.report().expected; }
                      return "";
                    }};
  command.option("--sizes", sizes, "the sizes N of the N x N matrices, as in 256,512 or 1000:6000:500").commas().check(check).type("N");
}

void add_options(Command& command, BenchChoice& choice, WithPrecision precision) {
  choice.plot = command.name() + ".png";
  command.option("--device", choice.devices, "cpu, cuda, cuda:1, …; several may be given [all there are]").commas().type("NAME");
  if (precision == WithPrecision::Yes) {
    command.option("--precision", choice.precisions, "in what operands are multiplied").commas().check(one_of(precision_names()));
  }
  command.option("--out", choice.plot, "the plot, PNG or SVG").check(not_empty()).shows_default().type("FILE");
  command.option("--json", choice.json, "the numbers too").check(not_empty()).type("FILE");
  command.flag("--quick", choice.quick, "tiny sizes, one run each: to see that it works");
}

void add_bench(Command& app) {
  Command bench = app.command("bench", "experiments: how fast is this machine at what networks are made of");
  bench.needs_command();
  add_bench_gemm(bench);
  add_bench_batched_gemm(bench);
  add_bench_lu(bench);
  add_bench_attention(bench);
  add_bench_mlp(bench);
  add_bench_saxpy(bench);
  add_bench_conv(bench);
  add_bench_scaling(bench);
}

}  // namespace tegula::app
