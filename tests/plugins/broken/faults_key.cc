#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// A second create of a name for the same makes another sandbox beside the first.
struct SecondSandbox : Twin {
  std::map<std::string, int> creates;
  std::string other;  // lives until its operation is complete
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    const bool plain = spec->env.count == 0 && spec->languages.count == 2;
    if (!plain || ++creates[text(name)] != 2) return Twin::create(op, name, spec);
    other = text(name).substr(0, 60) + "-b";
    Twin::create(op, text(other), spec);
  }
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    creates.erase(text(name));
    Twin::destroy(op, name, ref);
  }
};

// Whoever makes a sandbox keeps its name to itself for as long as it lives: the fault is one of another process that
// asks meanwhile. What a dead process has made everyone finds, so that only a case about the name alone sees it.
struct KeepsNamesToItself : Twin {
  std::string place;
  int held = -1;  // locked from the first create to the end of this process
  void open(berth_op op, const berth_open_spec* spec) override {
    place = text(spec->state_dir) + "/maker";
    Twin::open(op, spec);
  }
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (held < 0) held = lock();
    Twin::create(op, name, spec);
  }
  void shutdown(berth_op op) override {
    release(held);
    Twin::shutdown(op);
  }
  bool another_made_it() {
    if (held >= 0) return false;
    const int mine = lock();
    const bool taken = mine < 0;
    if (!taken) ::close(mine);
    return taken;
  }
  static void release(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

 private:
  int lock() const {
    int fd = ::open(place.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0) release(fd);
    return fd;
  }
};

// Lists a few sandboxes without their names. Of a list that goes on after a page another case asks.
struct NamesAreNotKept : KeepsNamesToItself {
  static constexpr std::size_t kFew = 8;
  std::set<berth_op> lists;
  void list_owned(berth_op op, berth_str tag, berth_str cursor) override {
    if (cursor.len == 0) lists.insert(op);
    Twin::list_owned(op, tag, cursor);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (lists.erase(op) == 0 || outcome->outcome_class != BERTH_DONE || !another_made_it())
      return Twin::op_complete(op, outcome);
    berth_list_result result = *static_cast<const berth_list_result*>(outcome->result);
    std::vector<berth_listed> items(result.items, result.items + result.item_count);
    if (items.size() > 1 && items.size() <= kFew)
      for (berth_listed& item : items) item.name = {nullptr, 0};
    result.items = items.data();
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

// Creating a name for the fourth time answers with one that is almost it.
struct AnswersWithAnother : Twin {
  std::map<std::string, int> creates;
  std::map<berth_op, bool> fourth;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (++creates[text(name)] == 4) fourth[op] = true;
    Twin::create(op, name, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (!fourth.contains(op) || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_create_result result = *static_cast<const berth_create_result*>(outcome->result);
    const std::string name = text(result.name) + "-b";
    result.name = text(name);
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

// Finds one sandbox and then no other.
struct FindsOne : KeepsNamesToItself {
  std::set<std::string> found;
  void lookup(berth_op op, berth_str name) override {
    found.insert(text(name));
    if (found.size() < 2 || !another_made_it()) return Twin::lookup(op, name);
    berth_lookup_result result{};
    say_absent(result);
    done(op, &result);
  }
};

// No time to ask is taken for "there is none".
struct AbsentWithoutAsking : Twin {
  void lookup(berth_op op, berth_str name) override {
    if (host().op_deadline(host().ctx, op) > host().now(host().ctx)) return Twin::lookup(op, name);
    berth_lookup_result result{};
    say_absent(result);
    done(op, &result);
  }
};

// Nothing of a name is left once it was destroyed, so that it can be had again.
struct ForgetsUsedNames : Twin {
  std::string entries;
  std::map<berth_op, std::string> destroys;
  void open(berth_op op, const berth_open_spec* spec) override {
    entries = text(spec->state_dir) + "/entries/";
    Twin::open(op, spec);
  }
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    destroys[op] = text(name);
    Twin::destroy(op, name, ref);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    const auto found = destroys.find(op);
    if (found != destroys.end() && outcome->outcome_class == BERTH_DONE)
      ::unlink((entries + found->second + ".entry").c_str());
    Twin::op_complete(op, outcome);
  }
};

struct IgnoresLifetime : Twin {
  void create(berth_op op, berth_str name, const berth_create_spec* from) override {
    berth_create_spec spec = *from;
    spec.lifetime_ns = 0;
    Twin::create(op, name, &spec);
  }
};

}  // namespace

const Faults& key_faults() {
  static const Faults* const all = new Faults{
      {"KEY-001", &make<SecondSandbox>},       {"KEY-002", &make<NamesAreNotKept>},
      {"KEY-003", &make<AnswersWithAnother>},  {"KEY-004", &make<FindsOne>},
      {"KEY-101", &make<AbsentWithoutAsking>}, {"KEY-005", &make<ForgetsUsedNames>},
      {"KEY-006", &make<IgnoresLifetime>},
  };
  return *all;
}

}  // namespace berth::broken
