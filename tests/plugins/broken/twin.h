// Twin: the reference provider with one fault, chosen by the configuration's "fault".
//
// The reference provider is compiled into this library as it is, and stands behind two tables: a fault may change what the
// provider is told and what it says. A fault is a struct that overrides what it breaks; everything it
// does not override is handed on. One object per loaded library; slots come on the host's loop,
// callbacks on any thread.
#ifndef BERTH_TESTS_PLUGINS_BROKEN_TWIN_H_
#define BERTH_TESTS_PLUGINS_BROKEN_TWIN_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "sdk/include/berth/abi.h"

namespace berth::broken {

inline std::string text(berth_str from) { return from.len == 0 ? std::string() : std::string(from.ptr, from.len); }
inline berth_str text(std::string_view from) { return {from.data(), from.size()}; }

class Twin {
 public:
  virtual ~Twin() = default;

  // ---- What the host asks. `inner` is the reference provider.
  virtual void open(berth_op op, const berth_open_spec* spec) { inner().open(self(), op, spec); }
  virtual void probe(berth_op op) { inner().probe(self(), op); }
  virtual void scope(berth_op op) { inner().scope(self(), op); }
  virtual void create(berth_op op, berth_str name, const berth_create_spec* spec) {
    inner().create(self(), op, name, spec);
  }
  virtual void lookup(berth_op op, berth_str name) { inner().lookup(self(), op, name); }
  virtual void fence(berth_op op, berth_str name) { inner().fence(self(), op, name); }
  virtual void run(berth_op op, berth_str ref, const berth_command* command) {
    inner().run(self(), op, ref, command);
  }
  virtual void put_file(berth_op op, berth_str ref, const berth_put_file_spec* spec) {
    inner().put_file(self(), op, ref, spec);
  }
  virtual void get_file(berth_op op, berth_str ref, const berth_get_file_spec* spec) {
    inner().get_file(self(), op, ref, spec);
  }
  virtual void destroy(berth_op op, berth_str name, berth_str ref) {
    inner().destroy(self(), op, name, ref);
  }
  virtual void list_owned(berth_op op, berth_str tag, berth_str cursor) {
    inner().list_owned(self(), op, tag, cursor);
  }
  virtual void shutdown(berth_op op) { inner().shutdown(self(), op); }
  virtual const void* get_extension(berth_str id) { return inner().get_extension(self(), id); }

  // ---- What the reference provider says.
  virtual void op_complete(berth_op op, const berth_outcome* outcome) {
    host().op_complete(host().ctx, op, outcome);
  }
  virtual berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) {
    return host().output(host().ctx, op, stream, bytes);
  }
  virtual berth_input_status input(berth_op op, std::uint8_t* buffer, std::uint64_t capacity, std::uint64_t* got) {
    return host().input(host().ctx, op, buffer, capacity, got);
  }
  virtual void op_stage(berth_op op, berth_str stage) { host().op_stage(host().ctx, op, stage); }
  virtual std::uint32_t op_cancelled(berth_op op) { return host().op_cancelled(host().ctx, op); }
  virtual std::int32_t op_cancel_fd(berth_op op) { return host().op_cancel_fd(host().ctx, op); }
  virtual berth_wait_status op_wait(berth_op op, std::uint64_t timeout_ns) {
    return host().op_wait(host().ctx, op, timeout_ns);
  }
  virtual std::uint32_t post_blocking(berth_task_fn task, void* user) {
    return host().post_blocking(host().ctx, task, user);
  }

 protected:
  static const berth_provider_v1& inner();
  static void* self();
  static const berth_host_v1& host();

  // Ends an operation as DONE with `result`, past op_complete above.
  static void done(berth_op op, const void* result = nullptr);
  static void ended(berth_op op, berth_outcome_class outcome_class, berth_code code,
                    std::string_view message);
};

using Make = std::unique_ptr<Twin> (*)();
using Faults = std::map<std::string_view, Make, std::less<>>;
template <class Fault>
std::unique_ptr<Twin> make() {
  return std::make_unique<Fault>();
}

// Operations a fault has an eye on, between the slot that begins one and the callback that ends it. Any thread.
class Watched {
 public:
  void insert(berth_op op) {
    const std::lock_guard lock(mutex_);
    operations_.insert(op);
  }
  // Whether it was one of them.
  bool erase(berth_op op) {
    const std::lock_guard lock(mutex_);
    return operations_.erase(op) != 0;
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return operations_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::set<berth_op> operations_;
};

// The answer of a lookup that found nothing.
inline void say_absent(berth_lookup_result& result) {
  result.struct_size = sizeof result;
  result.presence = BERTH_PRESENCE_ABSENT_NOW;
}

// What the entry of each library calls. `early` stands there until open names another fault, and stays where it
// names none: for what goes wrong before there is a configuration.
std::uint32_t enter(const berth_offer* offer, berth_reply* reply, std::unique_ptr<Twin> early = std::make_unique<Twin>());

// One list per area of the contract, each in faults_<area>.cc. The key is the id of the case that must
// find the fault.
const Faults& meta_faults();
const Faults& load_faults();
const Faults& op_faults();
const Faults& key_faults();
const Faults& out_faults();
const Faults& run_faults();
const Faults& file_faults();
const Faults& canc_faults();
const Faults& strm_faults();
const Faults& clean_faults();
const Faults& fence_faults();
const Faults& conc_faults();
const Faults& mem_faults();
const Faults& shut_faults();
const Faults& fault_faults();
const Faults& wild_faults();

}  // namespace berth::broken

#endif  // BERTH_TESTS_PLUGINS_BROKEN_TWIN_H_
