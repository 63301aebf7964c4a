// A test program that is run by hand proves its plans too (tests/CMakeLists.txt sets the same for ctest).

#include <cstdlib>

namespace tegula::test {
namespace {

[[maybe_unused]] const int set = setenv("TEGULA_CHECK", "plan", 0);

}  // namespace
}  // namespace tegula::test
