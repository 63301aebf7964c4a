// Collectives over bytes, against loops.

#include "tegula/dist/exchange/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tegula/core/host_array.h"
#include "tegula/dist/exchange/group_state.h"
#include "tests/dist/ranks.h"

namespace tegula {
namespace {

using dist::Collective;
using dist::Kind;
using dist::Reduction;

// Small whole numbers, some negative, so that sums are exact in every dtype.
double element(int rank, std::int64_t i, DType dtype) {
  const auto word =
      static_cast<std::int64_t>((static_cast<std::uint64_t>(i) * 2654435761u + static_cast<std::uint64_t>(rank) * 40503u) >> 7);
  if (dtype == boolean) return static_cast<double>(word % 2);
  return static_cast<double>(word % 7) - (is_unsigned(dtype) ? 0 : 3);
}

HostArray filled(int rank, const Shape& shape, DType dtype) {
  HostArray array = HostArray::empty(dtype, shape);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto values = array.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from_double<T>(element(rank, static_cast<std::int64_t>(i), dtype));
  });
  return array;
}

std::vector<double> doubles(const HostArray& array) {
  std::vector<double> out;
  visit(array.dtype, [&](auto zero) {
    for (const auto value : array.values<decltype(zero)>()) out.push_back(as_double(value));
  });
  return out;
}

std::vector<double> run(const dist::Group& group, const Collective& what, const Shape& out_shape, int seed) {
  const HostArray in = filled(seed, what.shape, what.dtype);
  HostArray out = HostArray::empty(what.dtype, out_shape);
  std::vector<std::byte> scratch(dist::scratch_bytes(what, group.size()) + 64);
  dist::carry_out(group, what, in.buffer->data(), out.buffer->data(), scratch.data(), {});
  return doubles(out);
}

double reduced(int ranks, std::int64_t i, DType dtype, Reduction reduction) {
  double value = element(0, i, dtype);
  for (int r = 1; r < ranks; ++r)
    value = reduction == Reduction::Max ? std::max(value, element(r, i, dtype)) : value + element(r, i, dtype);
  if (reduction == Reduction::Mean) value /= ranks;
  return visit(dtype, [&](auto zero) { return as_double(from_double<decltype(zero)>(value)); });
}

bool possible(DType dtype, Reduction reduction) {
  if (is_float8(dtype)) return false;  // nothing is computed in them
  return dtype == boolean ? reduction == Reduction::Max : is_float(dtype) || reduction != Reduction::Mean;
}

// Means of halves are rounded once, from f32.
double tolerance(DType dtype, Reduction reduction) {
  if (reduction != Reduction::Mean) return 0;
  return dtype == f16 ? 1e-3 : dtype == bf16 ? 8e-3 : dtype == f32 ? 1e-6 : 1e-15;
}

class Exchange : public testing::TestWithParam<int> {};

TEST_P(Exchange, ReducesEveryDtypeAndOddSizes) {
  const int n = GetParam();
  for (const std::int64_t count : {0, 1, 2, 5, 17, 1021}) {
    test::on_ranks<int>(n, [&](int rank) {
      for (const DType dtype : kAllDTypes) {
        for (const Reduction reduction : {Reduction::Sum, Reduction::Mean, Reduction::Max}) {
          if (!possible(dtype, reduction)) continue;
          const dist::Group world = dist::world();
          const auto all = run(world, {Kind::AllReduce, dtype, {count}, reduction}, {count}, rank);
          for (std::int64_t i = 0; i < count; ++i)
            EXPECT_NEAR(all[static_cast<std::size_t>(i)], reduced(n, i, dtype, reduction), tolerance(dtype, reduction)) << name(dtype) << i;
          const auto mine = run(world, {Kind::ReduceScatter, dtype, {n * count}, reduction}, {count}, rank);
          for (std::int64_t i = 0; i < count; ++i)
            EXPECT_NEAR(mine[static_cast<std::size_t>(i)], reduced(n, rank * count + i, dtype, reduction), tolerance(dtype, reduction));
          const int root = static_cast<int>(count % n);
          const auto rooted = run(world, {Kind::Reduce, dtype, {count}, reduction, root}, {count}, rank);
          for (std::int64_t i = 0; i < count; ++i) {
            EXPECT_NEAR(rooted[static_cast<std::size_t>(i)], rank == root ? reduced(n, i, dtype, reduction) : 0,
                        tolerance(dtype, reduction));
          }
        }
      }
      return 0;
    });
  }
}

