#include "core/conformance/fresh_process.h"

#include "core/base/json.h"
#include "core/os/process_tree.h"

namespace berth::conformance {

Result<std::unique_ptr<FreshProcess>> FreshProcess::start(const Subject& subject) {
  std::unique_ptr<FreshProcess> process(new FreshProcess(subject));
  plugin::LoadRequest request;
  request.file = subject.request.file;
  request.worker = subject.request.worker;
  request.state_dir = subject.state_dir();
  request.owner_tag = subject.request.owner_tag;
  request.hosting = registry::Hosting::kWorker;
  BERTH_TRY(const boost::json::value config, parse_json(subject.request.config_json));
  request.configuration.providers[subject.manifest().id].config = config.as_object();
  auto loaded = process->finish(
      plugin::load_provider(process->loop_.get_executor(), std::move(request)));
  if (!loaded)
    return fail(ErrorKind::kConflict, "in a fresh process: " + loaded.error().message());
  process->loaded_ = std::move(*loaded);
  return process;
}

FreshProcess::~FreshProcess() { loaded_.reset(); }

OperationContext FreshProcess::context() const {
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + subject_.scaled(std::chrono::seconds(20));
  return context;
}

Answer<Created> FreshProcess::create(std::string name, CreateSpec spec) {
  return finish(loaded_->provider().create(context(), std::move(name), std::move(spec)));
}

Answer<Found> FreshProcess::lookup(std::string name) {
  return finish(loaded_->provider().lookup(context(), std::move(name)));
}

Answer<Found> FreshProcess::fence(std::string name) {
  return finish(loaded_->provider().fence(context(), std::move(name)));
}

Answer<Destroyed> FreshProcess::destroy(std::string name, std::string ref) {
  return finish(loaded_->provider().destroy(context(), std::move(name), std::move(ref)));
}

Answer<std::vector<Listed>> FreshProcess::list_owned(std::string owner_tag) {
  auto listed = finish(loaded_->provider().list_owned(context(), std::move(owner_tag)));
  std::erase_if(listed.value, [](const Listed& item) { return item.name.empty(); });
  return listed;
}

void FreshProcess::kill() {
  for (const int pid : loaded_->worker_pids()) os::kill_child(pid);
}

void FreshProcess::close() {
  bool over = false;
  boost::asio::co_spawn(loop_,
                        loaded_->close(std::chrono::steady_clock::now() +
                                       subject_.scaled(std::chrono::seconds(10))),
                        [&over](std::exception_ptr) { over = true; });
  loop_.restart();
  while (!over && loop_.run_one() > 0) {
  }
}

}  // namespace berth::conformance
