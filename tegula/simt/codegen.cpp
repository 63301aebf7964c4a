#include "tegula/simt/codegen.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/simt/decide/decisions.h"
#include "tegula/simt/kernel/kernel.h"
#include "tegula/simt/lower/lowering.h"
#include "tegula/simt/passes/compare_in_vector.h"
#include "tegula/simt/passes/convert_layouts.h"
#include "tegula/simt/passes/fetch_ahead.h"
#include "tegula/simt/passes/fetch_tiles.h"
#include "tegula/simt/passes/keep_packed.h"
#include "tegula/simt/passes/merge_barriers.h"
#include "tegula/simt/passes/place_barriers.h"
#include "tegula/simt/passes/place_shared.h"
#include "tegula/simt/passes/split_roles.h"
#include "tegula/simt/passes/wait_late.h"
#include "tegula/simt/print/print.h"
#include "tegula/simt/text_hash.h"
#include "tegula/simt/verify/verify.h"
#include "tegula/tile/passes/add_into_products.h"
#include "tegula/tile/passes/mask_where_needed.h"

namespace tegula::gpu {
namespace {

using tile::Instruction;
using tile::Program;
using tile::Word;

constexpr int kLargestFact = 4;
/// The first architecture on which a kernel can wait for the launch ahead by itself (griddepcontrol, PTX 7.8).
constexpr int kWaitsItself = 90;

/// Returns true if the number is used only as a limit: of a loop, of coordinates, of a count of tiles. Its divisors make no access wider.
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

/// A placeholder for the end of a kernel's name until its text is known.
constexpr const char* kNameless = "_@";

std::string nameless(const Program& program) {
  std::string name = "k_";
  for (const char c : program.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + kNameless;
}

/// Named by what is compiled: programs and specialisations that come to the same code are one kernel, which is compiled once, whatever lines of the
/// user's program its comments name.
void name_by_text(Generated& code) {
  char digits[24];
  const std::string hashed = without_comments(code.source) + std::to_string(code.shared_bytes);
  std::snprintf(digits, sizeof digits, "_%016llx", static_cast<unsigned long long>(text_hash(hashed)));
  const std::string before = code.name;
  code.name.replace(code.name.size() - std::strlen(kNameless), std::string::npos, digits);
  for (std::size_t at = code.source.find(before); at != std::string::npos; at = code.source.find(before, at))
    code.source.replace(at, before.size(), code.name);
}

}  // namespace

std::string without_comments(const std::string& source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t at = 0, end; at < source.size(); at = end) {
    end = std::min(source.find('\n', at), source.size() - 1) + 1;
    if (source.compare(std::min(source.find_first_not_of(' ', at), end), 2, "//") != 0) out.append(source, at, end - at);
  }
  return out;
}

Specialisation specialise(const Program& program, std::span<const runtime::ArgumentSet> sets) {
  Specialisation result;
  result.many_sets = sets.size() != 1;
  result.maps = !result.many_sets;
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

namespace {

simt::Kernel lowered(const Analysis& analysis, const Decisions& decisions, const Specialisation& specialisation) {
  const Program& program = analysis.program();
  const ThreadGrid& grid = decisions.grid;
  simt::Kernel kernel{.program = program.name,
                      .rows = grid.rows,
                      .columns = grid.columns,
                      .vector = grid.vector,
                      .row_threads = grid.row_threads,
                      .column_threads = grid.column_threads,
                      .groups = grid.groups,
                      .column_warps = grid.fragments ? grid.column_warps : 0,
                      .cluster = std::max(grid.cluster, grid.parts()),
                      .rows_apart = grid.row_blocks > 1 ? static_cast<int>(grid.rows_of_part()) : 0,
                      .columns_apart = grid.column_blocks > 1 ? static_cast<int>(grid.columns_of_part()) : 0,
                      .resident = decisions.products.turns ? 1 : grid.resident,  // the compiler needs the number to move registers
                      .many_sets = specialisation.many_sets,
                      .guarded = specialisation.guarded,
                      .one_axis = specialisation.one_axis,
                      .lets_next_begin = program.early,
                      .walkers = decisions.walkers,
                      .copiers = !decisions.products.copies_apart ? 0
                                 : decisions.products.turns       ? 128
                                                                  : 32,
                      .stays = decisions.products.stays,
                      .parameters = {},
                      .maps = {},
                      .assembly = {},
                      .prints = simt::printed_words(program),
                      .entry = {},
                      .begin = {},
                      .body = {},
                      .end = {}};
  for (std::size_t i = 0; i < program.parameters.size(); ++i)
    kernel.parameters.push_back({.name = analysis.parameter_names()[i], .declared = program.parameters[i], .hint = decisions.hints[i]});
  for (const tile::Instruction& self : program.instructions) {
    if (self.word != Word::InlineAsm) continue;
    const tile::Text& text = program.texts[static_cast<std::size_t>(self.attribute)];
    simt::Assembly assembly{.name = function_name(text), .what = text, .result = self.type.dtype, .operands = {}};
    for (const tile::Id operand : self.operands) assembly.operands.push_back(analysis.type(operand).dtype);
    kernel.assembly.push_back(std::move(assembly));
  }
  Lowering(analysis, decisions).lower(kernel);
  return kernel;
}

}  // namespace

namespace {

/// The program as tensor cores do it.
std::optional<Program> with_products(const Program& program, int architecture) {
  if (!shape_of_products(program, architecture)) return {};
  return tile::mask_where_needed(tile::add_into_products(program));
}

}  // namespace

simt::Kernel make_kernel(const Program& given, const Specialisation& specialisation, int architecture) {
  const std::optional<Program> other = with_products(given, architecture);
  const Program& program = other ? *other : given;
  const Analysis analysis(program, specialisation, architecture);
  simt::Kernel kernel = lowered(analysis, decide(analysis, architecture), specialisation);
  simt::wait_late(kernel);
  simt::fetch_ahead(kernel);
  simt::split_roles(kernel);
  simt::fetch_tiles(kernel);
  simt::keep_packed(kernel);
  simt::convert_layouts(kernel);
  simt::compare_in_vector(kernel);
  simt::place_barriers(kernel);
  simt::place_shared(kernel);
  simt::merge_barriers(kernel);
  simt::name_team_barriers(kernel);
  if (kernel.shared_bytes() > shared_limit(architecture)) {
    throw Error({.op = "cuda",
                 .got = "a tile of " + program.name + " that needs " + std::to_string(kernel.shared_bytes()) + " bytes of shared memory",
                 .expected = "at most " + std::to_string(shared_limit(architecture)),
                 .advice = "smaller tiles, or shorter lines to sort"});
  }
  if (checking(Check::Plan)) simt::verify(kernel);
  return kernel;
}

Generated generate(const Program& program, const Specialisation& specialisation, int architecture) {
  const simt::Arena arena;  // the kernel goes with it
  const simt::Kernel kernel = make_kernel(program, specialisation, architecture);
  Generated out{.name = nameless(program),
                .source = {},
                .threads = kernel.threads(),
                .cluster = kernel.cluster,
                .shared_bytes = kernel.shared_bytes(),
                .stays = kernel.stays,
                .early = program.early && architecture >= kWaitsItself,
                .maps = kernel.maps};
  out.source = simt::print(kernel, out.name);
  name_by_text(out);
  return out;
}

std::string decisions_of(const Program& given, const Specialisation& specialisation, int architecture) {
  const std::optional<Program> other = with_products(given, architecture);
  const Analysis analysis(other ? *other : given, specialisation, architecture);
  return to_string(decide(analysis, architecture), analysis);
}

}  // namespace tegula::gpu
