#include "tegula/simt/decide/products.h"

#include <algorithm>
#include <bit>

#include "tegula/simt/decide/parts.h"
#include "tegula/tile/access_hints.h"
#include "tegula/tile/passes/add_into_products.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Program;
using tile::Word;

namespace {

constexpr int kMostBoxRows = 256;  // of a tensor map

class Decider {
 public:
  Decider(const Values& values, int architecture) : v_(values), a_(values.analysis()), limit_(shared_limit(architecture)) {
    for (const auto& [id, dtype] : tensor_products(a_.program(), architecture))
      if (v_.spread(id) == Spread::Full) p_.all[id].dtype = dtype;
  }

  TensorProducts decide() {
    for (auto& [id, product] : p_.all) operand(id, 0, product.dtype), operand(id, 1, product.dtype);  // finds what cannot be copied
    p_.copied.clear(), p_.absorbed.clear();
    for (auto& [id, product] : p_.all) {
      product.left = operand(id, 0, product.dtype);
      product.right = operand(id, 1, product.dtype);
      std::size_t written = 0;
      for (Operand* const one : {&product.left, &product.right}) {
        if (one->copied || one->in_registers) continue;
        if (v_.grid().groups) one->place = take(one->tile.bytes());
        else one->place = written, written += one->tile.bytes();
      }
      p_.scratch_bytes = std::max(p_.scratch_bytes, written);
      for (const Operand* const one : {&product.left, &product.right})  // strips of 64 halves, where they are not along the terms
        p_.fit_groups = p_.fit_groups && (product.dtype != DType::f32 || says_roles()) && (!one->by_terms || one->tile.pieces >= 8);
    }
    p_.fit_groups = p_.fit_groups && v_.grid().groups;
    for_each_region(a_.program(), a_.program().body, [&](const tile::Region& region) { add_in_place(region); });
    plan_rings(a_.program().body);
    find_late(a_.program().body);
    for (auto& [load, copied] : p_.copied)
      if (copied.loop < 0) copied.place = take(copied.tile.bytes());
    decide_roles(v_, p_);
    if (p_.fit_groups) p_.stored = stored_tiles(v_);
    if (p_.stays && !p_.stored.empty())
      p_.stored_place = take(static_cast<std::size_t>(v_.grid().threads() / 32) * (StoredTile::kPieces * StoredTile::kBytes));
    if (p_.stays && stores_halves()) {
      constexpr std::size_t kBytesOfWarp = 8 * 128;  // as many rows of 64 halves as lanes hold a part of each
      p_.rows_bytes = static_cast<std::size_t>(v_.grid().threads() / 32) * kBytesOfWarp;
      p_.rows_place = take(p_.rows_bytes);
    }
    choose_stages();
    if (p_.rings.empty()) p_.copies_apart = p_.stays = p_.turns = p_.behind = false;
    p_.parts_fit = v_.grid().parts() == 1 || parts_fit(v_, p_);
    choose_boxes();
    choose_stored();
    return std::move(p_);
  }

 private:
  /// Returns true if a loop has the hint warp_specialize, either way: without it TF32 is not multiplied in groups. Operands that threads round and bring into
  /// lines cost more there (H200, 4096³, b as (K, N): 41 TFLOP/s, cuBLAS 347; e4m3 without the hint 1295).
  bool says_roles() const {
    return std::ranges::any_of(a_.program().instructions,
                               [](const Instruction& self) { return self.word == Word::For && (self.attribute >> 16 & 16) != 0; });
  }
  /// Halves that threads store.
  bool stores_halves() const {
    const auto& all = a_.program().instructions;
    for (Id id = 0; id < static_cast<Id>(all.size()); ++id)
      if (v_.at(id).word == Word::Store && is_half(a_.type(v_.at(id).operands[0]).dtype) && !p_.stored.contains(id)) return true;
    return false;
  }
  /// A place of its own among the tiles.
  std::size_t take(std::size_t bytes) {
    const std::size_t place = p_.bytes;
    p_.bytes += whole(bytes);
    return place;
  }
  /// wgmma's swizzles count from multiples of 1024 bytes.
  std::size_t whole(std::size_t bytes) const { return v_.grid().groups ? (bytes + 1023) / 1024 * 1024 : bytes; }

