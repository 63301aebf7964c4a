#include "tegula/dist/server/parameter_server.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/dist/transport/endpoint.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"

namespace tegula::dist {
namespace {

using Clock = std::chrono::steady_clock;

// The first byte of a message.
constexpr char kHello = 'H', kGradients = 'G', kValues = 'V', kStop = 'S', kRefused = 'R';
constexpr std::size_t kHead = 1 + sizeof(std::int64_t);  // with the version of the parameters
constexpr std::uint32_t kMostHello = 16 << 20;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::size_t bytes_of_values(const Parameters& parameters) {
  std::size_t bytes = 0;
  for (const Parameter& one : parameters) bytes += static_cast<std::size_t>(numel(one.cell->shape())) * size_of(one.cell->dtype());
  return bytes;
}

/// Names, shapes and dtypes: what server and worker must have alike.
std::string layout_of(const Parameters& parameters) {
  std::string text;
  for (const Parameter& one : parameters)
    text += one.name + " " + to_string(one.cell->shape()) + " " + std::string(name(one.cell->dtype())) + "\n";
  return text;
}

/// The first line that differs, of two layouts.
std::string difference(const std::string& mine, const std::string& theirs) {
  const auto line_at = [](const std::string& text, std::size_t at) { return text.substr(at, text.find('\n', at) - at); };
  std::size_t begin = 0;
  while (begin < mine.size() && begin < theirs.size() && line_at(mine, begin) == line_at(theirs, begin)) begin = mine.find('\n', begin) + 1;
  const auto shown = [&](const std::string& text) { return begin < text.size() ? line_at(text, begin).substr(0, 200) : "nothing more"; };
  return shown(theirs) + " instead of " + shown(mine);
}

std::string message_of(char kind, std::int64_t version, const std::vector<Tensor>& tensors) {
  std::string message(kHead, kind);
  std::memcpy(message.data() + 1, &version, sizeof version);
  for (const Tensor& tensor : tensors) {
    const HostArray array = tensor.to_array();
    message.append(static_cast<const char*>(array.buffer->data()), array.bytes());
  }
  return message;
}

std::int64_t version_in(const std::string& message) {
  std::int64_t version = 0;
  std::memcpy(&version, message.data() + 1, sizeof version);
  return version;
}

/// Tensors like the parameters, of a message of the right length.
std::vector<Tensor> tensors_in(const std::string& message, const Parameters& parameters) {
  std::vector<Tensor> out;
  std::size_t at = kHead;
  for (const Parameter& one : parameters) {
    const HostArray array = HostArray::empty(one.cell->dtype(), one.cell->shape());
    std::memcpy(array.buffer->data(), message.data() + at, array.bytes());
    at += array.bytes();
    out.push_back(from_array(array));
  }
  return out;
}

std::vector<Tensor> values_of(const Parameters& parameters, const Line& where) {
  std::vector<Tensor> out;
  for (const Parameter& one : parameters) out.push_back(one.read(where));
  return out;
}

/// A worker as the server sees it.
struct Worker {
  Descriptor socket;
  std::unique_ptr<ArrivingMessage> arriving;
  LeavingMessage leaving = {};
  Clock::time_point taken = {};  // when it last took some of that
  std::size_t number = 0;
  bool has_said_hello = false;
};

class Server {
 public:
  Server(const Parameters& parameters, const std::function<void(const std::vector<Tensor>&)>& apply, const ParameterServerOptions& options,
         const Line& where)
      : parameters_(parameters),
        apply_(apply),
        options_(options),
        where_(where),
        layout_(layout_of(parameters)),
        length_(kHead + bytes_of_values(parameters)) {}

  ParameterServerReport run(const std::string& address) {
    const Listener listener = listen_at(address);
    auto heard = Clock::now();
    std::optional<Clock::time_point> begin;
    const auto has_greeted = [](const Worker& worker) { return worker.has_said_hello; };
    while (!begin || static_cast<int>(report_.of_worker.size()) < options_.workers || std::ranges::any_of(workers_, has_greeted)) {
      std::vector<pollfd> sockets{{listener.socket.get(), POLLIN, 0}};
      for (const Worker& worker : workers_) {
        const auto events = static_cast<short>(POLLIN | (worker.leaving.is_whole() ? 0 : POLLOUT));
        sockets.push_back({worker.socket.get(), events, 0});
      }
      constexpr int kMilliseconds = 100;
      ::poll(sockets.data(), static_cast<nfds_t>(sockets.size()), kMilliseconds);
      if (seconds_since(heard) > options_.patience) {
        throw Error({.op = "serve_parameters",
                     .got = std::to_string(workers_.size()) + " workers that said nothing for " + number_text(options_.patience) + " s",
                     .expected = "gradients",
                     .advice = "do the workers still run? .patience sets how long they may take",
                     .where = where_});
      }
      for (std::size_t i = sockets.size(); i-- > 1;) {
        Worker& worker = workers_[i - 1];
        const bool speaks = (sockets[i].revents & ~POLLOUT) != 0;
        if (sockets[i].revents != 0) heard = Clock::now();
        if (!go_on_giving(worker) || (speaks && !listen_to(worker))) workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
        else if (worker.has_said_hello && !begin) begin = heard;
      }
      if (sockets[0].revents == 0) continue;
      if (Descriptor socket = accept_within(listener, 0.01)) {
        workers_.push_back({.socket = std::move(socket), .arriving = std::make_unique<ArrivingMessage>(kMostHello)});
      }
    }
    report_.seconds = begin ? seconds_since(*begin) : 0;
    return report_;
  }

