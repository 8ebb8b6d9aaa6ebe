#include "template/sleepers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#define BERTH_EXPORT __attribute__((visibility("default")))

namespace berth::local {
namespace {

constexpr std::size_t kSleepersMax = 64;
constexpr std::size_t kGuardBytes = 4096;
// A thread that is started anew works on the stack of the old one.
constexpr std::size_t kWakingStackBytes = 128 * 1024;

using Body = void* (*)(void*);

struct Sleeper {
  pthread_t thread;  // as who started it knows it
  Body body;
  void* argument;
  void* result;
  // While it sleeps: where it goes on, and what it sleeps at.
  jmp_buf place;
  pthread_cond_t* condition;
  pthread_mutex_t* mutex;
  std::atomic<bool> asleep;
  std::atomic<unsigned long> sleeps;  // so far
  // In a fork.
  std::atomic<bool> woken;
  pthread_t successor;
  jmp_buf home;  // on the successor's own stack
};

Sleeper sleepers[kSleepersMax];
std::atomic<std::size_t> sleeper_count;
bool forked = false;
thread_local Sleeper* own = nullptr;

template <typename Function>
Function* usual(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void* live(void* which) {
  own = static_cast<Sleeper*>(which);
  Sleeper& self = *own;
  self.result = self.body(self.argument);
  if (forked) longjmp(self.home, 1);
  return self.result;
}

// The new thread of a sleeper, which goes on in pthread_cond_wait and is back here when its body ends.
void* go_on(void* which) {
  own = static_cast<Sleeper*>(which);
  if (setjmp(own->home) == 0) longjmp(own->place, 1);
  return own->result;
}

int start(pthread_t* thread, const pthread_attr_t* attributes, Body body, void* argument) {
  static auto* const create = usual<decltype(pthread_create)>("pthread_create");
  return create(thread, attributes, body, argument);
}

// With a stack of its own, since the C library gives those it made to the threads of a fork, which would be
// known by the same number.
int start_known(pthread_t* thread, const pthread_attr_t* wanted, Body body, void* argument) {
  const std::size_t index = sleeper_count++;
  if (index >= kSleepersMax) return EAGAIN;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  std::size_t size = 0;
  pthread_attr_getstacksize(wanted != nullptr ? wanted : &attributes, &size);
  void* const memory = mmap(nullptr, size + kGuardBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return EAGAIN;
  mprotect(memory, kGuardBytes, PROT_NONE);
  pthread_attr_setstack(&attributes, static_cast<char*>(memory) + kGuardBytes, size);
  Sleeper& sleeper = sleepers[index];
  sleeper.body = body;
  sleeper.argument = argument;
  const int error = start(&sleeper.thread, &attributes, live, &sleeper);
  pthread_attr_destroy(&attributes);
  *thread = sleeper.thread;
  return error;
}

void wake(Sleeper& sleeper) {
  if (sleeper.woken.exchange(true)) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kWakingStackBytes);
  if (start(&sleeper.successor, &attributes, go_on, &sleeper) != 0) sleeper.woken = false;
  pthread_attr_destroy(&attributes);
}

// One or all of those that still sleep at the condition as they did in the template.
void wake_at(const pthread_cond_t* condition, bool all) {
  for (std::size_t i = 0; i < sleeper_count; ++i) {
    Sleeper& sleeper = sleepers[i];
    if (!sleeper.asleep || sleeper.woken || sleeper.condition != condition) continue;
    wake(sleeper);
    if (!all) return;
  }
}

}  // namespace

void begin_fork() {
  forked = true;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);  // that of everyone who started these threads
  for (std::size_t i = 0; i < sleeper_count; ++i) {
    Sleeper& sleeper = sleepers[i];
    if (!sleeper.asleep) continue;
    // Nobody sleeps there as far as this process goes, nor uses the lock, which is free meanwhile.
    pthread_cond_init(sleeper.condition, &attributes);
    sleeper.mutex->__data.__nusers = 0;
  }
  pthread_condattr_destroy(&attributes);
}

bool in_fork() { return forked; }

unsigned long sleeps() {
  unsigned long sum = 1;
  for (std::size_t i = 0; i < sleeper_count; ++i) {
    const Sleeper& sleeper = sleepers[i];
    if (sleeper.sleeps > 0 && !sleeper.asleep) return 0;  // others never sleep at a condition
    sum += sleeper.sleeps;
  }
  return sum;
}

}  // namespace berth::local

extern "C" {

BERTH_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                void* (*body)(void*), void* argument) noexcept {
  using namespace berth::local;
  return forked ? start(thread, attributes, body, argument)
                : start_known(thread, attributes, body, argument);
}

// A thread that is not in the fork has ended as far as that is concerned.
BERTH_EXPORT int pthread_join(pthread_t thread, void** result) {
  using namespace berth::local;
  static auto* const join = usual<decltype(pthread_join)>("pthread_join");
  for (std::size_t i = 0; forked && i < sleeper_count; ++i) {
    const Sleeper& sleeper = sleepers[i];
    if (sleeper.thread == thread) return sleeper.woken ? join(sleeper.successor, result) : 0;
  }
  return join(thread, result);
}

BERTH_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  using namespace berth::local;
  static auto* const wait = usual<decltype(pthread_cond_wait)>("pthread_cond_wait");
  if (forked || own == nullptr) return wait(condition, mutex);
  own->condition = condition;
  own->mutex = mutex;
  // In a fork: woken for no reason, which a sleeper has to expect.
  if (setjmp(own->place) != 0) return pthread_mutex_lock(own->mutex);
  ++own->sleeps;
  own->asleep = true;
  const int error = wait(condition, mutex);
  own->asleep = false;
  return error;
}

BERTH_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  using namespace berth::local;
  static auto* const signal = usual<decltype(pthread_cond_signal)>("pthread_cond_signal");
  if (forked) wake_at(condition, false);
  return signal(condition);
}

BERTH_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  using namespace berth::local;
  static auto* const broadcast = usual<decltype(pthread_cond_broadcast)>("pthread_cond_broadcast");
  if (forked) wake_at(condition, true);
  return broadcast(condition);
}
}
