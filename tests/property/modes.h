#pragma once
// The modes in which a program can run. Their results must be the same.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/graph/variable.h"
#include "tests/property/outcome.h"

namespace tegula::property {

enum class Inputs : std::uint8_t { Tensors, Views, Variables };

struct Mode {
  std::string name;
  Inputs inputs = Inputs::Tensors;
  bool eager = false;        // set_eager(true)
  bool nodes = false;        // each node is evaluated by itself, in program order, once the graph stands
  bool looks = false;        // the program's looks are carried out, other values are looked at, and handles dropped
  bool checkpoints = false;  // parts of it under checkpoint
  bool jit = false;
  int repeat = 0;            // jit, so many calls in one
  int bound = 0;             // set_pending_bound
  bool saved = false;        // as a graph file, which is loaded again, in a jit
  bool planned =
      false;      // as a plan file, loaded again; $TEGULA_PLANS: a folder where such files stay, and are taken from where they are there
  bool queued = false;       // on tests/support/queued_device.h
  bool faulty = false;       // for the test of the tests: one op does something else
  Precision precision = Precision::fp32;  // of all ops; with any other precision f64 is f32 (with_precision)
};

/// All of them, on the default device but where they say otherwise.
const std::vector<Mode>& modes();
const Mode& mode(const std::string& name);

/// The outcomes of the calls with these numbers (counted from 0). Exceptions become the outcome's error.
std::vector<std::pair<int, Outcome>> run(const Program& program, const Mode& mode, int calls);

/// A program as a function of its inputs, for who saves it.
struct SavedFunction {
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function;
  std::vector<Tensor> inputs;
  Parameters cells;  // its Variables, under names that tell them apart
};
/// Throws the errors of making the program.
SavedFunction function_of(const Program& program);

/// Programs that end in one plan (plainly or by jit; no other mode): the outcomes of each, for each call. An error is all there is of its call.
std::vector<std::vector<Outcome>> run_together(const std::vector<Program>& programs, const Mode& mode);

/// Notes the program's seed and the mode, for a report if the process dies.
void set_current(std::uint64_t seed, const std::string& mode);
/// Before anything else: reports crashes, and nothing is flushed but where a mode says so.
void prepare_process();

}  // namespace tegula::property
