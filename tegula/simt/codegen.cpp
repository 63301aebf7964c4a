#include "tegula/simt/codegen.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/simt/lower/lowering.h"
#include "tegula/simt/passes/compare_in_vector.h"
#include "tegula/simt/passes/place_barriers.h"
#include "tegula/simt/print/print.h"
#include "tegula/simt/text_hash.h"

namespace tegula::gpu {
namespace {

using tile::Instruction;
using tile::Program;
using tile::Word;

constexpr int kLargestFact = 4;
/// From this architecture on a kernel can wait for the launch ahead by itself (griddepcontrol, PTX 7.8).
constexpr int kWaitsItself = 90;

/// Whether the number is no more than a limit: of a loop, of coordinates, of a count of tiles. What divides it makes no access wider.
bool only_limits(const Program& program, std::size_t parameter) {
  std::vector<bool> shows(program.instructions.size());  // the number, whatever its shape
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& self = program.instructions[i];
    if (self.word == Word::Parameter) {
      shows[i] = static_cast<std::size_t>(self.attribute) == parameter;
      continue;
    }
    if (std::ranges::none_of(self.operands, [&](tile::Id operand) { return shows[static_cast<std::size_t>(operand)]; })) continue;
    switch (self.word) {
      case Word::Broadcast:
      case Word::ExpandDims: shows[i] = true; break;
      case Word::Lt:
      case Word::Le:
      case Word::Gt:
      case Word::Ge:
      case Word::Min:
      case Word::Rem:
      case Word::Div:
      case Word::For: break;
      default: return false;
    }
  }
  return true;
}

/// On the ladder an argument is a multiple of 16 bytes or not (numbers: of so many elements of the narrowest type that lies in memory).
int coarse_fact(const Program& program, const tile::Parameter& parameter, int fact) {
  int whole = kLargestFact;
  if (!parameter.pointer) {
    std::size_t narrowest = 16;
    for (const tile::Parameter& other : program.parameters)
      if (other.pointer) narrowest = std::min(narrowest, size_of(other.dtype));
    whole -= std::countr_zero(narrowest);
  }
  return fact >= whole ? whole : 0;
}

/// What stands for the end of a kernel's name until its text is known.
constexpr const char* kNameless = "_@";

std::string nameless(const Program& program) {
  std::string name = "k_";
  for (const char c : program.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + kNameless;
}

/// Named by what is written: programs and specialisations that come to the same text are one kernel, which is compiled once.
void name_by_text(Generated& code) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "_%016llx",
                static_cast<unsigned long long>(text_hash(code.source + std::to_string(code.shared_bytes))));
  const std::string before = code.name;
  code.name.replace(code.name.size() - std::strlen(kNameless), std::string::npos, digits);
  for (std::size_t at = code.source.find(before); at != std::string::npos; at = code.source.find(before, at))
    code.source.replace(at, before.size(), code.name);
}

std::size_t shared_limit(int architecture) {
  const std::size_t kib = architecture == 80 || architecture == 87 ? 163 : architecture < 90 || architecture >= 120 ? 99 : 227;
  return kib * 1024;
}

TileUse tile_use(const Analysis& a) {
  TileUse use;
  use.rows = a.rows();
  use.columns = a.columns();
  ThreadGrid slices;
  slices.rows = use.rows, slices.columns = use.columns;
  for (const Instruction& self : a.program().instructions) {
    const Word word = self.word;
    if (word == Word::For || word == Word::If) continue;
    use.computes = use.computes || (word >= Word::Exp && word <= Word::Digamma) || word == Word::Pow || word == Word::Atan2;
    if (word == Word::Load || word == Word::Store) {
      const tile::Type& pointer = a.type(self.operands[0]);
      const Spread spread = slices.spread_of(pointer.shape);
      if (spread == Spread::Full || (spread == Spread::Column && (use.rows == 1 || use.vector == 1))) {
        use.vector = std::max(use.vector, a.contiguous(self.operands[0]));
      }
      use.full_loads += word == Word::Load && spread == Spread::Full;
      use.repeats_columns = use.repeats_columns || (word == Word::Load && spread == Spread::Column && use.rows > 1);
    }
    if (tile::has_result(word) && slices.spread_of(self.type.shape) == Spread::Flat && word != Word::Broadcast) use.leaves_the_grid = true;
    if (word == Word::Scan || word == Word::Sort || word == Word::ArgSort || word == Word::Dot || word == Word::Transpose ||
        word == Word::AtomicAdd)
      use.leaves_the_grid = true;
    if (word == Word::Reduce || word == Word::ArgReduce) {
      const tile::Type& from = a.type(self.operands[0]);
      const Spread spread = slices.spread_of(from.shape);
      if (spread == Spread::Full || spread == Spread::Column || spread == Spread::Row) {
        if (from.shape[static_cast<int>(self.attribute)] > 1) {
          const bool columns = from.shape.rank() == 1 ? spread == Spread::Column : self.attribute == 1;
          (columns ? use.reduces_columns : use.reduces_rows) = true;
        }
        if (spread != Spread::Row && !self.type.pointer)
          use.element_bytes = std::max(use.element_bytes, static_cast<int>(size_of(from.dtype)));
      }
    }
  }
  return use;
}

/// Sums of floats, or into narrow integers, where places may be named twice: their order is that of the program ids.
bool ordered_sums(const Program& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(), [&](const Instruction& self) {
    if (self.word != Word::AtomicAdd) return false;
    const DType dtype = program[self.operands[0]].type.dtype;
    return dtype != DType::i32 && dtype != DType::i64;
  });
}
bool stores(const Program& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [](const Instruction& self) { return self.word == Word::Store; });
}

