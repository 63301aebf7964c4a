#include "tegula/simt/passes/convert_layouts.h"

#include <algorithm>
#include <bit>
#include <map>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/layouts/conversion.h"

namespace tegula::simt {

namespace {

const Type kInt = computed(DType::i32);

std::size_t bytes_of(const Type& type) { return type.pointers > 0 ? 8 : size_of(type.dtype); }

/// The register with that number, in the order of an array's elements.
Expression numbered(const Register& array, Bits number) {
  Expressions indices(array.sizes.size());
  auto left = static_cast<std::int64_t>(number);
  for (std::size_t i = array.sizes.size(); i-- > 0; left /= array.sizes[i]) indices[i] = left % array.sizes[i];
  return element(array.name, std::move(indices));
}

/// The exclusive or of the columns of a thread's bits: a term for each distance that bits move.
Expression moved_bits(const Columns& columns) {
  std::map<int, Bits> masks;  // distance -> bits of the thread
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (Bits bits = columns[i]; bits != 0; bits &= bits - 1) masks[std::countr_zero(bits) - static_cast<int>(i)] |= Bits{1} << i;
  std::optional<Expression> all;
  for (const auto& [distance, mask] : masks) {
    Expression term = group(binary("thread", "&", static_cast<std::int64_t>(mask)));
    if (distance != 0) term = group(binary(std::move(term), distance > 0 ? "<<" : ">>", std::abs(distance)));
    all = all ? binary(*std::move(all), "^", std::move(term)) : std::move(term);
  }
  return all ? *std::move(all) : Expression(0);
}

Columns columns_of(const std::vector<Spot>& spots, Bits Spot::* part) {
  Columns columns;
  for (const Spot& spot : spots) columns.push_back(spot.*part);
  return columns;
}
Columns joined(Columns a, const Columns& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Bits of the numbers whose columns those ahead of them make: where they are not 0 the same elements lie once more.
Bits repeated(const Columns& columns, Columns ahead) {
  Bits bits = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (solve(ahead, columns[i])) bits |= Bits{1} << i;
    else ahead.push_back(columns[i]);
  }
  return bits;
}

class Converter {
 public:
  explicit Converter(const Convert& convert) : c_(convert), how_(conversion_of(c_.from, c_.to, c_.bits, bytes_of(c_.source.type))) {
    const bool lanes = how_.way == Conversion::Way::Lanes && c_.source.type.pointers > 0;  // they exchange numbers only
    if (lanes) how_ = through_shared(c_.from, c_.to, c_.bits, bytes_of(c_.source.type));
  }

  Block statements() {
    const bool in_memory = how_.way == Conversion::Way::Shared;
    in_memory ? through_memory() : through_registers();
    Block block;
    if (in_memory) block.push_back(UseScratch{(std::size_t{1} << c_.bits) * bytes_of(c_.source.type)});
    block.push_back(Scope{std::move(out_)});
    return block;
  }

 private:
  void let(Name name, Type type, Expression value) {
    out_.push_back(Declare{.what = {name, type, {}}, .value = std::move(value), .constant = true});
  }

  void through_registers() {
    const Columns registers = joined(columns_of(how_.of_lanes, &Spot::reg), columns_of(how_.of_warps, &Spot::reg));
    Columns lanes = joined(columns_of(how_.of_lanes, &Spot::lane), columns_of(how_.of_warps, &Spot::lane));
    for (std::size_t i = 0; i < how_.of_lanes.size(); ++i) lanes[i] ^= Bits{1} << i;  // from the thread's own lane on
    const auto chosen = std::ranges::find_if(registers, [](Bits bits) { return bits != 0; });
    const Bits other = chosen == registers.end() ? 0 : *chosen;  // there is no third register to choose from
    const bool exchanges = how_.way == Conversion::Way::Lanes;
    if (exchanges || other != 0) let("thread", kInt, thread_index());
    if (exchanges) let("distance", kInt, moved_bits(lanes));
    if (other != 0) let("choice", kInt, moved_bits(registers));
    if (exchanges && other != 0) out_.push_back(Declare{.what = {"other", c_.target.type, {}}});
    for (Bits number = 0; number < static_cast<Bits>(c_.to.held()); ++number) {
      const Spot source = how_.source_of({number, 0, 0});
      const Expression target = numbered(c_.target, number), first = numbered(c_.source, source.reg),
                       second = numbered(c_.source, source.reg ^ other);
      if (!exchanges) {
        const Expression one = binary("choice", "==", 0);
        out_.push_back(Assign{.target = target, .value = other != 0 ? choose(one, first, second) : first});
        continue;
      }
      const Expression distance =
          source.lane == 0 ? Expression("distance") : binary("distance", "^", static_cast<std::int64_t>(source.lane));
      out_.push_back(Shuffle{.target = target, .source = first, .distance = distance});
      if (other == 0) continue;
      out_.push_back(Shuffle{.target = "other", .source = second, .distance = distance});
      out_.push_back(Statement(Assign{.target = target, .value = "other"}, binary("choice", "!=", 0)));
    }
  }

  void through_memory() {
    const Linear written = c_.from.mapped(how_.words), read = c_.to.mapped(how_.words);
    const Type pointer = pointer_to(c_.source.type);
    let("moved", pointer, reinterpret(pointer, "shared"));
    let("thread", kInt, thread_index());
    const Bits again = repeated(written.threads(), {}), registers_again = repeated(written.registers(), written.threads());
    let("to", kInt, moved_bits(written.threads()));
    let("from", kInt, moved_bits(read.threads()));
    const auto word = [](const char* place, const Linear& layout, Bits number) {
      const Bits bits = product(layout.registers(), number);
      Bits of_threads = 0;
      for (const Bits column : layout.threads()) of_threads |= column;
      // A sum where that is the same: it is part of the address of an access.
      return element("moved",
                     bits == 0 ? Expression(place) : binary(place, bits & of_threads ? "^" : "+", static_cast<std::int64_t>(bits)));
    };
    Condition first;
    if (again != 0) first = binary(group(binary("thread", "&", static_cast<std::int64_t>(again))), "==", 0);
    out_.push_back(Barrier{});
    for (Bits number = 0; number < static_cast<Bits>(written.held()); ++number) {
      if (number & registers_again) continue;
      out_.push_back(Statement(Assign{.target = word("to", written, number), .value = numbered(c_.source, number)}, first));
    }
    out_.push_back(Barrier{});
    for (Bits number = 0; number < static_cast<Bits>(read.held()); ++number)
      out_.push_back(Assign{.target = numbered(c_.target, number), .value = word("from", read, number)});
  }

  const Convert& c_;
  Conversion how_;
  Block out_;
};

bool converts(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& statement) { found = found || statement.as<Convert>() != nullptr; });
  return found;
}

void walk(Block& block) {
  if (!converts(block)) return;
  Block out;
  for (Statement& statement : block) {
    for_each_block(statement, walk);
    auto* const convert = statement.as<Convert>();
    if (!convert) {
      out.push_back(std::move(statement));
      continue;
    }
    for (Statement& one : Converter(*convert).statements()) out.push_back(std::move(one));
  }
  block = std::move(out);
}

}  // namespace

void convert_layouts(Kernel& kernel) { walk(kernel.body); }

}  // namespace tegula::simt
