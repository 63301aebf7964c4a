#include "tegula/simt/codegen.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/simt/codegen_writer.h"
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

std::string argument_declaration(const tile::Parameter& parameter, const std::string& name) {
  if (parameter.pointer) return stored_name(parameter.dtype) + "* " + name + ";";
  return (is_float(parameter.dtype) ? "double " : "long long ") + name + ";";
}

/// For each parameter the hint of the prelude that its accesses carry: what is only read, what is only written.
std::vector<std::string> cache_hints(const Analysis& analysis) {
  const Program& program = analysis.program();
  enum : unsigned { kNothing, kRead, kWritten };
  std::vector<unsigned> uses(program.parameters.size(), kNothing);
  for (const Instruction& self : program.instructions) {
    const unsigned use = (self.word == Word::Load || self.word == Word::AtomicAdd ? kRead : kNothing) |
                         (self.word == Word::Store || self.word == Word::AtomicAdd ? kWritten : kNothing);
    if (use == kNothing) continue;
    const tile::Id root = analysis.root_of(self.operands[0]);
    if (root < 0) return std::vector<std::string>(program.parameters.size());
    uses[static_cast<std::size_t>(root)] |= use;
  }
  std::vector<std::string> hints;
  for (const unsigned use : uses) hints.emplace_back(use == kRead ? "lasting" : use == kWritten ? "passing" : "");
  return hints;
}

std::string parameter_variable(const tile::Parameter& parameter, const std::string& name, const std::string& hint) {
  if (parameter.pointer) {
    const std::string place = "a." + name;
    return stored_name(parameter.dtype) + "* const " + name + " = " + (hint.empty() ? place : hint + "(" + place + ")") + ";";
  }
  const std::string type = scalar_name(parameter.dtype);
  if (parameter.dtype == DType::boolean) return "const bool " + name + " = a." + name + " != 0;";
  return "const " + type + " " + name + " = static_cast<" + type + ">(a." + name + ");";
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
  Writer writer(analysis, grid, staging, ordered);
  const std::string body = writer.body();
  Generated out;
  out.name = nameless(program);
  out.threads = grid.threads();
  out.cluster = grid.cluster;
  out.early = program.early && architecture >= kWaitsItself;
  const std::size_t fixed = writer.scratch_bytes() + writer.part_bytes() + writer.ring_bytes(), row_place = (fixed + 127) / 128 * 128;
  out.shared_bytes = writer.staged_bytes() > 0 ? row_place + writer.staged_bytes() : fixed;
  if (out.shared_bytes > shared_limit(architecture)) {
    throw Error({.op = "cuda",
                 .got = "a tile of " + program.name + " that needs " + std::to_string(out.shared_bytes) + " bytes of shared memory",
                 .expected = "at most " + std::to_string(shared_limit(architecture)),
                 .advice = "smaller tiles, or shorter lines to sort"});
  }
  std::string& s = out.source;
  s += "// " + program.name + ": tile " + std::to_string(grid.rows) + " x " + std::to_string(grid.columns) + ", " +
       std::to_string(grid.row_threads) + " x " + std::to_string(grid.column_threads) + " threads" +
       (grid.cluster > 1 ? " in each of " + std::to_string(grid.cluster) + " blocks" : "") + ", vectors of " + std::to_string(grid.vector) +
       "\n";
  const auto& names = analysis.parameter_names();
  s += "struct Arguments_" + out.name + " {\n";
  for (std::size_t i = 0; i < names.size(); ++i) s += "  " + argument_declaration(program.parameters[i], names[i]) + "\n";
  s += "};\n";
  if (specialisation.many_sets)
    s += "struct Set_" + out.name + " {\n  long long first_instance;\n  long long grid[3];\n  Arguments_" + out.name + " a;\n};\n";
  s += "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(out.threads) +
       (grid.resident > 0 ? ", " + std::to_string(grid.resident) : "") + ") " +
       (out.cluster > 1 ? "__cluster_dims__(" + std::to_string(out.cluster) + ", 1, 1) " : "") + out.name;
  s += specialisation.many_sets ? "(const Set_" + out.name + "* sets, int count, Failure* failure"
                                : "(const Arguments_" + out.name + " a, long long g0, long long g1, long long g2, Failure* failure";
  s += specialisation.guarded ? ", const Failure* guards, int guard_count) {\n" : ") {\n";
  if (program.early) s += "  let_next_begin();\n";
  s += writer.entry();
  if (out.shared_bytes > 0) s += "  TEGULA_SHARED;\n";
  if (writer.part_bytes() > 0)
    s += "  constexpr int parts = " + std::to_string(writer.scratch_bytes()) + ";  // of reductions, in shared\n";
  if (writer.ring_bytes() > 0) {
    s += "  unsigned char* const ring = shared + " + std::to_string(writer.scratch_bytes() + writer.part_bytes()) +
         ";  // what is fetched ahead\n";
  }
  if (writer.staged_bytes() > 0) s += "  constexpr int held = " + std::to_string(row_place) + ";  // of rows\n";
  if (grid.cluster > 1) s += "  const int block = cluster_rank();\n";
  const std::string columns = std::to_string(grid.column_threads);
  s += "  const int tr = static_cast<int>(threadIdx.x) / " + columns + ", tc = " + (grid.cluster > 1 ? "block * " + columns + " + " : "") +
       "static_cast<int>(threadIdx.x) % " + columns + ";\n  (void)tr, (void)tc, (void)failure;\n";
  const std::string blocks = grid.cluster > 1 ? " / " + std::to_string(grid.cluster) : "";
  if (ordered) {
    // Every block goes over all instances in order and keeps to its own places.
    const std::string most = stores(program) ? "1" : "256";
    s += "  const unsigned int walkers = gridDim.x < " + most + "u ? gridDim.x : " + most + "u;\n  if (blockIdx.x >= walkers) return;\n";
    s += "  const unsigned int owners = walkers * blockDim.x, owner = blockIdx.x * blockDim.x + threadIdx.x;\n";
    if (specialisation.many_sets) {
      s += "  for (int set = 0; set < count; ++set) {\n  const auto& a = sets[set].a;\n";
      s += "  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];\n";
    }
    s += "  for (long long instance = 0; instance < g0 * g1 * g2; ++instance) {\n";
  } else if (specialisation.many_sets) {
    s += "  // The last set that begins at or before this instance.\n";
    s += "  const long long place = blockIdx.x" + blocks + ";\n  int set = 0;\n";
    s += "  for (int low = 0, high = count; low < high;) {\n    const int middle = (low + high) / 2;\n";
    s += "    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;\n    else high = middle;\n  }\n";
    s += "  const auto& a = sets[set].a;\n  const long long instance = place - sets[set].first_instance;\n";
    s += "  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];\n";
  } else {
    s += "  const long long instance = blockIdx.x" + blocks + ";\n";
  }
  if (specialisation.one_axis) {
    s += "  const long long id0 = instance, id1 = 0, id2 = 0;\n";
  } else {
    s += "  const long long id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * "
         "g1);\n";
  }
  s += "  (void)id0, (void)id1, (void)id2;\n";
  const std::vector<std::string> hints = cache_hints(analysis);
  for (std::size_t i = 0; i < names.size(); ++i) s += "  " + parameter_variable(program.parameters[i], names[i], hints[i]) + "\n";
  s += body;
  if (ordered) s += specialisation.many_sets ? "  }\n  }\n" : "  }\n";
  s += "}\n";
  name_by_text(out);
  return out;
}

}  // namespace tegula::gpu
