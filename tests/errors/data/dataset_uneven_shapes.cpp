// expect: Loader|sample
// expect: \(3,?\)
#include <tegula/tegula.h>
using namespace tegula;

namespace {
struct Uneven {
  std::int64_t size() const { return 4; }
  data::Sample get(std::int64_t i) const {
    return {HostArray::from(std::span<const float>(std::vector<float>(i == 2 ? 3 : 2)), {i == 2 ? 3 : 2})};
  }
};
}  // namespace

void dataset_uneven_shapes() {
  data::Loader loader(Uneven{}, {.batch = 4});
  loader.next();
}