 private:
  /// False when the worker has gone, or makes no sense.
  bool listen_to(Worker& worker) {
    const auto state = worker.arriving->take(worker.socket);
    if (state == ArrivingMessage::State::Broken) return false;
    if (state == ArrivingMessage::State::Partial) return true;
    const std::string message = worker.arriving->text();
    worker.arriving = std::make_unique<ArrivingMessage>(static_cast<std::uint32_t>(length_));
    return worker.has_said_hello ? take_gradients(worker, message) : greet(worker, message);
  }

  bool greet(Worker& worker, const std::string& message) {
    const std::string expected = kHello + options_.secret + "\n";
    if (!message.starts_with(expected)) {
      send_message(worker.socket, kRefused + std::string("another secret"));
      return false;
    }
    const std::string layout = message.substr(expected.size());
    if (layout != layout_) {
      send_message(worker.socket, kRefused + difference(layout_, layout));
      return false;
    }
    worker.has_said_hello = true;
    worker.number = report_.of_worker.size();
    report_.of_worker.push_back(0);
    return give(worker);
  }

  bool give(Worker& worker) {
    const bool has_enough = options_.updates > 0 && report_.applied >= options_.updates;
    worker.leaving = LeavingMessage(message_of(has_enough ? kStop : kValues, report_.applied, values_of(parameters_, where_)));
    worker.taken = Clock::now();
    return go_on_giving(worker);
  }

  /// False when the worker has gone, or takes nothing for too long.
  bool go_on_giving(Worker& worker) {
    if (worker.leaving.is_whole()) return true;
    const std::size_t before = worker.leaving.done();
    const auto state = worker.leaving.give(worker.socket);
    if (state == LeavingMessage::State::Broken) return false;
    if (state == LeavingMessage::State::Whole) worker.leaving = LeavingMessage();
    else if (worker.leaving.done() == before && seconds_since(worker.taken) > options_.unread) return ++report_.stalled, false;
    else if (worker.leaving.done() > before) worker.taken = Clock::now();
    return true;
  }

  bool take_gradients(Worker& worker, const std::string& message) {
    if (!worker.leaving.is_whole()) return false;  // it has not read what it answers
    if (message.size() != length_ || message[0] != kGradients) return false;
    const std::int64_t stale = report_.applied - version_in(message);
    if (stale < 0) return false;
    const bool has_enough = options_.updates > 0 && report_.applied >= options_.updates;
    if (!has_enough) {
      ++report_.staleness[stale];
      ++report_.of_worker[worker.number];
      if (options_.most_stale >= 0 && stale > options_.most_stale) {
        ++report_.dropped;
      } else {
        apply_(tensors_in(message, parameters_));
        ++report_.applied;
      }
    }
    return give(worker);
  }

