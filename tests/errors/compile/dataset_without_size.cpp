// expect: tegula: a data set has `std::int64_t size\(\) const`
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

struct Numbers {
  data::Sample get(std::int64_t i) const { return {data::number(float(i))}; }
};

int main() {
  data::Loader loader(Numbers{}, {.batch = 4});  // here
}
