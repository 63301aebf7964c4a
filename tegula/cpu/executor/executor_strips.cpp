// Long tiles are computed in strips: consecutive words run on a piece that fits into the first-level cache before they go on to the next
// piece. A tile used only between those words is as long as a strip.

#include <algorithm>
#include <set>

#include "tegula/cpu/executor/executor_code.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

class Strips {
 public:
  Strips(Code& code, std::vector<Tile>& tiles, std::vector<Item>& items, std::int64_t length)
      : code_(code),
        tiles_(tiles),
        items_(items),
        strip_(length),
        uses_(tiles.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (const auto* list : {&items[i].reads, &items[i].writes}) {
        for (const int t : *list) uses_[static_cast<std::size_t>(t)].push_back(i);
      }
    }
  }

  void form() {
    // Scalars that change in loops and branches are not followed here.
    if (std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.target >= 0; })) return;
    std::vector<Item> out;
    for (std::size_t i = 0; i < items_.size();) {
      const StripRun run = run_from(i);
      if (run.words < 2) {
        out.push_back(std::move(items_[i++]));
        continue;
      }
      for (const std::size_t earlier : run.earlier) out.push_back(std::move(items_[earlier]));
      emit(run, out);
      i = run.end;
    }
    items_ = std::move(out);
  }

 private:
  /// Items that run strip by strip, and those between them that can go in front.
  struct StripRun {
    std::vector<std::size_t> members, earlier;
    std::size_t end = 0;  // after the last item of either list
    int words = 0;        // words among the members, not counting aims
    std::int64_t length = 0;
  };

  const Slot& slot(int index) const { return code_.slots[static_cast<std::size_t>(index)]; }
  Tile& tile(int index) { return tiles_[static_cast<std::size_t>(index)]; }
  int new_slot() {
    code_.slots.push_back({});
    return static_cast<int>(code_.slots.size()) - 1;
  }

  static bool aims(const Item& item) { return item.run() == aim_store; }

  /// The number of elements that an item works on in one go, 0 when it cannot be cut into strips.
  std::int64_t length(const Item& item) const {
    if (item.kind == Item::Kind::Map) {
      const auto& step = item.as<MapStep>();
      return slot(step.rows).integer == 1 ? slot(step.columns).integer : 0;
    }
    if (item.kind == Item::Kind::Across && item.continues) {
      const auto& step = item.as<AcrossStep>();
      return slot(step.outer).integer == 1 && step.inner == 1 ? step.length : 0;
    }
    return 0;
  }

  static bool meets(const std::vector<int>& tiles, const std::set<int>& set) {
    return std::any_of(tiles.begin(), tiles.end(), [&](int t) { return set.contains(t); });
  }

  /// True if the item can run before words that touch these tiles.
  static bool goes_in_front(const Item& item, const std::set<int>& touched, const std::set<int>& written) {
    if (item.bytes.empty() || item.kind == Item::Kind::Store || item.kind == Item::Kind::Scatter) return false;
    const Step* (*const asserts)(const Step*, Frame&) = check;  // unlike the functions of the same name
    return item.run() != asserts && item.run() != finish && !aims(item) && !meets(item.reads, written) && !meets(item.writes, touched);
  }

  /// The longest run that begins at `begin`. Reduced values are not there before it is over.
  StripRun run_from(std::size_t begin) const {
    StripRun run;
    std::set<int> reduced, touched, written, moving;
    for (std::size_t i = begin; i < items_.size(); ++i) {
      const Item& item = items_[i];
      const std::size_t word = aims(item) ? i + 1 : i;  // an aim stands in front of its word
      const std::int64_t count = word < items_.size() ? length(items_[word]) : 0;
      const bool fits = run.length == 0 ? count >= 4 * strip_ : count == run.length;  // shorter tiles stay whole
      if (!fits && run.length == 0) return run;
      if (!fits && goes_in_front(item, touched, written)) {
        run.earlier.push_back(i);
        continue;
      }
      if (!fits || meets(items_[word].reads, reduced)) break;
      std::set<int> more = moving;
      more.insert(items_[word].reads.begin(), items_[word].reads.end());
      more.insert(items_[word].writes.begin(), items_[word].writes.end());
      if (more.size() > static_cast<std::size_t>(StripStep::kMostTiles)) break;
      moving = std::move(more);
      run.length = count;
      if (word != i) run.members.push_back(i);
      run.members.push_back(word);
      ++run.words;
      run.end = word + 1;
      written.insert(items_[word].writes.begin(), items_[word].writes.end());
      touched.insert(moving.begin(), moving.end());
      if (items_[word].kind == Item::Kind::Across) reduced.insert(items_[word].writes.begin(), items_[word].writes.end());
      i = word;
    }
    std::erase_if(run.earlier, [&](std::size_t i) { return i >= run.end; });
    return run;
  }

  bool used_outside(int t, const StripRun& run) const {
    const auto& uses = uses_[static_cast<std::size_t>(t)];
    return std::any_of(uses.begin(), uses.end(),
                       [&](std::size_t i) { return !std::binary_search(run.members.begin(), run.members.end(), i); });
  }

  /// The tiles of a word that it reads or writes element by element; the others hold one value for all.
  std::vector<int> tiles_along(const Item& item) {
    if (item.kind == Item::Kind::Across) return item.reads;
    std::vector<int> along = item.writes;
    const auto& step = item.as<MapStep>();
    for (const int t : item.reads) {
      for (std::size_t k = 0; k < std::size(step.in); ++k) {
        if (step.in[k] == tile(t).slot && step.advances[k] != 0) along.push_back(t);
      }
    }
    return along;
  }

  void emit(const StripRun& run, std::vector<Item>& out) {
    StripStep strip;
    strip.length = strip_;
    strip.total = run.length;
    strip.count = new_slot(), strip.index = new_slot();
    // Tiles that are there before or after move on from strip to strip; the others are written anew in the same place.
    std::set<int> seen;
    for (const std::size_t i : run.members) {
      Item& item = items_[i];
      if (aims(item)) {  // once, in front of the strips
        out.push_back(item);
        continue;
      }
      const std::vector<int> along = tiles_along(item);
      if (item.kind == Item::Kind::Map) {
        item.as<MapStep>().columns = strip.count;
      } else {
        auto& step = item.as<AcrossStep>();
        step.count = strip.count, step.strip = strip.index, step.total = new_slot();
      }
      for (const int t : along) {
        if (!seen.insert(t).second) continue;
        if (used_outside(t, run)) {
          strip.tile[strip.tiles] = tile(t).slot;
          strip.bytes[strip.tiles++] = static_cast<std::int32_t>(strip_ * static_cast<std::int64_t>(size_of(tile(t).dtype)));
        } else {
          tile(t).shape = {strip_};
        }
      }
    }
    const int again = code_.labels++, done = code_.labels++;
    out.push_back(control(strip_begin, strip, done, true));
    out.push_back(label(again));
    for (const std::size_t i : run.members) {
      if (!aims(items_[i])) out.push_back(std::move(items_[i]));
    }
    out.push_back(control(strip_end, strip, again, false));
    out.push_back(label(done));
  }

  static Item control(Run run, StripStep step, int target, bool begins) {
    Item item;
    step.run = run;
    item.bytes.resize(sizeof step);
    std::memcpy(item.bytes.data(), &step, sizeof step);
    item.target = target;
    (begins ? item.loop_begin : item.loop_end) = true;
    item.strip = true;
    item.text = begins ? "strips of " + std::to_string(step.length) + " in " + std::to_string(step.total) : "next strip";
    return item;
  }
  static Item label(int number) {
    Item item;
    item.label = number;
    return item;
  }

  Code& code_;
  std::vector<Tile>& tiles_;
  std::vector<Item>& items_;
  std::int64_t strip_;                            // elements
  std::vector<std::vector<std::size_t>> uses_;    // by tile: the items that read or write it
};

}  // namespace

void form_strips(Code& code, std::vector<Tile>& tiles, std::vector<Item>& items, std::int64_t length) {
  Strips(code, tiles, items, length).form();
}

const Step* strip_begin(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const StripStep*>(at);
  frame.slots[step.index].integer = 0;
  frame.slots[step.count].integer = std::min(step.length, step.total);
  return following(step);
}

const Step* strip_end(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const StripStep*>(at);
  const std::int64_t index = ++frame.slots[step.index].integer, left = step.total - index * step.length;
  const bool more = left > 0;
  if (more) frame.slots[step.count].integer = std::min(step.length, left);
  for (std::int32_t i = 0; i < step.tiles; ++i) frame.slots[step.tile[i]].pointer += more ? step.bytes[i] : -(index - 1) * step.bytes[i];
  return more ? at_distance(step, step.distance) : following(step);
}

}  // namespace tegula::host
