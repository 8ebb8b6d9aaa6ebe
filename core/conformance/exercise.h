// A round through every slot, for cases whose clause the host's own checks judge.
#ifndef BERTH_CORE_CONFORMANCE_EXERCISE_H_
#define BERTH_CORE_CONFORMANCE_EXERCISE_H_

#include "core/conformance/lab.h"

namespace berth::conformance {

// Asks four times what can be asked again and does everything else once, refusals included. What is
// answered is not judged: a breach that the host sees is held against its clause by the runner.
Status exercise(Lab& lab);

// No finding of the loader is about the case's own clause.
Status loader_finds_nothing(Lab& lab);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_EXERCISE_H_
