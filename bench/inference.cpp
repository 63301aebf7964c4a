// Inference of trained nets, one call at a time, without gradients; bench/peers/inference_onnxruntime.py compares the times with onnxruntime's, call by call.
// bench_inference [net…]: milliseconds of processor time of a call, over all threads. bench_inference write DIR: each net's layers, an input and the net's
// output, as DIR/<net>.safetensors. bench_inference serve: for each line "net seconds" of its input, one line: the median of the calls of that many seconds.

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tegula/models/resnet.h"
#include "tegula/models/text/bert.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

/// Two convolutions with max pooling, and a layer of 128.
struct Digits {
  nn::Conv2d conv1{1, 32, 3, {.padding = 1}}, conv2{32, 64, 3, {.padding = 1}};
  nn::Linear dense{64 * 7 * 7, 128}, head{128, 10};
  Tensor operator()(Tensor x) {
    x = max_pool2d(relu(conv1(x)), 2);
    x = max_pool2d(relu(conv2(x)), 2);
    return head(relu(dense(flatten(x, 1))));
  }
};

struct Mlp {
  nn::Linear first{784, 128}, second{128, 64}, last{64, 10};
  Tensor operator()(Tensor x) { return last(relu(second(relu(first(x))))); }
};

/// Sandler et al., "MobileNetV2", 2018: wider, depthwise, narrower again; the input is added to a result of the same shape.
struct Inverted {
  std::int64_t in, out, stride, factor, width = in * factor;
  nn::Sequential wider =
      factor == 1 ? nn::Sequential{} : nn::Sequential{nn::Conv2d{in, width, 1, {.bias = false}}, nn::BatchNorm2d{width}, relu6};
  nn::Conv2d depthwise{width, width, 3, {.stride = stride, .padding = 1, .groups = width, .bias = false}};
  nn::BatchNorm2d norm1{width};
  nn::Conv2d narrower{width, out, 1, {.bias = false}};
  nn::BatchNorm2d norm2{out};
  Tensor operator()(Tensor x) {
    const Tensor y = norm2(narrower(relu6(norm1(depthwise(factor == 1 ? x : wider(x))))));
    return stride == 1 && in == out ? x + y : y;
  }
};
struct MobileNetV2 {
  nn::Conv2d conv1{3, 32, 3, {.stride = 2, .padding = 1, .bias = false}};
  nn::BatchNorm2d bn1{32};
  std::vector<Inverted> blocks = stages();
  nn::Conv2d conv2{320, 1280, 1, {.bias = false}};
  nn::BatchNorm2d bn2{1280};
  nn::Linear fc{1280, 1000};
  static std::vector<Inverted> stages() {
    struct Stage {
      std::int64_t factor, out, count, stride;
    };
    std::vector<Inverted> blocks;
    std::int64_t in = 32;
    for (const auto& [factor, out, count, stride] :
         {Stage{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}) {
      for (std::int64_t i = 0; i < count; ++i, in = out) blocks.push_back(Inverted{in, out, i == 0 ? stride : 1, factor});
    }
    return blocks;
  }
  Tensor operator()(Tensor x) {
    x = relu6(bn1(conv1(x)));
    for (Inverted& block : blocks) x = block(x);
    return fc(mean(relu6(bn2(conv2(x))), {2, 3}));
  }
};

double processor_seconds() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

/// A net, an input, and the traced call.
class Served {
 public:
  virtual ~Served() = default;
  virtual void call() = 0;
  virtual StateDict state() = 0;  // with "input" and "output"

  /// The median of samples that take so many seconds together, three at least; a sample is as many calls as fill 0.2 ms, for reading the clock takes time.
  double seconds_of_call(double seconds) {
    call();
    const int calls = static_cast<int>(std::clamp(2e-4 / sample(1), 1.0, 1000.0));
    std::vector<double> times;
    for (double spent = 0; spent < seconds || times.size() < 3; spent += times.back() * calls) times.push_back(sample(calls));
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  }

 private:
  /// Seconds per call.
  double sample(int calls) {
    const double begin = processor_seconds();
    for (int i = 0; i < calls; ++i) call();
    return (processor_seconds() - begin) / calls;
  }
};

template <class Net>
class ServedNet : public Served {
 public:
  explicit ServedNet(Tensor input) : input_(std::move(input)) {
    eval(net_);
    tegula::eval(input_);
  }
  void call() override { tegula::eval(answer_(input_)); }
  StateDict state() override {
    StateDict out = state_dict(net_);
    out.push_back({"input", input_});
    out.push_back({"output", answer_(input_)});
    return out;
  }

 private:
  struct Forward {
    Net* net;
    Tensor operator()(Tensor x) const { return (*net)(x); }
  };
  Net net_;
  Tensor input_;
  Jit<Forward> answer_ = jit(Forward{&net_});
};

const std::vector<std::string> kNets = {"mlp", "digits", "mobilenet_v2", "resnet50", "bert_base"};

std::unique_ptr<Served> make_net(const std::string& name) {
  const Tensor image = normal({1, 3, 224, 224});
  if (name == "mlp") return std::make_unique<ServedNet<Mlp>>(normal({1, 784}));
  if (name == "digits") return std::make_unique<ServedNet<Digits>>(normal({1, 1, 28, 28}));
  if (name == "mobilenet_v2") return std::make_unique<ServedNet<MobileNetV2>>(image);
  if (name == "resnet50") return std::make_unique<ServedNet<models::ResNet50>>(image);
  if (name == "bert_base") return std::make_unique<ServedNet<models::Bert>>(randint(0, 30522, {1, 128}));
  throw Error({.op = "bench_inference", .got = name, .expected = "mlp, digits, mobilenet_v2, resnet50 or bert_base"});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string task = argc > 1 ? argv[1] : "";
  if (task == "write") {
    for (const std::string& name : kNets) save_state(make_net(name)->state(), std::string(argv[2]) + "/" + name + ".safetensors");
  } else if (task == "serve") {
    std::map<std::string, std::unique_ptr<Served>> nets;
    std::string name;
    for (double seconds = 0; std::cin >> name >> seconds;) {
      auto& net = nets[name];
      if (!net) net = make_net(name);
      std::cout << net->seconds_of_call(seconds) << std::endl;
    }
  } else {
    for (const std::string& name : kNets)
      if (bench::selected(argc, argv, name)) bench::report("inference." + name, make_net(name)->seconds_of_call(1) * 1e3, "ms");
  }
}
