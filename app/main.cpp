// tegula: train, evaluate, look into networks, measure from the command line.

#include <cstdio>
#include <exception>

#include "commands.h"
#include "tegula/runtime/threads.h"

namespace {

/// --threads for every command, those of `bench` too.
void add_threads_option(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    command
        ->add_option_function<int>(
            "--threads", [](int threads) { tegula::set_num_threads(threads); },
            "that the CPU computes with [OMP_NUM_THREADS, else one for each processor]")
        ->check(tegula::app::positive())
        ->type_name("N");
    add_threads_option(*command);
  }
}

}  // namespace

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
  add_threads_option(app);
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
