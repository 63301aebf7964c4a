// A rank learns of another one's stop by MPI, which delivers notices and data in any order (tests/dist/fake_mpi.cpp).

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/dist/transport/mpi.h"

namespace tegula::dist {
namespace {

std::shared_ptr<Transport> with_data_after(const char* turns) {
  setenv("TEGULA_MPI_LIBRARY", TEGULA_FAKE_MPI, 1);
  setenv("TEGULA_FAKE_MPI_TURNS", turns, 1);
  std::shared_ptr<Transport> out = mpi_transport({.rank = 0, .size = 2, .timeout = 5});
  unsetenv("TEGULA_MPI_LIBRARY");
  return out;
}

std::string error_of(Transport& transport, std::span<std::byte> in) {
  try {
    transport.exchange(1, {}, 1, in, {.text = [] { return std::string("all_reduce"); }});
  } catch (const PeerError& error) { return error.what(); }
  return "";
}

TEST(MpiTransport, WhatWasSentAheadOfAStopIsReadFirst) {
  const auto transport = with_data_after("1000");
  std::vector<std::byte> in(5);
  EXPECT_EQ(error_of(*transport, in), "") << "an exchange that the other rank has ended";
  EXPECT_EQ(in, std::vector<std::byte>(5, std::byte{7}));
  EXPECT_THROW(transport->listen({.text = [] { return std::string("waiting"); }}), PeerError);
}

TEST(MpiTransport, AStopEndsAnExchangeWhoseDataDoNotCome) {
  const auto transport = with_data_after("-1");
  std::vector<std::byte> in(5);
  EXPECT_NE(error_of(*transport, in).find("a run that has stopped: rank 1: enough"), std::string::npos);
}

}  // namespace
}  // namespace tegula::dist
