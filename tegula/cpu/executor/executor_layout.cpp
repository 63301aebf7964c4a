// The last stage: which tiles may lie in the user's memory, where the others lie in scratch, and the bytes of the code.

#include <algorithm>
#include <set>

#include "tegula/cpu/executor/executor_code.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

struct Life {
  int first = -1, last = -1;  // positions in the code
};

class Layout {
 public:
  Layout(std::vector<Tile>& tiles, std::vector<Item>& items) : tiles_(tiles), items_(items) {}

  void run(Code& code, const CompileOptions& options) {
    find_lives();
    if (options.in_place) aim_stores();
    form_strips(code, tiles_, items_, options.strip);
    find_lives();
    protect_tiles(code);
    allocate(code);
  }

 private:
  Life& life(int tile) { return lives_[static_cast<std::size_t>(tile)]; }
  Tile& tile(int index) { return tiles_[static_cast<std::size_t>(index)]; }
  int size() const { return static_cast<int>(items_.size()); }
  Item& item(int position) { return items_[static_cast<std::size_t>(position)]; }
  bool reads(const Item& item, int tile) const { return std::find(item.reads.begin(), item.reads.end(), tile) != item.reads.end(); }

  /// Finds tiles' lives, from the first write to the last read; a tile that is there before a loop and read in it is needed until the loop ends, and one that
  /// is read behind a loop has its place from the loop's beginning.
  void find_lives() {
    lives_.assign(tiles_.size(), {});
    writers_.assign(tiles_.size(), 0);
    std::vector<std::pair<int, int>> loops;
    std::vector<int> open;
    for (int p = 0; p < size(); ++p) {
      if (item(p).loop_begin) open.push_back(p);
      if (item(p).loop_end) loops.emplace_back(open.back(), p), open.pop_back();
      for (const int t : item(p).writes) {
        if (life(t).first < 0) life(t).first = p;
        life(t).last = std::max(life(t).last, p);
        ++writers_[static_cast<std::size_t>(t)];
      }
      for (const int t : item(p).reads) life(t).last = p;
    }
    for (const auto& [begin, end] : loops) {  // inner loops come first
      for (Life& l : lives_) {
        if (l.first >= 0 && l.first < begin && l.last > begin) l.last = std::max(l.last, end);
        if (l.first > begin && l.first < end && l.last > end) l.first = begin;  // it grows strip by strip
      }
    }
  }

  /// A store of the previous word's result: lets that word write to the store's destination. Nothing may come between that
  /// sees the difference, or computes where the store goes; stores through another pointer parameter do not overlap (a program has each output once).
  void aim_stores() {
    std::vector<std::pair<int, Item>> aims;
    std::set<int> aimed;
    for (int p = 0; p < size(); ++p) {
      Item& store = item(p);
      if (store.kind != Item::Kind::Store || !store.as<BlockStep>().in_place) continue;
      const int t = store.reads[0];
      const int producer = life(t).first;
      const bool once = writers_[static_cast<std::size_t>(t)] == 1 && !tile(t).pinned;
      if (!once || item(producer).kind != Item::Kind::Map || !aimed.insert(t).second || !undisturbed(producer, p, store.root)) {
        store.as<BlockStep>().in_place = 0;
        continue;
      }
      Item aim = store;
      aim.as<Step>().run = aim_store;
      aim.kind = Item::Kind::Other;
      aim.reads.clear();
      aim.writes = {t};
      aim.text = "aim t" + std::to_string(t);
      aims.emplace_back(producer, std::move(aim));
    }
    std::sort(aims.begin(), aims.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [position, aim] : aims) items_.insert(items_.begin() + position, std::move(aim));
  }

  /// True if the address or the bounds of the store are computed from this scalar.
  static bool depends_on(const BlockStep& store, int scalar) {
    if (scalar < 0) return false;
    if (store.base == scalar) return true;
    for (int i = 0; i < store.rank; ++i)
      if (store.stride[i] == scalar || store.low[i] == scalar || store.high[i] == scalar || store.size[i] == scalar) return true;
    return false;
  }

