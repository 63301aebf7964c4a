// tegula: train, evaluate, look into networks, measure from the command line.

#include <cstdio>
#include <exception>

#include "commands.h"

int main(int argc, char** argv) {
  using namespace tegula;
  CLI::App app{"Trains, evaluates and shows neural networks."};
  app.name("tegula");
  app.require_subcommand(1);
  app::add_train(app);
  app::add_eval(app);
  app::add_predict(app);
  app::add_summary(app);
  app::add_graph(app);
  app::add_info(app);
  app::add_bench(app);
  app::add_kernel(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help ends here, too
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "tegula: %s\n", error.what());
    return 1;
  }
}
