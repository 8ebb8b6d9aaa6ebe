#include "core/conformance/fault_host.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>

#include "core/conformance/fault_channel.h"
#include "core/plugin/provider_host.h"
#include "core/plugin/sources.h"

namespace berth::conformance {
namespace {

// Takes everything and keeps nothing.
class Ignored final : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

class Bytes final : public InputSource {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  State read(std::string& into, std::size_t bytes_max) override {
    const std::size_t size = std::min(bytes_max, bytes_.size() - at_);
    if (size == 0) return State::kEnd;
    into.append(bytes_, at_, size);
    at_ += size;
    return State::kData;
  }
  void on_ready(std::function<void()>) override {}

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::kNone: return "no fault";
    case Fault::kKill: return "a worker killed on the way";
    case Fault::kKillAtReply: return "a worker killed at its answer";
    case Fault::kDropReply: return "a lost answer";
    case Fault::kRepeatReply: return "an answer that comes twice";
  }
  return "no fault";
}

template <class T>
T FaultHost::finish(Task<T> task) {
  std::optional<T> value;
  boost::asio::co_spawn(loop_, std::move(task), [&value](std::exception_ptr thrown, T result) {
    if (thrown) std::rethrow_exception(thrown);
    value.emplace(std::move(result));
  });
  loop_.restart();
  while (!value && loop_.run_one() > 0) {
  }
  return std::move(*value);
}

Result<std::unique_ptr<FaultHost>> FaultHost::start(
    const Subject& subject, std::function<void(std::string_view)> on_progress) {
  std::unique_ptr<FaultHost> out(new FaultHost(subject));
  out->on_progress_ = std::move(on_progress);
  plugin::SourcePlan plan;
  plan.image = registry::take_image(subject.request.file);
  plan.config_json = subject.request.config_json;
  plan.worker = subject.request.worker;
  plugin::HostSettings settings;
  settings.limits.cancel_grace = subject.scaled(std::chrono::milliseconds(400));
  settings.limits.drain_bound = subject.scaled(std::chrono::seconds(1));
  settings.limits.restart_backoff = std::chrono::milliseconds(1);
  settings.limits.restart_backoff_max = std::chrono::milliseconds(20);
  settings.concurrency = subject.manifest().concurrency_per_provider;
  settings.concurrency_per_sandbox = subject.manifest().concurrency_per_sandbox;
  settings.open = {subject.request.config_json, subject.state_dir().string(), subject.request.owner_tag};
  const auto executor = out->loop_.get_executor();
  auto source = faulty_source(executor, plugin::worker_source(executor, std::move(plan)), out->plan_);
  out->host_ = std::make_shared<plugin::ProviderHost>(executor, std::move(source), std::move(settings));
  const Status opened = out->finish(
      out->host_->open(std::chrono::steady_clock::now() + subject.scaled(std::chrono::seconds(20))));
  if (!opened) return fail(ErrorKind::kConflict, "in a worker: " + opened.error().message());
  ProviderIdentity identity;
  identity.id = subject.manifest().id;
  identity.recovery = subject.manifest().recovery;
  out->provider_ = std::make_unique<plugin::HostedProvider>(out->host_, std::move(identity));
  return out;
}

FaultHost::~FaultHost() {
  if (host_) host_->kill();
}

OperationContext FaultHost::context(std::string_view slot, std::string_view subject) const {
  on_progress_(fmt::format("{} {}, through a host with {}", slot, subject, to_string(plan_->fault)));
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + deadline_;
  return context;
}

Outcome FaultHost::create(const std::string& name, CreateSpec spec, std::string* ref) {
  if (spec.owner_tag.empty()) spec.owner_tag = subject_.request.owner_tag;
  auto answer = finish(provider_->create(context("create", name), name, std::move(spec)));
  if (ref != nullptr) *ref = answer.value.ref;
  return answer.outcome;
}

Outcome FaultHost::lookup(const std::string& name) {
  return finish(provider_->lookup(context("lookup", name), name)).outcome;
}

Outcome FaultHost::fence(const std::string& name) {
  return finish(provider_->fence(context("fence", name), name)).outcome;
}

Outcome FaultHost::run(const std::string& ref, Command command) {
  Ignored output;
  return finish(provider_->run(context("run", ref), ref, std::move(command), output)).outcome;
}

Outcome FaultHost::put_file(const std::string& ref, PutFile file, std::string bytes) {
  Bytes input(std::move(bytes));
  return finish(provider_->put_file(context("put_file", ref), ref, std::move(file), input)).outcome;
}

Outcome FaultHost::get_file(const std::string& ref, GetFile file) {
  Ignored output;
  return finish(provider_->get_file(context("get_file", ref), ref, std::move(file), output)).outcome;
}

Outcome FaultHost::destroy(const std::string& name) {
  return finish(provider_->destroy(context("destroy", name), name, {})).outcome;
}

Outcome FaultHost::list_owned(const std::string& tag) {
  return finish(provider_->list_owned(context("list_owned", tag), tag)).outcome;
}

void FaultHost::close() {
  bool over = false;
  boost::asio::co_spawn(
      loop_, host_->close(std::chrono::steady_clock::now() + subject_.scaled(std::chrono::seconds(5))),
      [&over](std::exception_ptr) { over = true; });
  loop_.restart();
  while (!over && loop_.run_one() > 0) {
  }
}

void FaultHost::kill() { host_->kill(); }

}  // namespace berth::conformance
