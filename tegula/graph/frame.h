#pragma once
// Library code that builds several nodes opens a frame, so that errors and printed graphs name the user's line and the layer.

#include <source_location>
#include <string_view>

#include "tegula/graph/node.h"

namespace tegula {

/// In frame("Linear", x.loc): until it goes, nodes made on this thread report the outermost frame's line, and "…/Linear" as path.
class In {
 public:
  In(std::string_view name, const std::source_location& where);
  ~In();
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  friend Origin origin_at(const std::source_location& where);
  std::string_view name_;
  std::source_location where_;
  const In* parent_;
  const std::string* path_ = nullptr;  // made when the first node needs it
};

/// The origin of a node made now: the outermost frame's line, or `where` when there is no frame.
Origin origin_at(const std::source_location& where);

}  // namespace tegula
