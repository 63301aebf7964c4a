#pragma once
// Library code that builds several nodes opens a frame, so that errors and printed graphs name the user's line and the layer.

#include <string_view>

#include "tegula/core/line.h"
#include "tegula/graph/node.h"

namespace tegula {

/// While one lives, an op is being made on this thread. New nodes are noted (note_new_nodes) when the outermost one is destroyed, so that making
/// a node never runs a program. The computation may fail: the destructor throws then, unless another exception is passing.
class Making {
 public:
  Making();
  ~Making() noexcept(false);
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  /// True while one lives on this thread.
  static bool any();

 private:
  int exceptions_;  // that were passing when it began
};

/// In frame("Linear", x.loc): until it goes, nodes made on this thread report the outermost frame's line, and "…/Linear" as path.
class In {
 public:
  In(std::string_view name, const Line& where);
  ~In() noexcept(false);
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  friend Origin origin_at(const Line& where);
  const Making making_;
  std::string_view name_;
  Line where_;
  const In* parent_;
  const std::string* path_ = nullptr;  // made when the first node needs it
};

/// The frame in which grad() makes its nodes.
inline constexpr std::string_view kGradFrame = "grad";
/// True if the node was made in a frame of this name, or in a frame inside it.
bool is_within(const Origin& origin, std::string_view frame);

/// A path that lives as long as the process, one for all equal ones; null for an empty one.
const std::string* kept_path(std::string path);

/// The origin of a node made now: the outermost frame's line, or `where` when there is no frame.
Origin origin_at(const Line& where);

}  // namespace tegula
