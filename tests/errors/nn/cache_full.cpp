// expect: ^KeyValueCache: got no room for 3 more tokens: 6 of its 8 positions are taken, expected at most 5
// expect: hint: make the cache with a larger capacity, or reserve\(\) more
#include <tegula/tegula.h>

void cache_full() {
  using namespace tegula;
  nn::KeyValueCache cache({.layers = 1, .batch = 2, .capacity = 8, .heads = 1, .width = 4});
  eval(cache.extend(0, ones({2, 6, 1, 4}), ones({2, 6, 1, 4})).keys);
  cache.advance(6);
  eval(cache.extend(0, ones({2, 3, 1, 4}), ones({2, 3, 1, 4})).keys);  // here
}
