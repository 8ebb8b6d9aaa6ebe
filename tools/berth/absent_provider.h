// AbsentProvider: what stands in for a provider that cannot be loaded, so that an operator's word about
// its sandboxes can still be recorded. It knows nothing, has no effect, and refuses every operation
// with the reason why the provider cannot be used.
#ifndef BERTH_TOOLS_BERTH_ABSENT_PROVIDER_H_
#define BERTH_TOOLS_BERTH_ABSENT_PROVIDER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/provider.h"

namespace berth::cli {

class AbsentProvider final : public Provider {
 public:
  AbsentProvider(std::string id, std::string why) : why_(std::move(why)) {
    identity_.id = std::move(id);
  }

  const ProviderIdentity& identity() const override { return identity_; }
  void on_late_answer(std::function<void(LateAnswer)>) override {}

  Task<Answer<ProbeReport>> probe(OperationContext) override { co_return refused<ProbeReport>(); }
  Task<Answer<Scope>> scope(OperationContext) override { co_return refused<Scope>(); }
  Task<Answer<Created>> create(OperationContext, std::string, CreateSpec) override {
    co_return refused<Created>();
  }
  Task<Answer<Found>> lookup(OperationContext, std::string) override { co_return refused<Found>(); }
  Task<Answer<Found>> fence(OperationContext, std::string) override { co_return refused<Found>(); }
  Task<Answer<RunEnd>> run(OperationContext, std::string, Command, OutputSink&) override {
    co_return refused<RunEnd>();
  }
  Task<Answer<Nothing>> put_file(OperationContext, std::string, PutFile, InputSource&) override {
    co_return refused<Nothing>();
  }
  Task<Answer<FileGot>> get_file(OperationContext, std::string, GetFile, OutputSink&) override {
    co_return refused<FileGot>();
  }
  Task<Answer<Destroyed>> destroy(OperationContext, std::string, std::string) override {
    co_return refused<Destroyed>();
  }
  Task<Answer<std::vector<Listed>>> list_owned(OperationContext, std::string) override {
    co_return refused<std::vector<Listed>>();
  }

 private:
  template <class T>
  Answer<T> refused() const {
    Answer<T> answer;
    answer.outcome.outcome_class = OutcomeClass::kRejected;
    answer.outcome.code = OutcomeCode::kUnavailable;
    answer.outcome.message = why_;
    return answer;
  }

  ProviderIdentity identity_;
  std::string why_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_ABSENT_PROVIDER_H_