/// Ranks that say that they are on so many hosts, in turn.
void pretend_hosts(int rank, int hosts) { dist::world().state()->world->host = static_cast<std::uint64_t>(1 + rank % hosts); }

TEST(Levels, AreThoseOfHostsWithAsManyRanksEach) {
  const auto levels = dist::levels_of({7, 9, 9, 7, 9, 7}, 4);
  ASSERT_TRUE(levels);
  EXPECT_EQ(levels->within, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(levels->across, (std::vector<int>{5, 4}));
  EXPECT_EQ(levels->place, 2);
  EXPECT_EQ(levels->host, 1);
  for (const auto& hosts : {std::vector<std::uint64_t>{1, 1, 1, 1}, {1, 2, 3, 4}, {1, 1, 2}, {1, 1, 2, 2, 2}, {1, 1, 0, 0}, {1}})
    EXPECT_FALSE(dist::levels_of(hosts, 0));
}

TEST(Levels, ReduceEveryDtypeAndOddSizes) {
  for (const auto& [ranks, hosts] : {std::pair(4, 2), std::pair(6, 2), std::pair(6, 3), std::pair(8, 2), std::pair(8, 4)}) {
    for (const std::int64_t count : {0, 1, 2, 5, 17, 1021}) {
      test::on_ranks<int>(ranks, [&, n = ranks, h = hosts](int rank) {
        pretend_hosts(rank, h);
        for (const DType dtype : kAllDTypes) {
          for (const Reduction reduction : {Reduction::Sum, Reduction::Mean, Reduction::Max}) {
            if (!possible(dtype, reduction)) continue;
            const auto all = run(dist::world(), {Kind::AllReduce, dtype, {count}, reduction}, {count}, rank);
            for (std::int64_t i = 0; i < count; ++i)
              EXPECT_NEAR(all[static_cast<std::size_t>(i)], reduced(n, i, dtype, reduction), tolerance(dtype, reduction))
                  << name(dtype) << i;
          }
        }
        EXPECT_TRUE(dist::world().state()->levels);
        return 0;
      });
    }
  }
}

/// Numbers whose sum depends on the order.
std::vector<float> sum_of_thirds(int ranks, int hosts, const std::vector<int>& members = {}) {
  const auto all = test::on_ranks<std::vector<float>>(ranks, [&](int rank) {
    pretend_hosts(rank, hosts);
    const dist::Group group = members.empty() ? dist::world() : dist::world().sub(members);
    std::vector<float> in(1001), out(1001);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = 1.f / static_cast<float>(3 + i + 17 * static_cast<std::size_t>(rank) * i);
    if (!group.contains_me()) return out;
    const Collective what{Kind::AllReduce, f32, {1001}};
    std::vector<std::byte> scratch(dist::scratch_bytes(what, group.size()));
    dist::carry_out(group, what, in.data(), out.data(), scratch.data(), {});
    return out;
  });
  const std::size_t first = members.empty() ? 0 : static_cast<std::size_t>(members[0]);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const bool member = members.empty() || std::ranges::count(members, static_cast<int>(r)) > 0;
    if (member) { EXPECT_EQ(all[r], all[first]) << "the same bits on all ranks"; }
  }
  return all[first];
}

