#include "core/lifecycle/provider.h"

namespace berth {

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::kUnknown:
      return "unknown";
    case Cause::kExited:
      return "exited";
    case Cause::kSignalled:
      return "signalled";
    case Cause::kOom:
      return "oom";
    case Cause::kWall:
      return "wall";
    case Cause::kCpu:
      return "cpu";
    case Cause::kOutput:
      return "output";
    case Cause::kDisk:
      return "disk";
    case Cause::kCancelled:
      return "cancelled";
    case Cause::kLost:
      return "lost";
  }
  return "unknown";
}

}  // namespace berth
