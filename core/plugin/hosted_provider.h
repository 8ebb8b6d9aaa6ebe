// HostedProvider: the lifecycle's Provider over a ProviderHost.
#ifndef BERTH_CORE_PLUGIN_HOSTED_PROVIDER_H_
#define BERTH_CORE_PLUGIN_HOSTED_PROVIDER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/lifecycle/provider.h"
#include "core/plugin/provider_host.h"

namespace berth::plugin {

class HostedProvider final : public Provider {
 public:
  HostedProvider(std::shared_ptr<ProviderHost> host, ProviderIdentity identity)
      : host_(std::move(host)), identity_(std::move(identity)) {}

  const ProviderIdentity& identity() const override { return identity_; }
  void on_late_answer(std::function<void(LateAnswer)> listener) override {
    host_->on_late_answer(std::move(listener));
  }
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

 private:
  template <class T>
  Task<Answer<T>> call(OperationContext context, Slot slot, Arguments arguments,
                       OutputSink* output = nullptr, InputSource* input = nullptr);

  std::shared_ptr<ProviderHost> host_;
  ProviderIdentity identity_;
};

// What is wrong with a request's arguments by the contract's bounds, or empty.
std::string argument_fault(const Arguments& arguments);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_HOSTED_PROVIDER_H_
