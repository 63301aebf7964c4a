#include "tegula/simt/verify/sends.h"

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

bool is_of_tiles(const Expression& place) {
  bool found = false;
  for_each_part(place, [&](const Expression& e) { found = found || e.is_name("tiles"); });
  return found;
}

}  // namespace

void check_sends(const Kernel& kernel, std::set<std::string>& faults) {
  bool met = false, sent = false;  // all blocks, since products read tiles; since they met
  for_each_statement(kernel.body, [&](const Statement& statement) {
    if (statement.as<MultiplyTile>() || statement.as<AwaitProducts>()) met = false;
    const auto* const barrier = statement.as<Barrier>();
    if (barrier && barrier->kind == Barrier::Kind::Cluster) met = true, sent = false;
    if (statement.as<SendWide>()) {
      if (!met) faults.insert("numbers are sent to a block that may still use what lies there");
      sent = true;
    }
    const auto* const load = statement.as<LoadWide>();
    if (sent && load && is_of_tiles(load->pointer)) faults.insert("numbers are read before all blocks know that they have been sent");
    if (sent && statement.as<Leave>()) faults.insert("a block leaves before all know what it has sent");
  });
  if (sent) faults.insert("a block may end before all know what it has sent");
}

}  // namespace tegula::simt
