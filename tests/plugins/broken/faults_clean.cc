#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Given a reference as well, says that the sandbox is gone and does nothing.
struct DestroyLies : Twin {
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    if (ref.len == 0) return Twin::destroy(op, name, ref);
    done(op);
  }
};

// A process that has been told nothing of any sandbox knows of none that it could destroy.
struct KnowsOnlyItsOwn : Twin {
  bool told = false;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    told = true;
    Twin::create(op, name, spec);
  }
  void lookup(berth_op op, berth_str name) override {
    told = true;
    Twin::lookup(op, name);
  }
  void list_owned(berth_op op, berth_str tag, berth_str cursor) override {
    told = true;
    Twin::list_owned(op, tag, cursor);
  }
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    if (told) return Twin::destroy(op, name, ref);
    done(op);
  }
};

// Refuses once to destroy a sandbox in which something runs.
struct SparesTheBusy : Twin {
  std::mutex mutex;
  std::map<berth_op, std::string> runs;
  std::set<std::string> spared;
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    {
      const std::lock_guard lock(mutex);
      runs[op] = text(ref);
    }
    Twin::run(op, ref, command);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    {
      const std::lock_guard lock(mutex);
      runs.erase(op);
    }
    Twin::op_complete(op, outcome);
  }
  bool spares(const std::string& name) {
    const std::lock_guard lock(mutex);
    const bool busy = std::any_of(runs.begin(), runs.end(), [&](const auto& one) { return one.second == "ref-" + name; });
    return busy && spared.insert(name).second;
  }
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    if (!spares(text(name))) return Twin::destroy(op, name, ref);
    ended(op, BERTH_REJECTED, BERTH_CODE_CONFLICT, "something runs in it; wait until that ends");
  }
};

// Where there is no time to look, it will have worked. So it is with sandboxes that were made in good time: what was
// made in haste is for other clauses.
struct TrustsTheRequest : Twin {
  static constexpr std::uint64_t kHasteNs = 1'000'000'000;
  std::set<std::string> made_in_good_time;
  std::uint64_t left(berth_op op) const {
    const std::uint64_t deadline = host().op_deadline(host().ctx, op), now = host().now(host().ctx);
    return deadline > now ? deadline - now : 0;
  }
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (left(op) > kHasteNs) made_in_good_time.insert(text(name));
    Twin::create(op, name, spec);
  }
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    if (left(op) > 0 || !made_in_good_time.contains(text(name))) return Twin::destroy(op, name, ref);
    done(op);
  }
};

// Takes the first eight for all there are, unless it is plain that there are many.
struct StopsAtEight : Twin {
  std::set<berth_op> lists;
  void list_owned(berth_op op, berth_str tag, berth_str cursor) override {
    lists.insert(op);
    Twin::list_owned(op, tag, cursor);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (lists.erase(op) == 0 || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_list_result result = *static_cast<const berth_list_result*>(outcome->result);
    if (result.item_count > 8 && result.item_count <= 16) {
      result.item_count = 8;
      result.complete = 1;
      result.next_cursor = {nullptr, 0};
    }
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

// Pages of twenty, of which the next begins one too late. Where they all fit on one, nothing shows.
struct LosesOneBetweenPages : Twin {
  static constexpr std::uint64_t kPageItems = 20;
  std::map<berth_op, std::uint64_t> lists;
  void list_owned(berth_op op, berth_str tag, berth_str cursor) override {
    lists[op] = cursor.len == 0 ? 0 : std::stoull(text(cursor));
    Twin::list_owned(op, tag, berth_str{nullptr, 0});
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    const auto asked = lists.extract(op);
    if (asked.empty() || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_list_result result = *static_cast<const berth_list_result*>(outcome->result);
    const std::uint64_t begin = std::min(asked.mapped(), result.item_count);
    const std::uint64_t end = std::min(begin + kPageItems, result.item_count);
    const std::string next = std::to_string(end + 1);
    result.complete = end == result.item_count ? 1 : 0;
    result.items += begin;
    result.item_count = end - begin;
    result.next_cursor = result.complete == 1 ? berth_str{nullptr, 0} : text(next);
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

}  // namespace

const Faults& clean_faults() {
  static const Faults* const all = new Faults{
      {"CLEAN-001", &make<DestroyLies>},      {"CLEAN-002", &make<KnowsOnlyItsOwn>},
      {"CLEAN-003", &make<SparesTheBusy>},    {"CLEAN-004", &make<TrustsTheRequest>},
      {"CLEAN-005", &make<StopsAtEight>},     {"CLEAN-101", &make<LosesOneBetweenPages>},
  };
  return *all;
}

}  // namespace berth::broken
