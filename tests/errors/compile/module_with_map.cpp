// expect: tegula: a map of layers cannot be walked
// expect: std::vector
#include <tegula/tegula.h>

#include <map>
#include <string>

struct Net {
  std::map<std::string, tegula::nn::Linear> layers;
};

int main() {
  Net net;
  tegula::parameters(net);  // here
}