TEST(Levels, GiveAllRanksTheSameBitsAtEveryRun) {
  for (const auto& [ranks, hosts] : {std::pair(4, 2), std::pair(6, 3), std::pair(8, 2)}) {
    const auto levels = sum_of_thirds(ranks, hosts), again = sum_of_thirds(ranks, hosts), flat = sum_of_thirds(ranks, 1);
    EXPECT_EQ(levels, again);
    EXPECT_NE(levels, flat) << "another order of the sum: it went in levels";
    for (std::size_t i = 0; i < flat.size(); ++i) EXPECT_NEAR(levels[i], flat[i], 1e-6 * flat[i]);
  }
  EXPECT_EQ(sum_of_thirds(5, 2), sum_of_thirds(5, 1)) << "3 ranks and 2: one ring";
  EXPECT_EQ(sum_of_thirds(6, 2, {0, 2, 4, 1}), sum_of_thirds(6, 1, {0, 2, 4, 1})) << "a group of 3 and 1";
  EXPECT_NE(sum_of_thirds(6, 2, {0, 2, 3, 1}), sum_of_thirds(6, 1, {0, 2, 3, 1})) << "a group of 2 and 2";
}

TEST_P(Exchange, MovesEveryDtypeAndOddSizes) {
  const int n = GetParam();
  for (const std::int64_t count : {0, 1, 3, 517}) {
    test::on_ranks<int>(n, [&](int rank) {
      const dist::Group world = dist::world();
      for (const DType dtype : kAllDTypes) {
        const auto all = run(world, {Kind::AllGather, dtype, {count}}, {n * count}, rank);
        for (std::int64_t i = 0; i < n * count; ++i)
          EXPECT_EQ(all[static_cast<std::size_t>(i)], element(static_cast<int>(i / count), i % count, dtype));
        for (int root = 0; root < n; ++root) {
          const auto same = run(world, {Kind::Broadcast, dtype, {count}, Reduction::Sum, root}, {count}, rank);
          for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(same[static_cast<std::size_t>(i)], element(root, i, dtype));
        }
        const auto swapped = run(world, {Kind::AllToAll, dtype, {n * count}}, {n * count}, rank);
        for (std::int64_t i = 0; i < n * count; ++i)
          EXPECT_EQ(swapped[static_cast<std::size_t>(i)], element(static_cast<int>(i / count), rank * count + i % count, dtype));
        // Along the ring, the even ranks first.
        const Collective out{Kind::Send, dtype, {count}, Reduction::Sum, (rank + 1) % n};
        const Collective in{Kind::Receive, dtype, {count}, Reduction::Sum, (rank + n - 1) % n};
        std::vector<double> got;
        if (rank % 2 == 0) run(world, out, {0}, rank);
        got = run(world, in, {count}, 0);
        if (rank % 2 != 0) run(world, out, {0}, rank);
        for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], element((rank + n - 1) % n, i, dtype));
        run(world, {Kind::Barrier, u8, {0}}, {0}, rank);
      }
      return 0;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Exchange, testing::Values(2, 3, 4, 8));

TEST(Exchange, MoreBytesThanASocketHolds) {
  const std::int64_t count = 1'500'007;
  const auto sums = test::on_ranks<std::vector<double>>(3, [&](int rank) {
    const auto copy = run(dist::world(), {Kind::Broadcast, f32, {count}, Reduction::Sum, 1}, {count}, rank);
    for (std::int64_t i = 0; i < count; i += 999) EXPECT_EQ(copy[static_cast<std::size_t>(i)], element(1, i, f32));
    return run(dist::world(), {Kind::AllReduce, f32, {count}}, {count}, rank);
  });
  for (std::int64_t i = 0; i < count; i += 997) EXPECT_EQ(sums[2][static_cast<std::size_t>(i)], reduced(3, i, f32, Reduction::Sum));
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

// Inexact sums: f32 adds up as f32 in a fixed order, halves in f32.
TEST(Exchange, SumsAreTheSameBitsOnAllRanksAndAtEveryRun) {
  const std::int64_t count = 1003;
  const auto once = [&] {
    return test::on_ranks<std::vector<double>>(4, [&](int rank) {
      std::vector<double> out;
      for (const DType dtype : {f32, bf16}) {
        HostArray array = HostArray::empty(dtype, {count});
        visit(dtype, [&](auto zero) {
          using T = decltype(zero);
          for (std::int64_t i = 0; i < count; ++i)
            array.values<T>()[static_cast<std::size_t>(i)] = from_double<T>(std::sin(1.0 + i * 7 + rank));
        });
        const Collective what{Kind::AllReduce, dtype, {count}};
        std::vector<std::byte> scratch(dist::scratch_bytes(what, 4) + 64);
        HostArray sum = HostArray::empty(dtype, {count});
        dist::carry_out(dist::world(), what, array.buffer->data(), sum.buffer->data(), scratch.data(), {});
        const auto values = doubles(sum);
        out.insert(out.end(), values.begin(), values.end());
        const auto own = doubles(array);
        for (std::int64_t i = 0; i < count; ++i) {
          double exact = 0;
          for (int r = 0; r < 4; ++r)
            exact += visit(dtype, [&](auto zero) { return as_double(from_double<decltype(zero)>(std::sin(1.0 + i * 7 + r))); });
          // f32: three roundings of sums below 4; bf16: one, to 8 bits.
          EXPECT_NEAR(values[static_cast<std::size_t>(i)], exact, dtype == f32 ? 1e-6 : std::abs(exact) / 256 + 1e-6);
        }
      }
      return out;
    });
  };
  const auto first = once(), second = once();
  for (int r = 1; r < 4; ++r) EXPECT_EQ(first[static_cast<std::size_t>(r)], first[0]);
  EXPECT_EQ(first, second);
}

TEST(Exchange, IntegersWrapAround) {
  test::on_ranks<int>(3, [&](int) {
    HostArray in = HostArray::empty(i8, {1}), out = HostArray::empty(i8, {1});
    in.values<std::int8_t>()[0] = 100;
    std::byte scratch[64];
    dist::carry_out(dist::world(), {Kind::AllReduce, i8, {1}}, in.buffer->data(), out.buffer->data(), scratch, {});
    EXPECT_EQ(out.values<std::int8_t>()[0], static_cast<std::int8_t>(300));
    return 0;
  });
}

TEST(Exchange, ANaNIsTheMaximum) {
  test::on_ranks<int>(3, [&](int rank) {
    HostArray in = HostArray::empty(f32, {1}), out = HostArray::empty(f32, {1});
    in.values<float>()[0] = rank == 1 ? NAN : 5.f;
    std::byte scratch[64];
    dist::carry_out(dist::world(), {Kind::AllReduce, f32, {1}, Reduction::Max}, in.buffer->data(), out.buffer->data(), scratch, {});
    EXPECT_TRUE(std::isnan(out.values<float>()[0]));
    return 0;
  });
}

TEST(Exchange, SubGroupsAndMeshes) {
  test::on_ranks<int>(8, [&](int rank) {
    const dist::Mesh mesh({{"data", 2}, {"tensor", 4}}, dist::world());
    EXPECT_EQ(mesh.place("data"), rank / 4);
    EXPECT_EQ(mesh.place("tensor"), rank % 4);
    const dist::Group tensor = mesh.along("tensor"), data = mesh.along("data");
    EXPECT_EQ(tensor.rank(), rank % 4);
    EXPECT_EQ(data.ranks(), (std::vector<int>{rank % 4, rank % 4 + 4}));
    EXPECT_EQ(tensor.id(), mesh.along("tensor").id());
    const auto sum = run(tensor, {Kind::AllReduce, f64, {9}}, {9}, rank);
    for (std::int64_t i = 0; i < 9; ++i) {
      double expected = 0;
      for (int r = 0; r < 4; ++r) expected += element(rank / 4 * 4 + r, i, f64);
      EXPECT_EQ(sum[static_cast<std::size_t>(i)], expected);
    }
    const auto other = run(data, {Kind::AllGather, i32, {2}}, {4}, rank);
    EXPECT_EQ(other[2], element(rank % 4 + 4, 0, i32));
    const dist::Group odd = dist::world().sub({7, 1, 4});
    EXPECT_EQ(odd.contains_me(), rank == 7 || rank == 1 || rank == 4);
    if (odd.contains_me()) {
      const auto gathered = run(odd, {Kind::AllGather, i32, {1}}, {3}, rank);
      EXPECT_EQ(gathered, (std::vector<double>{element(7, 0, i32), element(1, 0, i32), element(4, 0, i32)}));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tegula
