// The local provider: sandboxes on this Linux machine out of namespaces, filters and control groups.
//
// provider -> launcher -> init -> programs. The launcher and the init are the helper binary in this
// library (helper/); what they say to each other is in wire.h. State that outlives this process is in
// state.h.
#include "berth/provider.hpp"

#include <memory>
#include <string>

#include "allocations.h"
#include "config.h"
#include "peer.h"
#include "probe.h"

namespace berth::local {
namespace {

constexpr std::chrono::milliseconds kDestroyPatience{20'000};

std::string_view startup_sentence(Startup startup) {
  switch (startup) {
    case Startup::kCold: break;
    case Startup::kWarm: return "a ready sandbox was taken";
    case Startup::kTemplate: return "a sandbox with a forked interpreter was taken";
  }
  return "a sandbox was started";
}

class LocalProvider final : public Provider {
 public:
  void open(Operation&, const OpenSpec& spec) override {
    allocations_ = std::make_unique<Allocations>(read_config(host()), std::string(spec.state_dir),
                                                 std::string(spec.owner_tag));
  }

  ProbeReport probe(Operation&) override { return memory_.probe(*allocations_); }

  Scope scope(Operation&) override { return allocations_->scope(); }

  Created create(Operation& operation, std::string_view name, const CreateSpec& spec) override {
    if (operation.cancelled()) {
      throw Failure::rejected(Code::kCancelled, "cancelled before anything was made");
    }
    operation.stage("starting the sandbox");
    const auto made = allocations_->create(name, spec);
    if (made) operation.stage(startup_sentence(made->startup()));
    const std::string recorded = allocations_->recorded_name(name);
    return Created{recorded, reference_of(recorded), allocations_->scope()};
  }

  Found lookup(Operation&, std::string_view name) override { return allocations_->lookup(name); }

  Found fence(Operation&, std::string_view name) override { return allocations_->fence(name); }

  RunResult run(Operation& operation, std::string_view ref, const Command& command) override {
    HostPeer peer(operation);
    return allocations_->held(ref)->run(peer, command);
  }

  void put_file(Operation& operation, std::string_view ref, const PutFile& file) override {
    HostPeer peer(operation);
    allocations_->held(ref)->put_file(peer, file);
  }

  GotFile get_file(Operation& operation, std::string_view ref, const GetFile& file) override {
    HostPeer peer(operation);
    return allocations_->held(ref)->get_file(peer, file);
  }

  Destroyed destroy(Operation& operation, std::string_view name, std::string_view) override {
    operation.stage("ending the sandbox");
    return allocations_->destroy(name, kDestroyPatience);
  }

  ListPage list_owned(Operation&, std::string_view owner_tag, std::string_view cursor) override {
    return allocations_->list_owned(owner_tag, cursor);
  }

  void shutdown(Operation&) override { allocations_.reset(); }

 private:
  std::unique_ptr<Allocations> allocations_;
  ProbeMemory memory_;
};

}  // namespace
}  // namespace berth::local

BERTH_PROVIDER(berth::local::LocalProvider);
