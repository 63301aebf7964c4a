// Loads of a loop that are under way some iterations before they are needed.
//
// A thread copies what it will hold itself from global into shared memory (cp.async, sm_80), and later reads its own copy: no barrier, and no
// registers for what is on its way. Only memory that the loop does not write, at addresses that follow from the loop's counter.

#include "tegula/cuda/codegen_writer.h"

#include <algorithm>
#include <bit>

namespace tegula::gpu {

using tile::Word;

namespace {

constexpr std::size_t kRingBytes = 48 << 10;  // so that several blocks of a multiprocessor have one
constexpr std::size_t kLongestRingBytes = 96 << 10;
constexpr int kMostStages = 4;

bool is_pure(Word word) {
  return tile::is_elementwise(word) || word == Word::Broadcast || word == Word::ExpandDims || word == Word::Reshape ||
         word == Word::Arange || word == Word::Constant;
}

}  // namespace

/// Whether the value can be computed for a later iteration: from the counter and from what the loop does not change.
bool Writer::follows_counter(const tile::Region& body, Id id) const {
  const tile::Instruction& self = at(id);
  if (id == body.parameters[0]) return true;
  if (std::find(body.parameters.begin(), body.parameters.end(), id) != body.parameters.end()) return false;
  if (std::find(body.body.begin(), body.body.end(), id) == body.body.end()) return self.word != Word::Result || a_.resolve(id) == id;
  if (!is_pure(self.word)) return false;
  return std::all_of(self.operands.begin(), self.operands.end(), [&](Id operand) { return follows_counter(body, operand); });
}

bool Writer::uses_counter(const tile::Region& body, Id id) const {
  if (id == body.parameters[0]) return true;
  if (std::find(body.body.begin(), body.body.end(), id) == body.body.end()) return false;
  return std::any_of(at(id).operands.begin(), at(id).operands.end(), [&](Id operand) { return uses_counter(body, operand); });
}

/// The bytes a thread holds of the loaded tile as it lies in memory, when it can be fetched ahead; else 0.
std::size_t Writer::fetched_bytes(const tile::Region& body, Id id) {
  const tile::Instruction& self = at(id);
  if (self.word != Word::Load || self.operands.size() > 2) return 0;
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1;
  const Spread own = spread(id);
  if (own != Spread::Full && own != Spread::Column) return 0;
  const Form form = a_.affine(pointer);
  if (form.root < 0 || form.rest >= 0 || !follows_counter(body, pointer) || (mask >= 0 && !follows_counter(body, mask))) return 0;
  if (mask >= 0) {
    for (const Condition& condition : a_.box(mask).conditions)
      if (condition.kind == Condition::Kind::Tile) return 0;
  }
  if (!uses_counter(body, pointer)) return 0;
  const Id root = root_of(pointer);
  const auto writes = [&](auto&& again, const tile::Region& region) -> bool {
    return std::any_of(region.body.begin(), region.body.end(), [&](Id inner) {
      const tile::Instruction& word = at(inner);
      if ((word.word == Word::Store || word.word == Word::AtomicAdd) &&
          (root_of(word.operands[0]) == root || root_of(word.operands[0]) < 0))
        return true;
      return std::any_of(word.regions.begin(), word.regions.end(), [&](const tile::Region& r) { return again(again, r); });
    });
  };
  if (root < 0 || writes(writes, body)) return 0;
  const auto access = wide_access(pointer, mask, own);
  const auto size = size_of(a_.type(pointer).dtype);
  if (!access || static_cast<std::size_t>(access->wide) * size < 4) return 0;
  return static_cast<std::size_t>(grid_.held(self.type.shape)) * size;
}

/// Decides what the loop fetches ahead, and in how many stages.
Writer::Prefetch Writer::plan_prefetch(const tile::Region& body) {
  Prefetch plan;
  if (!prefetched_.empty()) return plan;  // one ring: the outer loop has it
  for (const Id id : body.body) {
    const std::size_t bytes = fetched_bytes(body, id);
    if (bytes == 0) continue;
    plan.places[id] = plan.stage_bytes;
    plan.stage_bytes += bytes * static_cast<std::size_t>(grid_.threads());
  }
  if (plan.stage_bytes == 0) return plan;
  plan.stages = std::clamp(static_cast<int>(kRingBytes / plan.stage_bytes), 2, kMostStages);
  if (static_cast<std::size_t>(plan.stages) * plan.stage_bytes > kLongestRingBytes) return {};
  ring_bytes_ = std::max(ring_bytes_, static_cast<std::size_t>(plan.stages) * plan.stage_bytes);
  return plan;
}

/// The place in shared memory of the thread's vector of a load.
std::string Writer::ring_place(const Prefetch& plan, Id id, const std::string& stage) const {
  const tile::Type& pointer = a_.type(at(id).operands[0]);
  const std::size_t vector = static_cast<std::size_t>(grid_.vector) * size_of(pointer.dtype);
  const std::string place = spread(id) == Spread::Full ? "(r * " + std::to_string(grid_.column_steps) + " + c)" : "c";
  return "ring + " + stage + " * " + std::to_string(plan.stage_bytes) + " + " + std::to_string(plan.places.at(id)) + " + (" + place +
         " * " + std::to_string(grid_.threads()) + " + static_cast<int>(threadIdx.x)) * " + std::to_string(vector);
}

/// Starts the copies for the iteration `counter`, into `stage`.
void Writer::fetch(const Prefetch& plan, const tile::Region& body, const std::string& counter, const std::string& end,
                   const std::string& stage) {
  const Id induction = body.parameters[0];
  open("if (" + counter + " < " + end + ")");
  line(constant_type(a_.type(induction)) + " " + variable(induction) + " = " + counter + ";");  // in place of the loop's own
  for (const Id id : body.body) {
    const tile::Instruction& self = at(id);
    if (self.type.shape.empty() && self.word != Word::Constant && tile::has_result(self.word) && is_pure(self.word) &&
        follows_counter(body, id) && !renames(id))
      group(id);
  }
  for (const auto& [id, offset] : plan.places) {
    const tile::Instruction& self = at(id);
    const auto access = wide_access(self.operands[0], self.operands.size() > 1 ? self.operands[1] : -1, spread(id));
    loops(spread(id), self.type.shape, Step::Vectors, [&] {
      const std::string count = std::to_string(grid_.vector);
      line("copy_ahead<" + std::to_string(access->wide) + ", " + count + ">(" + ring_place(plan, id, stage) + ", " + access->pointer +
           ", " + inside_text(*access) + ");");
    });
  }
  close();
  line("close_copies();");
}

/// The thread's own copy of what was fetched, for the load.
Writer::Access Writer::fetched_access(const Prefetch& plan, Id id) const {
  const DType dtype = a_.type(at(id).operands[0]).dtype;
  const int most = static_cast<int>(16 / size_of(dtype));
  return {.pointer = "reinterpret_cast<const " + stored_name(dtype) + "*>(" + ring_place(plan, id, "stage") + ")",
          .wide = std::min(grid_.vector, most),
          .on = {},
          .limits = {}};
}

}  // namespace tegula::gpu
