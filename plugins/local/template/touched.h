// Which pages of a template a program writes to and reads, whatever it does: learned once from a program
// that does nothing, in a copy of the template. A fork is the same memory, so it will be the same pages,
// and one that waits for its program has time to have them before.
//
// One thread. Nothing here allocates but in the copy that learns, which ends.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_TOUCHED_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_TOUCHED_H_

namespace berth::local {

// Forks. In the copy, whose streams lead nowhere, returns true: it goes on as a program and says at its
// end what it touched, see tell_touched(). Here returns false once that is known, or is given up.
bool learn_touched();

// In the copy that learns: says it and ends the process. Elsewhere returns.
void tell_touched();

// Whether somebody waits for what is done.
enum class Pace { kHurried, kUnhurried };

// In a fork: makes the pages its own that it will write to, and maps what it will read. Done at once that is
// much cheaper than one page after the other when the program comes to it.
void touch(Pace pace);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_TOUCHED_H_
