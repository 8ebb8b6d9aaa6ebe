#include "tools/berth/record_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/store/sqlite/reading_store.h"

namespace berth::cli {
namespace {

bool can_write(const std::filesystem::path& path) {
  return ::access(path.c_str(), W_OK) == 0 || errno == ENOENT;
}

}  // namespace

Tried<std::unique_ptr<Store>> open_to_read(const Context& context, const Failure& why) {
  // What a rule forbids, such as another user's folder, is not looked into in another way.
  if (why.exit != Exit::kState || why.error.kind() == ErrorKind::kRefused)
    return tl::unexpected<Failure>(why);
  const auto folder = choose_state_dir(context.common.state_dir, context.environment);
  if (!folder) return tl::unexpected<Failure>(why);
  const std::filesystem::path file = *folder / "berth.db";
  std::error_code error;
  if (!std::filesystem::exists(file, error) || (can_write(*folder) && can_write(file)))
    return tl::unexpected<Failure>(why);
  auto store = ReadingStore::open(file);
  if (!store) return failed(Exit::kState, std::move(store).error());
  return std::unique_ptr<Store>(std::move(*store));
}

Tried<std::unique_ptr<RecordSource>> RecordSource::open(const Context& context) {
  auto host = Host::open_existing(context);
  if (host)
    return std::unique_ptr<RecordSource>(new RecordSource(std::move(*host), nullptr));
  auto store = open_to_read(context, host.error());
  if (!store) return tl::unexpected<Failure>(std::move(store).error());
  context.console.note(fmt::format("{}; it is only read: nothing can run or be settled with it",
                                   host.error().error.message()));
  return std::unique_ptr<RecordSource>(new RecordSource(nullptr, std::move(*store)));
}

RecordSource::RecordSource(std::unique_ptr<Host> host, std::unique_ptr<Store> only_read)
    : host_(std::move(host)), only_read_(std::move(only_read)) {}

Store& RecordSource::store() { return host_ != nullptr ? host_->store() : *only_read_; }

Task<void> RecordSource::close() {
  if (host_ != nullptr) co_await host_->close();
}

}  // namespace berth::cli
