// tegula: train, evaluate, look into networks, measure from the command line.

#include <algorithm>
#include <string>

#include "app/commands.h"
#include "tegula/runtime/threads.h"

int main(int argc, char** argv) {
  using namespace tegula;
  return app::run_program(argc, argv, TEGULA_VERSION, [](app::Command& root) {
    app::add_train(root);
    app::add_eval(root);
    app::add_predict(root);
    app::add_summary(root);
    app::add_graph(root);
    app::add_compile(root);
    app::add_run(root);
    app::add_export(root);
    app::add_info(root);
    app::add_bench(root);
    app::add_kernel(root);
    app::add_generate(root);
    app::add_classify(root);
    app::add_answer(root);
    app::add_tokenize(root);
    app::add_words(root);
    app::add_translate(root);
    app::add_launch(root);
    app::add_debug(root);
    root.for_each([](app::Command command) {
      command
          .option(
              "--threads", [](const std::string& threads) { set_num_threads(static_cast<int>(std::min(std::stoll(threads), 1LL << 30))); },
              "that the CPU computes with [OMP_NUM_THREADS, else one for each processor]")
          .check(app::positive())
          .type("N");
    });
  });
}
