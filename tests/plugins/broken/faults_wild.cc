// What ends a case from outside: no clause of its own, but the kit must bound it and say where it was.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

struct Hangs : Twin {
  void lookup(berth_op op, berth_str) override {
    op_stage(op, text("waiting for ever"));
    for (;;) ::pause();
  }
};

struct Crashes : Twin {
  void lookup(berth_op op, berth_str) override {
    op_stage(op, text("about to crash"));
    std::abort();
  }
};

struct Floods : Twin {
  void probe(berth_op op) override {
    const std::string line(4000, 'f');
    for (int i = 0; i < 5000; ++i) {
      std::puts(line.c_str());
      host().log(host().ctx, BERTH_LOG_INFO, text(line));
      op_stage(op, text("flooding"));
    }
    Twin::probe(op);
  }
};

// ---- What only a sanitizer sees, and only in a build with it is done: one byte too many, one more than the largest
// number, one variable of two threads, one block that nobody knows of any more.

struct ReadsBeyond : Twin {
  void lookup(berth_op op, berth_str name) override {
#if defined(__SANITIZE_ADDRESS__)
    const auto copy = std::make_unique<char[]>(name.len);
    static_cast<void>(*static_cast<const volatile char*>(copy.get() + name.len));
#endif
    Twin::lookup(op, name);
  }
};

struct Overflows : Twin {
  volatile int most = INT_MAX;
  void lookup(berth_op op, berth_str name) override {
#if defined(__SANITIZE_ADDRESS__)  // there is no macro for undefined behaviour; the two come together
    most = most + 1;
#endif
    Twin::lookup(op, name);
  }
};

struct Races : Twin {
  int lookups = 0;
  void lookup(berth_op op, berth_str name) override {
#if defined(__SANITIZE_THREAD__)
    std::thread other([this] { ++lookups; });
    ++lookups;
    other.join();
#endif
    Twin::lookup(op, name);
  }
};

struct LosesMemory : Twin {
  void* volatile block = nullptr;
  void lookup(berth_op op, berth_str name) override {
#if defined(__SANITIZE_ADDRESS__)
    for (int i = 0; i < 8; ++i) block = std::malloc(1000);
    block = nullptr;
#endif
    Twin::lookup(op, name);
  }
};

}  // namespace

const Faults& wild_faults() {
  static const Faults* const all = new Faults{
      {"hang", &make<Hangs>},           {"crash", &make<Crashes>},       {"flood", &make<Floods>},
      {"reads-beyond", &make<ReadsBeyond>}, {"overflows", &make<Overflows>}, {"races", &make<Races>},
      {"loses-memory", &make<LosesMemory>}};
  return *all;
}

}  // namespace berth::broken
