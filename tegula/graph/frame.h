#pragma once
// Library code that builds several nodes opens a frame, so that errors and printed graphs name the user's line and the layer.

#include <string_view>

#include "tegula/core/line.h"
#include "tegula/graph/node.h"

namespace tegula {

/// In frame("Linear", x.loc): until it goes, nodes made on this thread report the outermost frame's line, and "…/Linear" as path.
class In {
 public:
  In(std::string_view name, const Line& where);
  ~In();
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  friend Origin origin_at(const Line& where);
  std::string_view name_;
  Line where_;
  const In* parent_;
  const std::string* path_ = nullptr;  // made when the first node needs it
};

/// A path that lives as long as the process, one for all equal ones; null for an empty one.
const std::string* kept_path(std::string path);

/// The origin of a node made now: the outermost frame's line, or `where` when there is no frame.
Origin origin_at(const Line& where);

}  // namespace tegula
