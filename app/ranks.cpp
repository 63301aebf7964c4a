#include "app/ranks.h"

#include <cstdio>

#include "tegula/core/error.h"
#include "tegula/dist/transport/environment.h"
#include "tegula/io/file.h"

namespace tegula::app {

dist::Group training_ranks(const std::string& op) {
  dist::Group ranks = dist::world();
  if (!is_first(ranks) && !std::freopen("/dev/null", "w", stdout)) throw Error({.op = op, .got = "no /dev/null"});
  return ranks;
}

bool is_first(const dist::Group& ranks) { return ranks.rank() == 0; }

void resume_after_restart(const std::string& checkpoint, std::string& resume) {
  const auto place = dist::find_rank();
  if (place && place->restarts > 0 && resume.empty() && !checkpoint.empty() && io::is_there(checkpoint)) resume = checkpoint;
}

void refuse_ranks(const std::string& op, const std::string& why) {
  const auto place = dist::find_rank();
  if (!place || place->size == 1) return;
  throw Error({.op = op,
               .got = std::to_string(place->size) + " ranks",
               .expected = "one process: " + why,
               .advice = "start it without tegula launch"});
}

}  // namespace tegula::app
