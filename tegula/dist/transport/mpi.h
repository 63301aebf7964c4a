#pragma once
// The engine that mpirun's ranks have: MPI, where Tegula was built with it.

#include <memory>

#include "tegula/dist/transport/environment.h"
#include "tegula/dist/transport/transport.h"

namespace tegula::dist {

/// Throws Error where Tegula was built without MPI, or MPI says other numbers than the environment.
std::shared_ptr<Transport> mpi_transport(const RankSettings& settings);

}  // namespace tegula::dist
