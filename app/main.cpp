// tegula: train, evaluate, look into networks, measure from the command line.

#include <cstdio>
#include <exception>
#include <string>

#include "commands.h"
#include "suggest.h"
#include "tegula/runtime/threads.h"

namespace tegula::app {
namespace {

/// --threads for every command, those of `bench` too.
void add_threads_option(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    command
        ->add_option_function<int>(
            "--threads", [](int threads) { set_num_threads(threads); },
            "that the CPU computes with [OMP_NUM_THREADS, else one for each processor]")
        ->check(positive())
        ->type_name("N");
    add_threads_option(*command);
  }
}

/// Whether everything that was printed has arrived: a full disk, or a pipe that nobody reads, is told at the end only.
bool flushed() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  std::perror("tegula: standard output");
  return false;
}

}  // namespace
}  // namespace tegula::app

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
  app::add_threads_option(app);
  app.set_version_flag("--version", "tegula " TEGULA_VERSION);
  try {
    app::check_commands(app, argc, argv);
    app.parse(argc, argv);
    return app::flushed() ? 0 : 1;
  } catch (const CLI::ExtrasError&) {
    app.exit(CLI::ValidationError(app::unplaced(app, argc, argv)));
    return 2;
  } catch (const CLI::ParseError& error) {
    const bool is_help = app.exit(error) == 0;  // or the version
    return is_help ? (app::flushed() ? 0 : 1) : 2;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    const std::string text = error.what();
    std::fprintf(stderr, "%s%s\n", text.starts_with("tegula") ? "" : "tegula: ", text.c_str());
    return 1;
  }
}
