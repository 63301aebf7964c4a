#include <tegula/tegula.h>

#include <cstdio>

int main() {
  try {
    throw tegula::Error({.op = "consumer", .got = "an installed Tegula", .expected = "this message"});
  } catch (const tegula::Error& error) {
    std::printf("%s\n", error.what());
    return tegula::sum(tegula::ones({2})).item() == 2.f ? 0 : 1;
  }
}
