#include "tegula/tile/language/random.h"

namespace tegula::tile {
namespace {

struct Keys {
  std::uint64_t raise_a, raise_b, multiply_a, multiply_b;
};
constexpr Keys kShort{0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57};
constexpr Keys kLong{0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93, 0xCA5A826395121157};

}  // namespace

std::vector<Tile> philox_of(DType word, TileArg seed, TileArg c0, TileArg c1, TileArg c2, TileArg c3, int rounds) {
  const language::Within line(seed.where);
  const bool is_short = word == u32;
  const Keys& keys = is_short ? kShort : kLong;
  const auto constant = [&](std::uint64_t value) {
    return language::said({seed.builder().constant(static_cast<std::int64_t>(value), word), word}, seed.where);
  };
  const Tile whole = cast_to(seed, u64);
  Tile key_a = cast_to(whole, word), key_b = is_short ? cast_to(whole >> 32, word) : constant(0);
  const Tile raise_a = constant(keys.raise_a), raise_b = constant(keys.raise_b), a = constant(keys.multiply_a),
             b = constant(keys.multiply_b);
  Tile x = cast_to(c0, word), y = cast_to(c1, word), z = cast_to(c2, word), w = cast_to(c3, word);
  for (int round = 0; round < rounds; ++round) {
    const Tile before_x = x, before_z = z;
    x = umulhi(b, before_z) ^ y ^ key_a;
    z = umulhi(a, before_x) ^ w ^ key_b;
    y = b * before_z;
    w = a * before_x;
    key_a += raise_a;
    key_b += raise_b;
  }
  std::vector<Tile> words;
  for (const Tile* one : {&x, &y, &z, &w}) words.push_back(*one);
  return words;
}

}  // namespace tegula::tile
