// What the attack programs have in common. Each runs inside a sandbox and says, line by line, what it
// tried and what the kernel answered: "done", or the name of an errno. What that is worth is the
// business of the table outside.
#ifndef BERTH_TESTS_ATTACK_PROBES_PROBE_H_
#define BERTH_TESTS_ATTACK_PROBES_PROBE_H_

#include <cstddef>

namespace berth::attack {

void say(const char* attempt, const char* answer);

// "done" for zero and more, else the name of errno.
void say_result(const char* attempt, long result);

// The name of the signal or errno that ended `action` in a child of its own, or "done". `action`
// returns 0 or an errno.
void say_in_child(const char* attempt, int (*action)());

// 0, or errno when `result` is negative.
int error_of(long result);

// What the tests outside give by environment; "" when they give nothing.
const char* given(const char* name);

// A folder of the host with things that a program inside should never reach.
const char* host_folder();

// A path in it, in a buffer that the next call overwrites.
const char* host_path(const char* name);

// The start of a file, ended by NUL; empty when it cannot be read.
std::size_t read_start(const char* path, char* into, std::size_t size);

struct Program {
  const char* name;
  void (*run)();
};

// One list of each file of probes, ended by a nameless entry.
extern const Program kProcessPrograms[];
extern const Program kNamespacePrograms[];
extern const Program kSystemCallPrograms[];
extern const Program kFilePrograms[];
extern const Program kChannelPrograms[];
extern const Program kResourcePrograms[];
extern const Program kNetworkPrograms[];

}  // namespace berth::attack

#endif  // BERTH_TESTS_ATTACK_PROBES_PROBE_H_
