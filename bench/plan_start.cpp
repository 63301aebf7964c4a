// From main to the first answer of a network on the CPU, or $TEGULA_BENCH_DEVICE: the program that builds it and loads its weights (warm start), and one that runs its plan file.
// bench_plan_start [net…] [folder=DIR]: mnist-cnn, resnet50, gpt2; all without. Writes weights and plan there (default: its folder), then runs itself, one
// start after the other, several times, and reports medians of wall times and of the processor's; both must answer to the bit. OMP_NUM_THREADS=1 bench_plan_start.

#include <ctime>
#include <filesystem>
#include <functional>
#include <map>

#include "bench/measure.h"
#include "tegula/io/child.h"
#include "tegula/models/mnist.h"
#include "tegula/models/resnet.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

struct Net {
  std::function<void(const std::string& folder)> make;  // weights and plan
  std::function<Tensor(const std::string& folder)> warm, plan;  // the first answer
};

Tensor images(const Shape& shape) { return sin(reshape(cast(arange(numel(shape)), f32), shape) * 0.37); }

template <class Model>
Net net_of(const std::string& name, std::function<Tensor()> input) {
  const auto weights = [name](const std::string& folder) { return folder + "/" + name + ".safetensors"; };
  const auto plan = [name](const std::string& folder) { return folder + "/" + name + ".plan"; };
  return {
      [=](const std::string& folder) {
        manual_seed(1);
        Model model{};
        eval(model);
        save(model, weights(folder));
        save_plan(plan(folder), model, input());
      },
      [=](const std::string& folder) {
        Model model{};
        load(model, weights(folder));
        eval(model);
        return jit([&](const Tensor& x) { return model(x); })(input());
      },
      [=](const std::string& folder) { return load_plan(plan(folder))(input()); },
  };
}

const std::map<std::string, Net>& nets() {
  static const std::map<std::string, Net> all{
      {"mnist-cnn", net_of<models::MnistCnn>("mnist-cnn", [] { return images({1, 1, 28, 28}); })},
      {"resnet50", net_of<models::ResNet50>("resnet50", [] { return images({1, 3, 224, 224}); })},
      {"gpt2", net_of<models::Gpt2>("gpt2", [] { return remainder(reshape(arange(16), {1, 16}) * 7919, 50257); })},
  };
  return all;
}

/// Time of all threads.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Start {
  double seconds = 0, processor = 0;
  unsigned long long sum = 0;  // sum of the answer's bits
};

Start start(const std::string& program, const std::string& name, const std::string& way, const std::string& folder) {
  const auto child = io::run_child({program, "--answer", name, way, folder}, {});
  const std::string text(reinterpret_cast<const char*>(child.output.data()), child.output.size());
  if (child.exit_code != 0) {
    std::fprintf(stderr, "%s%s", text.c_str(), child.messages.c_str());
    std::exit(1);
  }
  Start out;
  std::sscanf(text.c_str(), "%lf %lf %llu", &out.seconds, &out.processor, &out.sum);
  return out;
}

void measure(const std::string& program, const std::string& name, const std::string& folder) {
  nets().at(name).make(folder);
  std::vector<double> warm, plan, warm_processor, plan_processor;
  for (int round = 0; round < 7; ++round) {
    const Start a = start(program, name, "warm", folder), b = start(program, name, "plan", folder);
    if (a.sum != b.sum) std::fprintf(stderr, "%s: other bits\n", name.c_str()), std::exit(1);
    warm.push_back(a.seconds), plan.push_back(b.seconds);
    warm_processor.push_back(a.processor), plan_processor.push_back(b.processor);
  }
  const auto median = [](std::vector<double>& times) {
    std::ranges::sort(times);
    return times[times.size() / 2];
  };
  const auto report = [&](const std::string& what, std::vector<double>& before, std::vector<double>& now) {
    const double a = median(before), b = median(now);
    bench::report("plan_start." + name + ".warm" + what, 1e3 * a, "ms");
    bench::report("plan_start." + name + ".plan" + what, 1e3 * b, "ms", b / a, "warm");
  };
  report("", warm, plan);
  report(".processor", warm_processor, plan_processor);
  for (const char* ending : {".safetensors", ".plan"}) std::filesystem::remove(folder + "/" + name + ending);
}

}  // namespace

int main(int argc, char** argv) {
  const auto begin = std::chrono::steady_clock::now();
  const double processor = processor_seconds();
  if (std::getenv("TEGULA_BENCH_DEVICE")) bench::choose_device();
  if (argc == 5 && std::string(argv[1]) == "--answer") {
    const Net& net = nets().at(argv[2]);
    const HostArray answer = (std::string(argv[3]) == "warm" ? net.warm : net.plan)(argv[4]).to_array();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double worked = processor_seconds() - processor;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < answer.bytes(); ++i) sum = sum * 31 + static_cast<const unsigned char*>(answer.buffer->data())[i];
    std::printf("%.6f %.6f %llu\n", seconds, worked, static_cast<unsigned long long>(sum));
    return 0;
  }
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string folder = std::filesystem::path(program).parent_path();
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("folder=")) folder = word.substr(7);
    else names.push_back(word);
  }
  if (names.empty())
    for (const auto& [name, net] : nets()) names.push_back(name);
  for (const std::string& name : names) measure(program, name, folder);
}
