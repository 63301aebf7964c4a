#pragma once
// Programs that once gave different numbers in different modes, as small as they could be made.

#include <string>
#include <vector>

namespace tegula::property {

struct Kept {
  std::string what;
  std::string text;
};
std::vector<Kept> kept_programs();

}  // namespace tegula::property