  // ---- Operands.
  bool is_product(Id id) const { return id >= 0 && p_.all.contains(id); }
  bool multiplied_only(Id id) const {
    const auto& users = a_.users(id);
    return !users.empty() &&
           std::ranges::all_of(users, [&](Id user) { return is_product(user) && a_.resolve(v_.at(user).operands[2]) != a_.resolve(id); });
  }
  /// Returns true if the value is a tile of more than two axes, taken as rows and columns.
  bool is_merge(Id id) const {
    return v_.grid().merges_axes && v_.at(id).word == Word::Reshape && a_.type(id).shape.rank() == 2 &&
           a_.type(v_.at(id).operands[0]).shape.rank() > 2;
  }
  /// The same where axes are turned, or taken together, in between: what stands there is added to `between`.
  bool multiplied_only(Id id, std::set<Id>& between) const {
    const auto& users = a_.users(id);
    return !users.empty() && std::ranges::all_of(users, [&](Id user) {
      if (user < 0) return false;
      if (v_.at(user).word == Word::Transpose || is_merge(user)) return between.insert(user), multiplied_only(user, between);
      return is_product(user) && a_.resolve(v_.at(user).operands[2]) != a_.resolve(id);
    });
  }
  Operand operand(Id dot, std::size_t which, DType dtype) {
    Operand one;
    Id id = a_.resolve(v_.at(dot).operands[which]);
    const Shape shape = a_.type(id).shape;
    bool turned = false;  // the tile's axes with respect to the operand's
    while (v_.at(id).word == Word::Transpose || is_merge(id)) {
      turned = turned != (v_.at(id).word == Word::Transpose);
      id = a_.resolve(v_.at(id).operands[0]);
    }
    one.value = id;
    const bool halves = is_half(dtype);
    const std::int64_t terms = which == 0 ? shape[1] : shape[0], others = which == 0 ? shape[0] : shape[1];
    const int terms_axis = (which == 0) != turned ? 1 : 0;  // of `id`
    if (const CopiedTile* const copied = copied_tile(id, dtype, 1 - terms_axis,
                                                     v_.grid().parts_of_terms ? 1
                                                     : which == 0             ? v_.grid().row_blocks
                                                                              : v_.grid().column_blocks)) {
      if (!halves && copied->along != terms_axis) refused_.insert(id);  // only halves can be transposed by ldmatrix
      one.copied = true;
      one.by_terms = copied->along != terms_axis;
      one.tile = copied->tile;
      return one;
    }
    one.in_registers = which == 0 && !turned && halves && v_.grid().column_warps == 1 && v_.spread(id) == Spread::Full && has_registers(id);
    if (one.in_registers) one.value = before_rounding(id, dtype);
    one.by_terms = halves && terms_axis == 0;
    one.swapped = !halves && terms_axis == 0;
    const std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
    one.tile = tile_of(one.by_terms ? terms : others, (one.by_terms ? others : terms) * size);
    return one;
  }
  /// Returns the value that a product's left operand is rounded from, if fragments round it anyway and nothing else takes the rounded numbers; else the
  /// operand.
  Id before_rounding(Id id, DType dtype) {
    const Instruction& self = v_.at(id);
    if (self.word != Word::Narrow || static_cast<DType>(self.attribute) != dtype || !multiplied_only(id)) return id;
    const bool on_the_left = std::ranges::all_of(a_.users(id), [&](Id user) { return a_.resolve(v_.at(user).operands[1]) != id; });
    const Id from = a_.resolve(self.operands[0]);
    if (!on_the_left || v_.spread(from) != Spread::Full || !has_registers(from)) return id;
    p_.absorbed.insert(id);
    return from;
  }
  /// Returns true if threads hold the value as numbers that are computed with. Recipes need no test: the grid of fragments has none (schedule.cpp).
  bool has_registers(Id id) const {
    const Word word = v_.at(id).word;
    return word != Word::Constant && word != Word::Parameter && a_.form(id).kind == Form::Kind::None && !v_.renames(id);
  }
  SwizzledTile tile_of(std::int64_t rows, std::int64_t bytes) const {
    return {.rows = static_cast<int>(rows), .pieces = static_cast<int>(bytes / 16), .strips = v_.grid().groups};
  }
  /// Elements side by side along an axis that one access can move.
  int contiguous(const Form& form, int axis, DType dtype) const {
    const auto along = static_cast<std::size_t>(form.stride.size() > 2 ? static_cast<int>(form.stride.size()) - 1 : axis);
    if (!form.stride[along].is(1)) return 0;
    int known = std::min({form.base.twos, a_.twos(form.root), 4});
    for (std::size_t i = 0; i < form.stride.size(); ++i)
      if (i != along) known = std::min(known, form.stride[i].twos);
    return std::min(16 / static_cast<int>(size_of(dtype)), 1 << known);
  }
  /// `parts`: of blocks of a cluster, along the tile's axis `cut`.
  const CopiedTile* copied_tile(Id id, DType dtype, int cut, int parts) {
    if (const auto known = p_.copied.find(id); known != p_.copied.end()) return &known->second;
    const Instruction& self = v_.at(id);
    if (self.word != Word::Load || refused_.contains(id) || tile::AccessHints::of(self).is_volatile) return nullptr;
    const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1;
    if (a_.type(pointer).dtype != dtype) return nullptr;
    std::set<Id> between;
    const Form form = a_.affine(pointer);
    if (!multiplied_only(id, between) || form.root < 0 || form.rest >= 0) return nullptr;
    CopiedTile copied;
    const bool is_deep = self.type.shape.rank() > 2;
    Shape shape = in_two_axes(self.type.shape);
    if (parts > 1) shape[cut] /= parts;
    for (const int axis : {1, 0}) {
      if (is_deep && axis == 0) continue;
      const int wide = contiguous(form, axis, dtype);
      if (wide <= copied.wide && axis == 0) continue;
      copied.wide = wide, copied.along = axis;
    }
    const std::int64_t line = shape[copied.along] * static_cast<std::int64_t>(size_of(dtype));
    if (copied.wide * static_cast<int>(size_of(dtype)) < 4 || line < kStepBytes) return nullptr;
    if (mask >= 0) {
      for (const Condition& one : a_.box(mask).conditions) {
        if (one.kind == Condition::Kind::Tile) return nullptr;
        if (one.kind == Condition::Kind::AtLeast && one.axis == axis_along(self.type.shape, copied)) return nullptr;
      }
    }
    copied.tile = tile_of(shape[1 - copied.along], line);
    if (parts > 1) copied.part = shape[cut], copied.part_along = copied.along == cut;
    else if (!v_.grid().parts_of_terms) copied.shares = v_.grid().parts();
    if (v_.grid().groups && a_.maps() && copied.tile.rows <= kMostBoxRows) copied.box = box_of(a_, id, copied.along);
    p_.absorbed.insert(between.begin(), between.end());
    return &(p_.copied[id] = copied);
  }

