#pragma once
// Shared by the commands of `tegula bench`.

#include <cstdint>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/report.h"
#include "tegula/core/dtype.h"
#include "tegula/graph/precision.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/measure.h"

namespace tegula::app {

struct BenchChoice {
  std::vector<std::string> devices;     // empty: all there are
  std::vector<std::string> precisions;  // empty: all the command knows
  std::string plot, json;               // files
  bool quick = false;

  runtime::MeasureOptions measuring() const;
  std::vector<Device*> chosen_devices() const;
};

/// The precision in which operands are multiplied; sums are f32.
struct BenchPrecision {
  std::string name;  // "bf16"
  DType dtype;       // of the operands
  double runtime::DeviceProperties::* peak;  // null: no device tells one
  Precision arithmetic = Precision::fp32;  // in force around the op
};
/// The precisions that the user chose, or `otherwise`; tf32 and fp8 only if the device has them.
std::vector<BenchPrecision> chosen_precisions(const BenchChoice& choice, const std::vector<std::string>& otherwise, Device& device);

/// The device's rate in this precision; 0 where it is not known.
double peak_of(Device& device, const BenchPrecision& precision);
/// value / limit, NaN where the limit is not known.
double share_of(double value, double limit);
/// A device in front of the table: "cpu: AMD EPYC, 2 processors, 420 GFLOP/s in f32".
void note_device(Report& report, Device& device);

/// The beginning of every command: throws Error when one of its files cannot be written.
void require_files(const BenchChoice& choice);
/// The end of every command: the plot (a failure is only told) and the file, where wanted.
void finish(const BenchChoice& choice, const Report& report, const io::Figure& figure);

void add_bench_gemm(Command& bench);
void add_bench_batched_gemm(Command& bench);
void add_bench_lu(Command& bench);
void add_bench_attention(Command& bench);
void add_bench_mlp(Command& bench);
void add_bench_saxpy(Command& bench);
void add_bench_conv(Command& bench);
void add_bench_scaling(Command& bench);

/// --sizes, as in 256,512 or 1000:6000:500 (from, to, step), read by sizes_of().
void add_sizes(Command& command, std::vector<std::string>& sizes);
std::vector<std::int64_t> sizes_of(const std::vector<std::string>& sizes);

/// --device, --out, --json, --quick; --precision where the command has a choice.
enum class WithPrecision : std::uint8_t { No, Yes };
void add_options(Command& command, BenchChoice& choice, WithPrecision precision);

}  // namespace tegula::app
