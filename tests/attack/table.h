// The attack probes as data: what each tries, what stops it, and what it answers with and without that.
#ifndef BERTH_TESTS_ATTACK_TABLE_H_
#define BERTH_TESTS_ATTACK_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scene.h"

namespace berth::attack {

inline constexpr char kUsuallyAbsent[] =
    "ENOSYS|EAFNOSUPPORT|EPROTONOSUPPORT|ESOCKTNOSUPPORT|EOPNOTSUPP|ENODEV";

// One line a program says. Several answers are separated by '|': kernels and file systems differ in which
// of two refusals comes first.
struct Attempt {
  const char* what;
  const char* held;                // with every layer
  const char* succeeds = nullptr;  // without them; nullptr: something else still stops it, or it is allowed
  // Answers of the twin that mean this kernel has no such thing to attack. Where every attempt of a probe
  // has answers of its own here, a machine may have none of it.
  const char* absent = kUsuallyAbsent;
};

// Why a twin does not run.
enum class Twin {
  kRuns,
  kTakesRoot,        // an ordinary user could not do this to the host in the first place
  kTakesIdentity,    // it would reach processes of whoever runs the tests
  kTakesOwnNetwork,  // packets would leave the machine
  kNever,            // `reason` says why
};

struct Probe {
  int number;
  const char* title;
  std::uint32_t stopped_by;         // bits of Layer: left out in the twin, all of them
  std::uint32_t without = 0;        // left out in both runs, so that one wall is seen alone
  std::uint32_t least_landlock = 0;  // the level of Landlock that has the rule
  // What happens: a program inside, or more than that.
  const char* program = nullptr;
  std::string (*scene)(Scene&) = nullptr;
  Twin twin = Twin::kRuns;
  const char* reason = nullptr;
  std::vector<Attempt> attempts;
};

std::span<const Probe> probes();

// The table of the README, in Markdown.
std::string rendered();

}  // namespace berth::attack

#endif  // BERTH_TESTS_ATTACK_TABLE_H_
