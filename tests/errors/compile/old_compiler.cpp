// flags: -U__GNUC__ -D__GNUC__=11 -U__clang_major__ -D__clang_major__=15
// expect: Tegula needs C\+\+20 with std::source_location: GCC 12 or Clang 16
// errors: 1
#include <tegula/tegula.h>

int main() {}
