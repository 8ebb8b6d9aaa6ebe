// ProcessState: what of a process belongs to its host, looked at before and after a provider had a
// part in it.
#ifndef BERTH_CORE_CONFORMANCE_PROCESS_STATE_H_
#define BERTH_CORE_CONFORMANCE_PROCESS_STATE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace berth::conformance {

// Attributes by name, as text: "working directory", "umask", "locale", "signal 15", "variable HOME".
// Compared whole, so that one sentence can say which changed and how.
using ProcessState = std::map<std::string, std::string>;
ProcessState process_state();

// "the umask was 22 and is 0; ...", or empty when nothing changed.
std::string difference(const ProcessState& before, const ProcessState& after);

// Descriptor number -> what it is ("socket:[123]", "/tmp/x"). Of this process, now.
std::map<int, std::string> open_descriptors();
// Ids of this process's threads.
std::set<int> threads();
// Its children, as far as they are not reaped.
std::set<int> children();
// Mount points, each as often as it is mounted.
std::multiset<std::string> mounts();

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_PROCESS_STATE_H_
