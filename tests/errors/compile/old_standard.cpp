// flags: -std=c++17
// expect: Tegula needs C\+\+20 with std::source_location: GCC 12 or Clang 16
// errors: 1
#include <tegula/tegula.h>

int main() {}