  // ---- Sums that stay where they are.
  /// A product adds to the registers of its accumulator where nothing else takes that one there.
  void add_in_place(const tile::Region& region) {
    const auto here = [&](Id id) { return std::ranges::find(region.body, id) != region.body.end(); };
    for (const Id id : region.body) {
      if (!is_product(id)) continue;
      const Id sum = a_.resolve(v_.at(id).operands[2]);
      const bool carried = std::ranges::find(region.parameters, sum) != region.parameters.end();
      const bool multiplied = a_.resolve(v_.at(id).operands[0]) == sum || a_.resolve(v_.at(id).operands[1]) == sum;
      const bool own = multiplied ? false : carried ? carries(region, sum, id) : here(sum) && a_.users(sum).size() == 1;
      if (own && a_.type(sum).shape == a_.type(id).shape && has_registers(sum)) {
        const auto first = p_.in_place.find(sum);
        p_.in_place[id] = first == p_.in_place.end() ? sum : first->second;
      }
    }
  }
  /// Returns true if only that product takes the carried value within the loop, and its result is carried on.
  bool carries(const tile::Region& region, Id sum, Id dot) const {
    bool alone = true;
    for_each_region(a_.program(), region, [&](const tile::Region& inner) {
      for (const Id id : inner.body)
        for (const Id operand : v_.at(id).operands) alone = alone && (id == dot || a_.resolve(operand) != sum);
      if (&inner != &region)
        for (const Id id : inner.results) alone = alone && a_.resolve(id) != sum;
    });
    const auto k = static_cast<std::size_t>(std::ranges::find(region.parameters, sum) - region.parameters.begin());
    if (!alone || k == 0) return false;
    for (Id id = a_.resolve(region.results[k - 1]); is_product(id); id = a_.resolve(v_.at(id).operands[2])) {
      if (id == dot) return true;
      if (a_.users(id).size() != 1) return false;
    }
    return false;
  }