  bool undisturbed(int producer, int store, int root) {
    for (int p = producer + 1; p < store; ++p) {
      const Item& between = item(p);
      if (between.label >= 0 || between.target >= 0 || depends_on(item(store).as<BlockStep>(), between.scalar)) return false;
      if (between.kind == Item::Kind::Store && root >= 0 && between.root >= 0 && between.root != root) continue;
      if (between.kind != Item::Kind::Other && between.kind != Item::Kind::Map) return false;
    }
    return true;
  }

  static std::int32_t constant(Code& code, std::int64_t value) {
    code.slots.push_back({.integer = value});
    return static_cast<std::int32_t>(code.slots.size()) - 1;
  }

  /// Tells each store which tiles that may be in the user's memory are still read after it. If a store is not a block, they must not be there.
  void protect_tiles(Code& code) {
    std::vector<std::pair<int, int>> placed;  // tile, position of the step that may place it
    for (int p = 0; p < size(); ++p) {
      const bool load = item(p).kind == Item::Kind::Load && item(p).as<BlockStep>().in_place;
      if (load || item(p).run() == aim_store) placed.emplace_back(item(p).writes[0], p);
    }
    std::set<int> forbidden;
    for (int p = 0; p < size(); ++p) {
      const bool aim = item(p).run() == aim_store;
      if (item(p).kind == Item::Kind::Scatter) {
        for (const auto& [t, from] : placed) {
          if (life(t).first < p && life(t).last >= p) forbidden.insert(t);
        }
      }
      if (item(p).kind != Item::Kind::Store && !aim) continue;
      auto& step = item(p).as<BlockStep>();
      for (const auto& [t, from] : placed) {
        if (life(t).first >= p || life(t).last < p || (aim && t == item(p).writes[0])) continue;
        if (step.protected_count == kMaxProtected) {
          forbidden.insert(t);
          continue;
        }
        const auto i = step.protected_count++;
        step.protected_tile[i] = tile(t).slot, step.protected_home[i] = tile(t).home;
        step.protected_bytes[i] = tile(t).live_bytes >= 0 ? tile(t).live_bytes : constant(code, tile(t).bytes());
        // The aimed word reads element i before it writes element i.
        if (aim && life(t).last == p + 1 && reads_in_step(item(p + 1), t)) step.spared |= 1u << i;
      }
    }
    for (const auto& [t, from] : placed) {
      if (!forbidden.contains(t)) continue;
      if (item(from).kind == Item::Kind::Load) {
        item(from).as<BlockStep>().in_place = 0;
        continue;
      }
      for (int p = from; p < size(); ++p) {  // the aim goes nowhere, and its store is an ordinary one
        if (item(p).kind == Item::Kind::Store && reads(item(p), t)) item(p).as<BlockStep>().in_place = 0;
      }
      item(from).as<BlockStep>().in_place = 0;
    }
  }

  /// True if the word reads the tile in the order and width in which it writes its result.
  bool reads_in_step(const Item& map, int t) {
    if (map.kind != Item::Kind::Map || map.writes.size() != 1) return false;
    const Tile &from = tile(t), &to = tile(map.writes[0]);
    return size_of(from.dtype) == size_of(to.dtype) && numel(from.shape) == numel(to.shape) && reads(map, t);
  }