  const Parameters& parameters_;
  const std::function<void(const std::vector<Tensor>&)>& apply_;
  const ParameterServerOptions& options_;
  Line where_;
  std::string layout_;
  std::size_t length_;  // of a message with values
  std::vector<Worker> workers_;
  ParameterServerReport report_;
};

}  // namespace

double ParameterServerReport::mean_staleness() const {
  double sum = 0, count = 0;
  for (const auto& [stale, times] : staleness) sum += static_cast<double>(stale * times), count += static_cast<double>(times);
  return count > 0 ? sum / count : 0;
}

std::string ParameterServerReport::print() const {
  std::string text = std::to_string(applied) + " gradients applied, " + std::to_string(dropped) + " dropped, mean staleness " +
                     number_text(std::round(100 * mean_staleness()) / 100) + "\nstaleness:";
  for (const auto& [stale, times] : staleness) text += " " + std::to_string(stale) + " (" + std::to_string(times) + ")";
  text += "\ngradients of each worker:";
  for (const std::int64_t count : of_worker) text += " " + std::to_string(count);
  if (stalled > 0) text += "\nworkers that took nothing any more: " + std::to_string(stalled);
  return text + "\n";
}

ParameterServerReport serve_parameters(const std::string& address, const Parameters& parameters,
                                       const std::function<void(const std::vector<Tensor>& gradients)>& apply,
                                       const ParameterServerOptions& options, Line where) {
  constexpr std::size_t kMost = std::size_t{1} << 31;  // the length of a message has 32 bits
  if (options.workers < 1 || parameters.empty() || bytes_of_values(parameters) > kMost) {
    throw Error({.op = "serve_parameters",
                 .got = std::to_string(options.workers) + " workers, parameters of " + bytes_text(bytes_of_values(parameters)),
                 .expected = "at least one worker, and parameters of at most 2 GiB",
                 .where = where});
  }
  return Server(parameters, apply, options, where).run(address);
}

ServedParameters::ServedParameters(const std::string& address, Parameters parameters, const std::string& secret, double seconds, Line where)
    : parameters_(std::move(parameters)),
      seconds_(seconds),
      where_(where) {
  const auto begin = Clock::now();
  while (!(socket_ = try_connect(address))) {
    if (seconds_since(begin) > seconds) {
      throw Error({.op = "ServedParameters",
                   .got = "no server at " + printable(address) + " for " + number_text(seconds) + " s",
                   .expected = "a program that calls serve_parameters there",
                   .where = where});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  send_message(socket_, kHello + secret + "\n" + layout_of(parameters_), seconds);
  take(seconds);
}

/// New values; false when the server says that it was the last time.
bool ServedParameters::take(double seconds) {
  const std::size_t length = kHead + bytes_of_values(parameters_);
  ArrivingMessage arriving(static_cast<std::uint32_t>(std::max<std::size_t>(length, 4096)));
  const auto begin = Clock::now();
  auto state = ArrivingMessage::State::Partial;
  while (state == ArrivingMessage::State::Partial && seconds_since(begin) < seconds) {
    pollfd one{socket_.get(), POLLIN, 0};
    constexpr int kMilliseconds = 100;
    if (::poll(&one, 1, kMilliseconds) > 0) state = arriving.take(socket_);
  }
  const std::string& message = arriving.text();
  const bool is_whole = state == ArrivingMessage::State::Whole;
  if (is_whole && !message.empty() && message[0] == kRefused) {
    throw Error({.op = "ServedParameters",
                 .got = "a server that refuses: " + printable(message.substr(1)),
                 .expected = "one with the same parameters and the same secret",
                 .where = where_});
  }
  if (!is_whole || message.size() != length || (message[0] != kValues && message[0] != kStop)) {
    throw Error({.op = "ServedParameters", .got = "a server that has gone, or says nothing", .expected = "values", .where = where_});
  }
  const std::vector<Tensor> values = tensors_in(message, parameters_);
  for (std::size_t i = 0; i < values.size(); ++i) parameters_[i].assign(values[i], where_);
  version_ = version_in(message);
  return message[0] == kValues;
}

bool ServedParameters::push(const std::vector<Tensor>& gradients) {
  bool is_alike = gradients.size() == parameters_.size();
  for (std::size_t i = 0; is_alike && i < gradients.size(); ++i) {
    is_alike = gradients[i].defined() && gradients[i].shape() == parameters_[i].cell->shape() &&
               gradients[i].dtype() == parameters_[i].cell->dtype();
    if (!is_alike && gradients[i].defined()) {
      throw Error({.op = "ServedParameters::push",
                   .got = "a gradient " + to_string(gradients[i].shape()) + " of " + std::string(name(gradients[i].dtype())) + " for " +
                          parameters_[i].name,
                   .expected = to_string(parameters_[i].cell->shape()) + " of " + std::string(name(parameters_[i].cell->dtype())),
                   .where = where_});
    }
  }
  if (!is_alike) {
    throw Error({.op = "ServedParameters::push",
                 .got = std::to_string(gradients.size()) + " gradients",
                 .expected = "one for each of " + std::to_string(parameters_.size()) + " parameters",
                 .where = where_});
  }
  if (!send_message(socket_, message_of(kGradients, version_, gradients), seconds_)) {
    throw Error({.op = "ServedParameters::push",
                 .got = "a server that has gone, or takes nothing for " + number_text(seconds_) + " s",
                 .expected = "one that takes gradients",
                 .where = where_});
  }
  return take(seconds_);
}

}  // namespace tegula::dist
