// Sandboxes that are only remembered, and programs that are only greeted: replace each body by a
// call of your service. What the comments say about classes stays true whatever the service is.
#include "hello.h"

using berth::Code;
using berth::Failure;

berth::ProbeReport Hello::probe(berth::Operation&) { return {true, "hello 1", {}, {}}; }

// Account and endpoint, never the key itself.
berth::Scope Hello::scope(berth::Operation&) { return {{"account", "hello"}}; }

berth::Created Hello::create(berth::Operation& operation, std::string_view name,
                             const berth::CreateSpec& spec) {
  operation.stage("remembering the name");
  const std::lock_guard lock(mutex_);
  // The same name is the same sandbox. [KEY-001]
  sandboxes_.try_emplace(std::string(name), Sandbox{std::string(spec.owner_tag), {}});
  return {std::string(name), std::string(name), scope(operation)};
}

berth::Found Hello::lookup(berth::Operation& operation, std::string_view name) {
  const std::lock_guard lock(mutex_);
  berth::Found found;
  // A service that could not be asked is kUnknown, which is the default. [KEY-004]
  found.presence = berth::Presence::kAbsentNow;
  if (!sandboxes_.contains(name)) return found;
  return {berth::Presence::kPresent, berth::SandboxState::kReady,
          std::string(name),         std::string(name),
          scope(operation),          0};
}

berth::RunResult Hello::run(berth::Operation& operation, std::string_view ref,
                            const berth::Command& command) {
  {
    const std::lock_guard lock(mutex_);
    at(ref);
  }
  berth::RunResult result;
  result.cause = berth::Cause::kExited;
  result.exit_code = 0;
  std::string line = "hello,";
  for (const std::string_view word : command.argv) line.append(" ").append(word);
  line.append("\n");
  result.stdout_bytes = line.size();
  // Waits while the reader is behind; says when to stop. [STRM-004]
  if (operation.output(berth::Stream::kStdout, line) == berth::Flow::kCancelled) {
    result.cause = berth::Cause::kCancelled;
    result.exit_code = -1;
  }
  return result;
}

void Hello::put_file(berth::Operation& operation, std::string_view ref,
                     const berth::PutFile& spec) {
  std::string bytes;
  char buffer[16384];
  for (std::size_t got; (got = operation.input(buffer)) != 0;) bytes.append(buffer, got);
  // All of it or nothing. [FILE-001]
  if (bytes.size() != spec.size_bytes)
    throw Failure::failed_clean(Code::kInvalidArgument,
                                "the file is not of the size that was promised");
  const std::lock_guard lock(mutex_);
  at(ref).files[std::string(spec.path)] = {std::move(bytes), spec.mode};
}

berth::GotFile Hello::get_file(berth::Operation& operation, std::string_view ref,
                               const berth::GetFile& spec) {
  std::string bytes;
  std::uint32_t mode = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto& files = at(ref).files;
    const auto found = files.find(std::string(spec.path));
    if (found == files.end())
      throw Failure::rejected(Code::kNotFound, "there is no such file in the sandbox");
    std::tie(bytes, mode) = found->second;
  }
  if (bytes.size() > spec.max_bytes)
    throw Failure::rejected(Code::kQuota, "the file is larger than asked for");
  if (operation.output(berth::Stream::kFile, bytes) != berth::Flow::kAccepted)
    throw berth::Operation::cancelled_failure();
  return {mode, bytes.size()};
}

berth::Destroyed Hello::destroy(berth::Operation&, std::string_view name, std::string_view) {
  const std::lock_guard lock(mutex_);
  // Returning says that it is gone, also when there was none. [CLEAN-001]
  if (const auto found = sandboxes_.find(name); found != sandboxes_.end()) sandboxes_.erase(found);
  return {};
}

berth::ListPage Hello::list_owned(berth::Operation&, std::string_view owner_tag, std::string_view) {
  const std::lock_guard lock(mutex_);
  berth::ListPage page;
  for (const auto& [name, sandbox] : sandboxes_)
    if (sandbox.owner_tag == owner_tag)
      page.items.push_back({name, name, berth::SandboxState::kReady, 0, {}});
  return page;
}

Hello::Sandbox& Hello::at(std::string_view ref) {
  const auto found = sandboxes_.find(ref);
  if (found == sandboxes_.end())
    throw Failure::rejected(Code::kNotFound, "there is no such sandbox");
  return found->second;
}

BERTH_PROVIDER(Hello);
