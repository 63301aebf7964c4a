#include <tegula/dist.h>
#include <tegula/models.h>
#include <tegula/tegula.h>

#include <cstdio>

int main() {
  const tegula::models::Model model = tegula::models::make("mnist-mlp");
  try {
    throw tegula::Error({.op = "consumer", .got = "an installed Tegula", .expected = "this message"});
  } catch (const tegula::Error& error) {
    std::printf("%s %s\n", model.name.c_str(), error.what());
    const tegula::Tensor total = tegula::dist::all_reduce(tegula::ones({2}));  // over one rank
    return tegula::sum(total).item() == 2.f ? 0 : 1;
  }
}