/// What is only read, what is only written.
std::vector<simt::KernelParameter> parameters_of(const Analysis& analysis) {
  using Hint = simt::KernelParameter::Hint;
  const Program& program = analysis.program();
  std::vector<simt::KernelParameter> parameters;
  for (std::size_t i = 0; i < program.parameters.size(); ++i)
    parameters.push_back({.name = analysis.parameter_names()[i], .declared = program.parameters[i]});
  enum : unsigned { kNothing, kRead, kWritten };
  std::vector<unsigned> uses(parameters.size(), kNothing);
  for (const Instruction& self : program.instructions) {
    const unsigned use = (self.word == Word::Load || self.word == Word::AtomicAdd ? kRead : kNothing) |
                         (self.word == Word::Store || self.word == Word::AtomicAdd ? kWritten : kNothing);
    if (use == kNothing) continue;
    const tile::Id root = analysis.root_of(self.operands[0]);
    if (root < 0) return parameters;
    uses[static_cast<std::size_t>(root)] |= use;
  }
  for (std::size_t i = 0; i < uses.size(); ++i) parameters[i].hint = uses[i] == kRead ? Hint::Lasting : uses[i] == kWritten ? Hint::Passing : Hint::None;
  return parameters;
}

}  // namespace

Specialisation specialise(const Program& program, std::span<const runtime::ArgumentSet> sets) {
  Specialisation result;
  result.many_sets = sets.size() != 1;
  result.one_axis = std::ranges::all_of(sets, [](const runtime::ArgumentSet& set) { return set.grid[1] == 1 && set.grid[2] == 1; });
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const tile::Parameter& parameter = program.parameters[i];
    int fact = 0;
    bool is_short = is_integer(parameter.dtype) && !parameter.pointer;
    if (parameter.pointer || is_integer(parameter.dtype)) {
      fact = kLargestFact;
      for (const runtime::ArgumentSet& set : sets) {
        const auto bits = parameter.pointer ? reinterpret_cast<std::uint64_t>(set.arguments[i].pointer)
                                            : static_cast<std::uint64_t>(set.arguments[i].integer);
        fact = std::min(fact, bits == 0 ? kLargestFact : std::countr_zero(bits));
        is_short = is_short && bits >> 31 == 0;
      }
    }
    if (program.many_sizes) fact = !parameter.pointer && only_limits(program, i) ? 0 : coarse_fact(program, parameter, fact);
    result.facts.push_back(static_cast<std::uint8_t>(fact | (is_short ? kShort : 0)));
  }
  return result;
}

Generated generate(const Program& program, const Specialisation& specialisation, int architecture) {
  const Analysis analysis(program, specialisation);
  TileUse use = tile_use(analysis);
  StagedRows staging = find_staged_rows(analysis, use.vector);
  use.most_blocks = blocks_of_row(architecture);
  use.beside_next = program.early;
  const bool room = static_cast<std::size_t>(use.columns * staging.bytes / use.most_blocks) + 4096 <= shared_limit(architecture);
  if (!staging.possible || !use.reduces_columns || use.leaves_the_grid || !room) staging = {};
  use.staged_bytes = staging.bytes;
  use.direct_loads = static_cast<int>(staging.direct.size());
  use.direct_bytes = staging.direct_bytes;
  if (use.rows > 1 && !worth_staging(use)) staging = {}, use.staged_bytes = 0;
  const ThreadGrid grid = choose_threads(use);
  if (!grid.staged) staging.staged.clear();
  if (grid.cluster > 1 && architecture < 90) {
    throw Error({.op = "cuda",
                 .got = "rows of " + std::to_string(grid.columns) + " elements in one tile of " + program.name,
                 .expected = "at most 32768 elements of 4 bytes on compute capability " + std::to_string(architecture / 10) + "." +
                             std::to_string(architecture % 10),
                 .advice = "reduce in chunks: TilePreference::longest_row"});
  }
  const bool ordered = ordered_sums(program);
  simt::Kernel kernel{.program = program.name,
                      .rows = grid.rows,
                      .columns = grid.columns,
                      .vector = grid.vector,
                      .row_threads = grid.row_threads,
                      .column_threads = grid.column_threads,
                      .cluster = grid.cluster,
                      .resident = grid.resident,
                      .many_sets = specialisation.many_sets,
                      .guarded = specialisation.guarded,
                      .one_axis = specialisation.one_axis,
                      .lets_next_begin = program.early,
                      .walkers = !ordered ? 0 : stores(program) ? 1 : 256,
                      .parameters = parameters_of(analysis),
                      .entry = {},
                      .body = {}};
  Lowering(analysis, grid, staging, ordered).lower(kernel);
  simt::compare_in_vector(kernel);
  simt::place_barriers(kernel);
  if (kernel.shared_bytes() > shared_limit(architecture)) {
    throw Error({.op = "cuda",
                 .got = "a tile of " + program.name + " that needs " + std::to_string(kernel.shared_bytes()) + " bytes of shared memory",
                 .expected = "at most " + std::to_string(shared_limit(architecture)),
                 .advice = "smaller tiles, or shorter lines to sort"});
  }
  Generated out{.name = nameless(program),
                .source = {},
                .threads = kernel.threads(),
                .cluster = kernel.cluster,
                .shared_bytes = kernel.shared_bytes(),
                .early = program.early && architecture >= kWaitsItself};
  out.source = simt::print(kernel, out.name);
  name_by_text(out);
  return out;
}

}  // namespace tegula::gpu
