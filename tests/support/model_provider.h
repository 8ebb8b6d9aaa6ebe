// Cloud: a service that holds sandboxes, shared by all hosts of a world; ModelProvider: one host's
// way to it, with a fault a test can choose for every operation.
#ifndef BERTH_TESTS_SUPPORT_MODEL_PROVIDER_H_
#define BERTH_TESTS_SUPPORT_MODEL_PROVIDER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/provider.h"
#include "tests/support/world.h"

namespace berth::testing {

// What truly exists.
struct Cloud {
  struct Resource {
    bool alive = false;
    Scope scope;
  };
  std::map<std::string, Resource> resources;  // by name, dead ones included
  std::map<std::string, Scope> creating;      // late creates that may still succeed
  std::set<std::string> fenced;
  std::vector<Listed> unnamed;  // what carries the tag beside them
  std::map<std::string, int> creates_asked;      // by name
  std::map<std::string, int> deletes_in_flight;  // by name, as its hosts see it
  std::vector<std::string> log;                  // effects in order: "create NAME", ...

  bool alive(const std::string& name) const;
  // Whether a sandbox of this name exists or may yet appear.
  bool may_exist(const std::string& name) const;
  void make(const std::string& name, const Scope& scope);
  // A late create succeeds now, unless it has been fenced.
  void finish_late(const std::string& name);
};

enum class Slot { kScope, kCreate, kLookup, kFence, kRun, kPutFile, kGetFile, kDestroy, kList };
inline constexpr std::size_t kSlotCount = 9;
std::string_view to_string(Slot slot);

enum class OpFault {
  kNone,
  kRejected,
  kFailedClean,
  kFailedDirty,
  kLostDone,     // done, but the reply is lost
  kLostNotDone,  // the request is lost on its way
  kLate,         // a create that goes on without its host; elsewhere as kLostNotDone
  kUnset,        // the provider forgot to say; done
  kHang,         // no answer until the deadline or until it is abandoned; done
  kWrongScope,   // made in another scope; elsewhere as kNone
  kWrongName,    // answers about another name; elsewhere as kNone
  kDuplicate,    // the reply comes twice
};
inline constexpr std::size_t kOpFaultCount = 12;
std::string_view to_string(OpFault fault);

class ModelProvider : public Provider {
 public:
  ModelProvider(World& world, int host, Cloud& cloud, Scope scope);

  const ProviderIdentity& identity() const override { return identity_; }
  void on_late_answer(std::function<void(LateAnswer)> listener) override;

  Task<Answer<ProbeReport>> probe(OperationContext context) override;
  Task<Answer<Scope>> scope(OperationContext context) override;
  Task<Answer<Created>> create(OperationContext context, std::string name,
                               CreateSpec spec) override;
  Task<Answer<Found>> lookup(OperationContext context, std::string name) override;
  Task<Answer<Found>> fence(OperationContext context, std::string name) override;
  Task<Answer<RunEnd>> run(OperationContext context, std::string ref, Command command,
                           OutputSink& output) override;
  Task<Answer<Nothing>> put_file(OperationContext context, std::string ref, PutFile file,
                                 InputSource& input) override;
  Task<Answer<FileGot>> get_file(OperationContext context, std::string ref, GetFile file,
                                 OutputSink& output) override;
  Task<Answer<Destroyed>> destroy(OperationContext context, std::string name,
                                  std::string ref) override;
  Task<Answer<std::vector<Listed>>> list_owned(OperationContext context,
                                               std::string owner_tag) override;

  // Asked when an operation takes effect. Empty: none.
  std::function<OpFault(Slot slot, const std::string& name)> fault;
  // Called when an operation is asked for, and before it takes effect. Empty: nothing.
  std::function<void(Slot slot, const std::string& name)> on_ask;
  std::function<void(Slot slot, const std::string& name)> on_effect;
  const Scope& scope_value() const { return scope_; }
  ProviderIdentity& mutable_identity() { return identity_; }

 private:
  template <class T>
  Task<Answer<T>> operate(OperationContext context, Slot slot, std::string name,
                          std::function<Answer<T>(OpFault)> effect);
  Answer<Created> made(const std::string& name, OpFault fault);

  World& world_;
  int host_;
  Cloud& cloud_;
  Scope scope_;
  ProviderIdentity identity_;
  std::function<void(LateAnswer)> late_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_MODEL_PROVIDER_H_
