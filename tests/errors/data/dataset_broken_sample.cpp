// expect: ^Loader: got sample 2, whose get throws: broken file
#include <tegula/tegula.h>
using namespace tegula;

namespace {
struct Broken {
  std::int64_t size() const { return 4; }
  data::Sample get(std::int64_t i) const {
    if (i == 2) throw std::runtime_error("broken file");
    return {data::number(1.f)};
  }
};
}  // namespace

void dataset_broken_sample() {
  data::Loader loader(Broken{}, {.batch = 4});
  loader.next();
}
