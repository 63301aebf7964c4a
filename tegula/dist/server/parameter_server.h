#pragma once
// Asynchronous training: a server has the parameters, workers send it gradients whenever they have one (Dean et al., "Large scale distributed deep networks", 2012, Downpour
// SGD). Nobody waits for the slowest; for that a gradient may be of weights that others have changed since: it is stale. dist::DataParallel is the other way.
//
//   // the server
//   optim::SGD sgd(parameters(net), {.lr = 0.05});
//   dist::serve_parameters("host:4100", parameters(net), [&](const std::vector<Tensor>& gradients) { sgd.step(gradients); }, {.workers = 4});
//   // each worker
//   dist::ServedParameters served("host:4100", parameters(net));
//   while (served.push(grad(loss(next_batch()), parameters(net)))) {}

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/dist/transport/descriptor.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

struct ParameterServerOptions {
  int workers = 1;  // the number of workers that must come and leave before the server ends
  std::int64_t updates = 0;  // the number of gradients after which workers are told to stop; 0: they decide
  std::int64_t most_stale =
      -1;  // gradients that are staler are thrown away (Ho et al., "More effective distributed ML", 2013); -1: none are
  std::string secret = {};  // that workers must know
  double patience = 600;  // seconds without a word from any worker
  double unread = 60;  // seconds after which a worker that takes nothing of what it is sent is left out
};
struct ParameterServerReport {
  std::int64_t applied = 0, dropped = 0;  // gradients
  std::int64_t stalled = 0;  // workers that were left out because they took nothing for options.unread
  std::map<std::int64_t, std::int64_t>
      staleness;  // number of gradients, by the number of others that had been applied since their weights were given out
  std::vector<std::int64_t> of_worker;  // gradients of each, in the order in which they came
  double seconds = 0;  // from the first worker to the last
  double mean_staleness() const;
  std::string print() const;
};
/// Gives parameters to workers and applies their gradients, one after the other, in the order in which they arrive: a run does not give the bits of the one before. `address`:
/// "host:port", "unix:/a/path", or "file:/a/path" for a file that will hold the address. A worker that breaks off, or takes nothing for options.unread, is left out; the others do not wait for it. Throws Error when the address is taken,
/// and when no worker says a word for options.patience.
ParameterServerReport serve_parameters(const std::string& address, const Parameters& parameters,
                                       const std::function<void(const std::vector<Tensor>& gradients)>& apply,
                                       const ParameterServerOptions& options = {}, Line where = Line::current());

/// A worker's copy of a server's parameters.
class ServedParameters {
 public:
  /// Takes the server's values, and waits for it `seconds` at most, here and in push. Throws Error where there is none, or one with other parameters or another
  /// secret.
  ServedParameters(const std::string& address, Parameters parameters, const std::string& secret = {}, double seconds = 60,
                   Line where = Line::current());

  /// Sends gradients and takes new values of the parameters. False when the server wants no more. Throws Error for other shapes and dtypes, and a server that has gone, or takes or
  /// says nothing for the constructor's seconds.
  bool push(const std::vector<Tensor>& gradients);
  /// The number of gradients that had been applied to the values that the parameters have.
  std::int64_t version() const { return version_; }

 private:
  bool take(double seconds);

  Parameters parameters_;
  Descriptor socket_;
  std::int64_t version_ = 0;
  double seconds_;
  Line where_;
};

}  // namespace tegula::dist
