#pragma once
// The rank of this process, from the variables of the program that started it.

#include <functional>
#include <optional>
#include <string>

namespace tegula::dist {

/// The environment's settings for this process.
struct RankSettings {
  int rank = 0, size = 1;
  int local_rank = 0;         // among the ranks of this machine: which GPU
  int restarts = 0;           // how often the run was started again
  std::string started_by;     // "tegula launch", "mpirun", "srun", "the environment"
  std::string engine;         // "sockets" or "mpi"
  std::string rendezvous;     // address at which rank 0 listens
  std::string secret;
  double timeout = 300, patience = 60;  // seconds
};

using Environment = std::function<const char*(const char* name)>;  // getenv, or a test's
/// Nothing for a program that was started alone, or as the only rank. Throws Error where variables contradict each other, or something is missing.
///   TEGULA_RANK, TEGULA_SIZE (`tegula launch` sets them), or RANK, WORLD_SIZE with MASTER_ADDR, MASTER_PORT (torchrun),
///   OMPI_COMM_WORLD_RANK, PMI_RANK (mpirun), SLURM_PROCID (srun);
///   TEGULA_ENGINE=sockets|mpi|nccl, TEGULA_RENDEZVOUS=host:port or unix:/path, TEGULA_SECRET, TEGULA_TIMEOUT, TEGULA_PATIENCE.
std::optional<RankSettings> find_rank(const Environment& environment);
std::optional<RankSettings> find_rank();

}  // namespace tegula::dist
