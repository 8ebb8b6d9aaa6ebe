#include "tools/berth/doctor_state.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "core/host/state_dir.h"
#include "tools/berth/record_source.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

using Verdict = Check::Verdict;

constexpr const char* kElsewhere = "name another folder with --state-dir or BERTH_STATE_DIR";

Result<std::filesystem::path> make_folder() {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "berth-doctor-XXXXXX").string();
  if (error) return fail(ErrorKind::kIo, "there is no temporary folder: " + error.message());
  if (::mkdtemp(name.data()) == nullptr) return fail(os_error(errno, "cannot make " + name));
  return std::filesystem::path(name);
}

// What a host that cannot be opened leaves to say of the folder and the store in it.
Task<void> check_broken_state(const Context& context, const Failure& why, Checks& checks) {
  const auto dir = choose_state_dir(context.common.state_dir, context.environment);
  const std::string& said = why.error.message();
  const Status usable = dir ? prepare_state_dir(*dir, "--state-dir") : Status(fail(dir.error()));
  if (usable) {
    check_state_folder(*dir, checks);
    checks.push_back({Verdict::kMissing, "host", "store", said,
                      fmt::format("mend what that says, or {}; until then nothing runs", kElsewhere)});
    co_return;
  }
  checks.push_back({Verdict::kMissing, "host", "state folder", said,
                    fmt::format("make it writable for this user alone, or {}", kElsewhere)});
  auto store = open_to_read(context, why);
  if (!store) {
    if (store.error().error.message() != said)
      checks.push_back({Verdict::kMissing, "host", "store", store.error().error.message(), kElsewhere});
    co_return;
  }
  co_await check_store(**store, checks);
  checks.back().detail += "; it can only be read";
}

}  // namespace

Task<Tried<std::unique_ptr<DoctorState>>> DoctorState::open(const Context& context, Checks& checks) {
  auto state = std::make_unique<DoctorState>();
  auto host = Host::open(context);
  if (host) {
    state->host_ = std::move(*host);
    check_state_folder(state->host_->state_dir(), checks);
    co_await check_store(state->host_->store(), checks);
    co_return std::move(state);
  }
  if (host.error().exit != Exit::kState) co_return tl::unexpected<Failure>(host.error());
  co_await check_broken_state(context, host.error(), checks);
  auto folder = make_folder();
  if (folder) {
    Context elsewhere = context;
    elsewhere.common.state_dir = folder->string();
    state->own_folder_ = *folder;
    host = Host::open(elsewhere);
    if (host) state->host_ = std::move(*host);
  }
  if (state->host_ != nullptr) {
    checks.push_back({Verdict::kNote, "host", "checked in",
                      fmt::format("{}, which is removed again: providers need a state folder",
                                  folder->string()),
                      {}});
  } else {
    const std::string& why = folder ? host.error().error.message() : folder.error().message();
    checks.push_back({Verdict::kMissing, "host", "providers", "not checked without a state folder: " + why,
                      "mend what is missing above"});
  }
  co_return std::move(state);
}

Host* DoctorState::host() { return host_.get(); }

Task<void> DoctorState::close(Checks& checks) {
  bool keep = false;
  if (host_ != nullptr && !own_folder_.empty()) {
    IntentFilter filter;
    filter.unresolved_only = true;
    const auto open = co_await read_intents(host_->store(), std::move(filter));
    keep = !open || !open->empty();
  }
  if (host_ != nullptr) co_await host_->close();
  host_.reset();
  if (own_folder_.empty()) co_return;
  if (keep) {
    checks.push_back({Verdict::kMissing, "host", "cleanup",
                      fmt::format("a sandbox of these checks may still exist; {} records it",
                                  own_folder_.string()),
                      fmt::format("berth reconcile --state-dir {}", own_folder_.string())});
    co_return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(own_folder_, ignored);
}

}  // namespace berth::cli
