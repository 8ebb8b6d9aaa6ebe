// The threads a template has when it is forked. Each of them sleeps until another one has work for it. A
// fork has their memory, stacks included, but not the threads; the first to be woken there is started anew
// on the stack of the old one, in the place where that sleeps.
//
// The functions of the C library by which threads are started, sleep and are woken are replaced by those in
// sleepers.cc, which is therefore preloaded.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_SLEEPERS_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_SLEEPERS_H_

namespace berth::local {

// Called first in a fork, by its only thread. Every thread of the template sleeps or waits for something
// that never happens.
void begin_fork();

bool in_fork();

// How often the threads of a template went to sleep so far, or 0 while one is awake. The same number twice
// means that none was awake in between.
unsigned long sleeps();

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_SLEEPERS_H_
