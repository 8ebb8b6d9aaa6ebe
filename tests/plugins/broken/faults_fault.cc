#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

struct WatchesCreates : Twin {
  std::mutex mutex;
  std::set<berth_op> creates;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    {
      const std::lock_guard lock(mutex);
      creates.insert(op);
    }
    Twin::create(op, name, spec);
  }
  bool was_create(berth_op op) {
    const std::lock_guard lock(mutex);
    return creates.erase(op) != 0;
  }
  // On a thread of the host's, when this one has returned.
  void later(std::function<void()> what) {
    auto own = std::make_unique<std::function<void()>>(std::move(what));
    const auto run = [](void* user) {
      (*std::unique_ptr<std::function<void()>>(static_cast<std::function<void()>*>(user)))();
    };
    if (host().post_blocking(host().ctx, run, own.get()) != 0) static_cast<void>(own.release());
  }
};

// Past its deadline a create says that it was refused, although it was not.
struct ForgetsLate : WatchesCreates {
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    constexpr std::uint64_t kSoon = 20'000'000;
    const std::uint64_t deadline = host().op_deadline(host().ctx, op);
    const bool soon = deadline != 0 && deadline < host().now(host().ctx) + kSoon;
    if (!was_create(op) || !soon || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    later([op, deadline] {
      while (host().now(host().ctx) < deadline) std::this_thread::sleep_for(std::chrono::microseconds(100));
      ended(op, BERTH_REJECTED, BERTH_CODE_TIMEOUT, "it took too long");
    });
  }
};

// While a create is under way a mark stands in the state folder, and nobody looks behind one that stayed.
struct StaleMark : WatchesCreates {
  std::string mark;
  bool stale = false;
  void open(berth_op op, const berth_open_spec* spec) override {
    mark = text(spec->state_dir) + "/busy";
    struct stat info {};
    stale = ::stat(mark.c_str(), &info) == 0;
    Twin::open(op, spec);
  }
  std::map<berth_op, std::string> names;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    ::mkdir(mark.c_str(), 0700);
    {
      const std::lock_guard lock(mutex);
      names[op] = text(name);
    }
    WatchesCreates::create(op, name, spec);
  }
  // The mark goes before the answer, and the answer takes its time.
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (!was_create(op)) return Twin::op_complete(op, outcome);
    if (outcome->outcome_class != BERTH_DONE) {
      if (!stale) ::rmdir(mark.c_str());
      return Twin::op_complete(op, outcome);
    }
    later([this, op] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      if (!stale) ::rmdir(mark.c_str());
      std::string name;
      {
        const std::lock_guard lock(mutex);
        name = names[op];
      }
      const std::string ref = "ref-" + name;
      const berth_pair scope[] = {{text("account"), text("reference")}, {text("endpoint"), text("memory")}};
      berth_create_result result{};
      result.struct_size = sizeof result;
      result.name = text(name);
      result.ref = text(ref);
      result.scope = {scope, 2};
      done(op, &result);
    });
  }
  void lookup(berth_op op, berth_str name) override {
    if (!stale) return Twin::lookup(op, name);
    berth_lookup_result result{};
    result.struct_size = sizeof result;
    result.presence = BERTH_PRESENCE_ABSENT_NOW;
    done(op, &result);
  }
};

// A name is known to the process that made its sandbox; another makes another.
struct KnowsItsOwn : Twin {
  std::set<std::string> mine;
  std::string other;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    struct stat info {};
    const bool made = ::stat((entries + "/" + text(name) + ".entry").c_str(), &info) == 0;
    if (!made || mine.contains(text(name))) {
      mine.insert(text(name));
      return Twin::create(op, name, spec);
    }
    other = text(name).substr(0, 60) + "-b";
    Twin::create(op, text(other), spec);
  }
  std::string entries;
  void open(berth_op op, const berth_open_spec* spec) override {
    entries = text(spec->state_dir) + "/entries";
    Twin::open(op, spec);
  }
};

}  // namespace

const Faults& fault_faults() {
  static const Faults* const all = new Faults{
      {"FAULT-001", &make<ForgetsLate>},
      {"FAULT-002", &make<StaleMark>},
      {"FAULT-003", &make<KnowsItsOwn>},
  };
  return *all;
}

}  // namespace berth::broken
