// expect: tegula: a data set has `std::int64_t size\(\) const` and `data::Sample get\(std::int64_t i\) const`
// expect: a Sample is a std::vector<HostArray>
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

struct Numbers {
  std::int64_t size() const { return 8; }
  float get(std::int64_t i) const { return float(i); }
};

int main() {
  nn::Linear net{1, 1};
  optim::SGD sgd(parameters(net));
  Trainer trainer(net, sgd, mse_loss);
  trainer.fit(Numbers{});  // here
}
