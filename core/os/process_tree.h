// What a process has below it: children that are its own, and those it inherits as a subreaper.
#ifndef BERTH_CORE_OS_PROCESS_TREE_H_
#define BERTH_CORE_OS_PROCESS_TREE_H_

#include <string>
#include <vector>

namespace berth::os {

// Every orphaned descendant of this process becomes its child from here on. False when the system
// does not do that.
bool adopt_orphans();

// The ids of this process's children that are not reaped.
std::vector<int> children();
// The command name of a process, or empty.
std::string command_of(int pid);

// Waits for all children to end by themselves, at most about `ms`; reaps them.
bool await_children(int ms);
// Kills whatever is below this process, as long as it takes and at most a second, and reaps it.
// Returns the command names of the children that were there.
std::vector<std::string> end_children();

// SIGKILL to a child of this process that is not reaped.
void kill_child(int pid);

}  // namespace berth::os

#endif  // BERTH_CORE_OS_PROCESS_TREE_H_
