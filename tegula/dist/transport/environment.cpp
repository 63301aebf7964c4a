#include "tegula/dist/transport/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tegula/core/error.h"

namespace tegula::dist {
namespace {

[[noreturn]] void refuse(const std::string& got, const std::string& expected, const std::string& advice = "") {
  throw Error({.op = "dist", .got = got, .expected = expected, .advice = advice});
}

/// A whole number from 0 on; -1 where the variable is not set.
int number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (!text || !*text) return -1;
  int value = -1;
  const auto [end, code] = std::from_chars(text, text + std::strlen(text), value);
  if (code != std::errc() || *end || value < 0) refuse(std::string(name) + "=" + text, "a whole number, not negative");
  return value;
}

double seconds(const Environment& environment, const char* name, double otherwise) {
  const char* text = environment(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end || !(value > 0) || value > 1e7) refuse(std::string(name) + "=" + text, "a number of seconds");
  return value;
}

std::string text(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value ? value : "";
}

/// A program that starts ranks, and its variables for their numbers.
struct Starter {
  const char* name;
  const char *rank, *size, *local;
  const char* engine;
};
constexpr Starter kStarters[] = {
    {"the environment", "TEGULA_RANK", "TEGULA_SIZE", "TEGULA_LOCAL_RANK", "sockets"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "mpi"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "mpi"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "sockets"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "sockets"},
};

/// "gpu[03-05,9],other" begins with gpu03.
std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

// Rank 0's default address: the job's first host, at a port derived from the job's number.
std::string usual_rendezvous(const Environment& environment, const std::string& started_by) {
  if (started_by == "torchrun" && environment("MASTER_ADDR") && environment("MASTER_PORT")) {
    // torchrun itself listens at its port.
    return text(environment, "MASTER_ADDR") + ":" + std::to_string(number(environment, "MASTER_PORT") + 1);
  }
  if (started_by != "srun") return "";
  std::string hosts = text(environment, "SLURM_STEP_NODELIST");
  if (hosts.empty()) hosts = text(environment, "SLURM_JOB_NODELIST");
  const int job = number(environment, "SLURM_JOB_ID");
  if (hosts.empty() || job < 0) return "";
  return first_host(hosts) + ":" + std::to_string(20000 + job % 20000);
}

}  // namespace

std::optional<RankSettings> find_rank(const Environment& environment) {
  for (const Starter& starter : kStarters) {
    const int rank = number(environment, starter.rank), size = number(environment, starter.size);
    const bool ours = starter.rank == kStarters[0].rank;
    if (ours && (rank < 0) != (size < 0)) {
      refuse(std::string(rank < 0 ? "TEGULA_SIZE without TEGULA_RANK" : "TEGULA_RANK without TEGULA_SIZE"), "both or none",
             "tegula launch -n 2 … sets both");
    }
    if (rank < 0 || size < 0) continue;
    if (rank >= size) {
      refuse(std::string(starter.rank) + "=" + std::to_string(rank) + " and " + starter.size + "=" + std::to_string(size),
             "ranks from 0 on, below their number");
    }
    if (size == 1) return std::nullopt;
    RankSettings settings{.rank = rank, .size = size, .started_by = starter.name, .engine = starter.engine};
    if (ours && environment("TEGULA_LAUNCHED")) settings.started_by = "tegula launch";
    settings.local_rank = std::max(0, number(environment, starter.local));
    settings.restarts = std::max(0, number(environment, "TEGULA_RESTARTS"));
    settings.rendezvous = text(environment, "TEGULA_RENDEZVOUS");
    settings.secret = text(environment, "TEGULA_SECRET");
    settings.timeout = seconds(environment, "TEGULA_TIMEOUT", settings.timeout);
    settings.patience = seconds(environment, "TEGULA_PATIENCE", settings.patience);
    if (!settings.rendezvous.empty()) settings.engine = "sockets";
    if (const std::string engine = text(environment, "TEGULA_ENGINE"); !engine.empty()) {
      if (engine != "sockets" && engine != "mpi" && engine != "nccl") refuse("TEGULA_ENGINE=" + engine, "sockets, mpi or nccl");
      if (engine != "nccl") settings.engine = engine;  // beside NCCL, which is the devices' (engines.h), ranks exchange as ever
    }
    if (settings.engine == "sockets" && settings.rendezvous.empty())
      settings.rendezvous = usual_rendezvous(environment, settings.started_by);
    if (settings.engine == "sockets" && settings.rendezvous.empty()) {
      refuse("rank " + std::to_string(rank) + " of " + std::to_string(size) + " (" + starter.name +
                 "), and no word about where rank 0 listens",
             "TEGULA_RENDEZVOUS=host:port, the same for all ranks", "tegula launch -n 2 … sets it");
    }
    return settings;
  }
  return std::nullopt;
}

std::optional<RankSettings> find_rank() {
  return find_rank([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace tegula::dist