  /// First fit, in order of first writes. A result takes the place of an operand that dies with the word, element for element.
  void allocate(Code& code) {
    constexpr std::int64_t kGap = 192;  // tiles of a power of two bytes would otherwise compete for the same cache sets
    struct Taken {
      std::int64_t begin, end;
      int last;
    };
    std::vector<Taken> taken;
    std::vector<int> order;
    for (int t = 0; t < static_cast<int>(tiles_.size()); ++t) {
      if (life(t).first >= 0) order.push_back(t);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return life(a).first < life(b).first; });
    places_.assign(tiles_.size(), -1);
    std::int64_t total = 0;
    for (const int t : order) {
      const int first = life(t).first, last = tile(t).pinned ? size() : life(t).last;
      const int word = item(first).run() == aim_store ? first + 1 : first;
      const std::int64_t bytes = (tile(t).bytes() + 63) / 64 * 64 + kGap;
      if (!tile(t).pinned && inherit(t, word, code, taken)) continue;
      std::erase_if(taken, [&](const Taken& x) { return x.last < first; });
      std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
      std::int64_t place = 0;
      for (const Taken& x : taken) {
        if (x.begin - place >= bytes) break;
        place = std::max(place, x.end);
      }
      taken.push_back({place, place + bytes, last});
      put(t, place, code);
      total = std::max(total, place + bytes);
    }
    code.scratch_bytes = static_cast<std::size_t>(total);
  }

  template <class T>
  bool inherit(int t, int word, Code& code, std::vector<T>& taken) {
    if (writers_[static_cast<std::size_t>(t)] > 2) return false;
    for (const int operand : item(word).reads) {
      if (operand == t || life(operand).last != word || tile(operand).pinned || !reads_in_step(item(word), operand)) continue;
      if (life(operand).first >= word) continue;
      for (T& x : taken) {
        if (x.begin != places_[static_cast<std::size_t>(operand)] || x.last != word) continue;
        x.last = life(t).last;
        put(t, x.begin, code);
        return true;
      }
    }
    return false;
  }

  void put(int t, std::int64_t place, Code& code) {
    places_[static_cast<std::size_t>(t)] = place;
    code.scratch_addresses.push_back({tile(t).slot, place});
    code.scratch_addresses.push_back({tile(t).home, place});
  }

  std::vector<Tile>& tiles_;
  std::vector<Item>& items_;
  std::vector<Life> lives_;
  std::vector<int> writers_;
  std::vector<std::int64_t> places_;
};

std::vector<std::int64_t> assemble(std::vector<Item>& items) {
  std::map<int, std::int64_t> labels;
  std::int64_t bytes = 0;
  for (const Item& item : items) {
    if (item.label >= 0) labels[item.label] = bytes;
    bytes += static_cast<std::int64_t>(item.bytes.size());
  }
  std::vector<std::int64_t> code(static_cast<std::size_t>(bytes) / 8);
  std::int64_t at = 0;
  for (Item& item : items) {
    if (item.target >= 0) {
      const std::int64_t distance = labels.at(item.target) - at;
      if (item.strip) item.as<StripStep>().distance = distance;
      else if (item.loop_begin || item.loop_end) item.as<LoopStep>().distance = distance;
      else item.as<JumpStep>().distance = distance;
    }
    if (!item.bytes.empty()) std::memcpy(reinterpret_cast<std::byte*>(code.data()) + at, item.bytes.data(), item.bytes.size());
    at += static_cast<std::int64_t>(item.bytes.size());
  }
  return code;
}

}  // namespace

void lay_out(Code& code, std::vector<Tile>& tiles, std::vector<Item> prologue, std::vector<Item> instance, const CompileOptions& options) {
  // One list of items for the lifetimes: tiles that the prologue writes are pinned.
  std::vector<Item> all = std::move(prologue);
  Item border;
  border.text = "instance:";
  all.push_back(border);
  all.insert(all.end(), std::make_move_iterator(instance.begin()), std::make_move_iterator(instance.end()));
  Layout(tiles, all).run(code, options);
  for (const Item& item : all) {
    if (!item.text.empty()) code.text += item.text + "\n";
  }
  const auto middle = std::find_if(all.begin(), all.end(), [](const Item& item) { return item.text == "instance:"; });
  std::vector<Item> first(std::make_move_iterator(all.begin()), std::make_move_iterator(middle));
  std::vector<Item> second(std::make_move_iterator(middle), std::make_move_iterator(all.end()));
  std::int64_t steps = 0, times = 1;
  for (const Item& item : second) {
    if (item.strip) times = item.loop_begin ? (item.as<StripStep>().total + options.strip - 1) / options.strip : 1;
    steps += item.writes.empty() ? 0 : times;
  }
  constexpr std::int64_t kLine = 64;
  code.lines_per_step = static_cast<int>(code.load_bytes / kLine / std::max<std::int64_t>(steps, 1)) + 4;
  code.prologue = assemble(first);
  code.instance = assemble(second);
}

}  // namespace tegula::host
