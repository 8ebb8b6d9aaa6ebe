// Finding out what works on this machine, by doing it.
#ifndef BERTH_PLUGINS_LOCAL_PROBE_H_
#define BERTH_PLUGINS_LOCAL_PROBE_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "allocations.h"
#include "berth/values.hpp"

namespace berth::local {

// Tries each layer, makes a trial sandbox and looks at the interpreters in it.
ProbeReport probe_machine(Allocations& allocations);

// The same, but what this process found out lately is said again. It is found out anew, the layers too,
// after a minute; when a create was refused or failed since; and when something differs that decides
// whether a layer works or what the interpreters are: the kernel's settings for namespaces, the control
// groups that sandboxes are made below, the interpreters' files. A reboot ends the process.
//
// Thread safety: every member may be called from any thread; whoever comes second waits.
class ProbeMemory {
 public:
  ProbeReport probe(Allocations& allocations);

 private:
  std::mutex mutex_;
  std::optional<ProbeReport> report_;
  std::string marks_;
  std::uint64_t failed_creates_ = 0;
  std::chrono::steady_clock::time_point at_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_PROBE_H_
