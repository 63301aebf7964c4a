#include "tegula/dist/mpi.h"

#include "tegula/core/error.h"

namespace tegula::dist {

std::shared_ptr<Transport> mpi_transport(const Place& place) {
  throw Error({.op = "dist", .got = "ranks of " + place.started_by, .expected = "MPI"});
}

}  // namespace tegula::dist