  // ---- What loops copy ahead.
  void plan_rings(const tile::Region& region) {
    for (const Id id : region.body) {
      const Instruction& self = v_.at(id);
      for (const tile::Region& inner : self.regions) plan_rings(inner);
      if (self.word != Word::For || (self.attribute & 255) == 1) continue;
      const tile::Region& body = self.regions[0];
      TileRingPlan plan;
      for (const Id load : body.body) {
        const auto copied = p_.copied.find(load);
        if (copied == p_.copied.end() || !can_fetch_ahead(v_, body, load)) continue;
        copied->second.loop = id, copied->second.place = plan.stage_bytes;
        plan.stage_bytes += whole(copied->second.tile.bytes());
        plan.loads.push_back(load);
      }
      if (plan.loads.empty()) continue;
      plan.boxes = std::ranges::all_of(plan.loads, [&](Id load) { return p_.copied.at(load).box.has_value(); });
      plan.stages = static_cast<int>(self.attribute & 255);
      plan.addresses = addresses_of(v_, body);
      if (plan.boxes) come_apart(body, plan);
      p_.rings[id] = std::move(plan);
    }
  }
  /// Tiles of several products of an iteration, all of which stand in the loop itself, come one by one.
  void come_apart(const tile::Region& body, TileRingPlan& plan) {
    const auto fetched = [&](const Operand& one) { return one.copied && std::ranges::find(plan.loads, one.value) != plan.loads.end(); };
    const auto reads = [&](const auto& one) { return fetched(one.second.left) || fetched(one.second.right); };
    const auto here = [&](Id id) { return is_product(id) && reads(*p_.all.find(id)); };
    const auto count = std::ranges::count_if(body.body, here);
    if (count < 2 || count != std::ranges::count_if(p_.all, reads)) return;
    plan.apart = true;
    for (const Id id : body.body) {  // in the order in which they multiply
      if (!here(id)) continue;
      for (const Operand* const one : {&p_.all.at(id).left, &p_.all.at(id).right})
        if (fetched(*one)) p_.copied.at(one->value).last = id;
    }
  }
  /// The only product of a loop, whose sums nothing else takes there, of tiles that the loop copies ahead, or that lie there all the time.
  void find_late(const tile::Region& region) {
    for (const Id id : region.body) {
      for (const tile::Region& inner : v_.at(id).regions) find_late(inner);
      const auto ring = p_.rings.find(id);
      if (!p_.fit_groups || ring == p_.rings.end() || ring->second.stages == 2 || iterations_of(id).value_or(3) < 3) continue;
      std::vector<Id> inside;
      for_each_region(a_.program(), v_.at(id).regions[0], [&](const tile::Region& inner) {
        for (const Id one : inner.body)
          if (p_.all.contains(one)) inside.push_back(one);
      });
      if (inside.size() != 1 || imprecise_terms(v_.at(inside[0])) > 0) continue;  // which wait for parts of their own
      const tile::Region& body = v_.at(id).regions[0];
      Product& product = p_.all.at(inside[0]);
      const auto stays = [&](const Operand& one) {
        if (!one.copied) return false;
        const CopiedTile& copied = p_.copied.at(one.value);
        return copied.loop == id || std::ranges::find(body.body, one.value) == body.body.end();
      };
      const auto sum = p_.in_place.find(inside[0]);
      const bool carried = sum != p_.in_place.end() && std::ranges::find(body.parameters, sum->second) != body.parameters.end() &&
                           std::ranges::find(body.body, inside[0]) != body.body.end() && a_.users(inside[0]).size() == 1;
      if (!carried || !stays(product.left) || !stays(product.right)) continue;
      product.late = true;
      ring->second.late = 1;
    }
  }
  /// Returns the number of the loop's iterations, if it is known.
  std::optional<std::int64_t> iterations_of(Id loop) const {
    std::int64_t numbers[3];
    for (std::size_t i = 0; i < 3; ++i) {
      const Instruction& one = v_.at(a_.resolve(v_.at(loop).operands[i]));
      if (one.word != Word::Constant) return {};
      numbers[i] = one.integer;
    }
    return numbers[2] > 0 ? std::optional((numbers[1] - numbers[0] + numbers[2] - 1) / numbers[2]) : std::nullopt;
  }
  /// Chooses the stages of each ring: no more than there are iterations, and as many as two blocks of a multiprocessor have room for (of wgmma if these
  /// are 3 copied by TMA), otherwise as many as one has, from 2 to 4.
  /// H200, bf16, 4096³, TFLOP/s (cuBLAS 701): mma, tiles of 128 x 128: 64 terms in 3 stages 262, in 4, for which one block has room, 179; 32 terms
  /// in 4 stages 353. wgmma: 64 terms in 3 stages 255, in 4 365; 32 terms in 4 stages 344; tiles of 128 x 256, 64 terms in 4 stages 398 (8192³: 426
  /// of 657), 256 x 128 312. With copies by TMA 4 stages of 128 x 256 x 64 632 (of 698; 8192³: 662 of 665), 256 x 128 618, 128 x 128 519, in 3
  /// stages 614 (8192 x 768 x 768: 402 and 461).
  void choose_stages() {
    constexpr std::size_t kOther = 2048;
    constexpr int kMostStages = 4;
    constexpr std::size_t kCounterBytes = 1024;  // more than a ring has stages for
    for (auto ring = p_.rings.begin(); ring != p_.rings.end();) {
      TileRingPlan& plan = ring->second;
      const std::size_t used = p_.bytes + p_.scratch_bytes + kOther + (plan.boxes ? whole(kCounterBytes) : 0);
      const auto fit = [&](std::size_t room) { return room > used ? static_cast<int>((room - used) / plan.stage_bytes) : 0; };
      const int most = fit(limit_);
      if (plan.apart && most > 0) {
        choose_stages_apart(plan, most, fit(limit_ / 2));
        ++ring;
        continue;
      }
      if (most < 2 + plan.late) end_early(ring->first, plan);
      if (most < 2) {
        for (const Id load : plan.loads) {
          CopiedTile& copied = p_.copied.at(load);
          copied.loop = -1, copied.place = take(copied.tile.bytes());
        }
        ring = p_.rings.erase(ring);
        continue;
      }
      const bool one_block = v_.grid().groups && !(plan.boxes && fit(limit_ / 2) >= 3);
      const int least = 2 + plan.late, all = static_cast<int>(std::clamp<std::int64_t>(iterations_of(ring->first).value_or(most), 1, most));
      const int wanted = std::min(all, fit(one_block ? limit_ : limit_ / 2));
      plan.stages =
          plan.stages > 1 ? std::clamp(plan.stages, least, most) : std::clamp(wanted, least, std::max(least, std::min(kMostStages, most)));
      plan.place = p_.bytes;
      p_.bytes += static_cast<std::size_t>(plan.stages) * plan.stage_bytes;
      if (plan.boxes) plan.counters = take(8 * static_cast<std::size_t>(plan.stages) * (p_.copies_apart ? 2 : 1));
      ++ring;
    }
  }
  /// Two blocks of a multiprocessor hide each other's waits better than a second stage does, unless a warp of its own copies.
  void choose_stages_apart(TileRingPlan& plan, int most, int beside_another) {
    constexpr int kMostStages = 2;
    plan.stages =
        plan.stages > 1 ? std::min(plan.stages, most) : std::clamp(p_.copies_apart ? most : beside_another, 1, std::min(most, kMostStages));
    plan.place = p_.bytes;
    p_.bytes += static_cast<std::size_t>(plan.stages) * plan.stage_bytes;
    plan.counters = take(8 * static_cast<std::size_t>(plan.stages) * plan.loads.size() * (p_.copies_apart ? 2 : 1));
  }
  /// Gives the boxes that rings have their maps; others are copied by threads.
  void choose_boxes() {
    for (auto& [load, copied] : p_.copied) {
      const auto ring = p_.rings.find(copied.loop);
      if (ring == p_.rings.end() || !ring->second.boxes) {
        copied.box.reset();
        continue;
      }
      simt::TensorMap map = copied.box->map;
      map.pitch = copied.tile.pitch();
      map.box_columns = map.pitch / static_cast<int>(size_of(map.dtype));
      if (!map.inside) map.box_rows = copied.rows_of_share();
      copied.map = number_of(map);
    }
  }
  int number_of(const simt::TensorMap& map) {
    const auto number = std::ranges::find(p_.maps, map) - p_.maps.begin();
    if (number == std::ssize(p_.maps)) p_.maps.push_back(map);
    return static_cast<int>(number);
  }
  /// Stores tiles by way of a ring, which nobody needs behind its loop, if blocks do not stay.
  void choose_stored() {
    std::size_t room = 0;
    for (const auto& [loop, plan] : p_.rings) {
      const std::size_t bytes = static_cast<std::size_t>(plan.stages) * plan.stage_bytes;
      if (!p_.stays && plan.boxes && bytes > room) room = bytes, p_.stored_place = plan.place;
    }
    std::erase_if(p_.stored, [&](const auto& one) {
      return !p_.stays && room < static_cast<std::size_t>(numel(a_.type(v_.at(one.first).operands[0]).shape)) * 2;
    });
    for (auto& [id, tile] : p_.stored) tile.map = number_of(tile.box.map);
  }
  /// Ends products within their own iteration: the ring has no room for one more stage.
  void end_early(Id loop, TileRingPlan& plan) {
    plan.late = 0;
    const std::vector<Id>& body = v_.at(loop).regions[0].body;
    for (auto& [id, product] : p_.all)
      if (std::ranges::find(body, id) != body.end()) product.late = false;
  }

  const Values& v_;
  const Analysis& a_;
  std::size_t limit_;
  TensorProducts p_;
  std::set<Id> refused_;  // loads that are not copied, as a product needs them the other way round
};

}  // namespace

TensorProducts decide_products(const Values& values, int architecture) {
  if (!values.grid().fragments) return {.fit_groups = false};
  return Decider(values, architecture).decide();
}

}  // namespace tegula::gpu
