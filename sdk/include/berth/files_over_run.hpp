// SPDX-License-Identifier: Apache-2.0
//
// put_file and get_file for a service that has neither: both over the provider's own run(), with a
// POSIX shell, cat, stat, wc, mkdir, chmod and mv inside the sandbox.
//
//   void put_file(Operation& op, std::string_view ref, const PutFile& spec) override {
//     berth::put_file_over_run(*this, op, ref, spec);
//   }
//
// The file appears by a rename once it is whole, so nobody sees a part of one. The commands run
// with the sandbox's own rights, so a link inside it leads nowhere but inside it.
#ifndef BERTH_FILES_OVER_RUN_HPP
#define BERTH_FILES_OVER_RUN_HPP

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/captured_operation.hpp"
#include "berth/provider.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

// The same operation with standard output sent as the contents of a file.
class FileOperation : public Operation {
 public:
  explicit FileOperation(Operation& outer) : Operation(outer.host(), outer.id()), outer_(outer) {}

  Flow output(Stream stream, std::string_view bytes) override {
    if (stream != Stream::kStdout) return Flow::kAccepted;
    sent_bytes += bytes.size();
    return outer_.output(Stream::kFile, bytes);
  }

  std::uint64_t sent_bytes = 0;

 private:
  Operation& outer_;
};

inline RunResult run_shell(Provider& provider, Operation& operation, std::string_view ref,
                           std::vector<std::string_view> arguments, StdinSource stdin_source) {
  Command command;
  command.stdin_source = stdin_source;
  command.argv = {"/bin/sh", "-c"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return provider.run(operation, ref, command);
}

inline bool succeeded(const RunResult& result) {
  return result.cause == Cause::kExited && result.exit_code == 0;
}

}  // namespace detail

inline void put_file_over_run(Provider& provider, Operation& operation, std::string_view ref,
                              const PutFile& spec) {
  constexpr std::string_view kScript =
      "set -e; umask 077; mkdir -p -- \"$(dirname -- \"$1\")\"; t=\"$1.berth-$$\"; trap 'rm -f -- "
      "\"$t\"' EXIT; "
      "cat > \"$t\"; test \"$(wc -c < \"$t\")\" -eq \"$3\"; chmod \"$2\" \"$t\"; mv -f -- \"$t\" "
      "\"$1\"";
  char mode[16] = {};
  *std::to_chars(mode, mode + sizeof mode - 1, spec.mode, 8).ptr = '\0';
  const std::string size = std::to_string(spec.size_bytes);
  CapturedOperation captured(operation);
  const RunResult result = detail::run_shell(
      provider, captured, ref, {kScript, "put_file", spec.path, mode, size}, StdinSource::kInput);
  if (detail::succeeded(result)) return;
  if (operation.cancelled()) throw Operation::cancelled_failure();
  throw Failure::uncertain(Code::kInternal, "put_file over run did not succeed: " + captured.err);
}

inline GotFile get_file_over_run(Provider& provider, Operation& operation, std::string_view ref,
                                 const GetFile& spec) {
  constexpr std::string_view kLook =
      "test -e \"$1\" || exit 3; test -f \"$1\" || exit 4; stat -L -c '%a %s' -- \"$1\"";
  constexpr std::string_view kRead = "cat -- \"$1\"";
  CapturedOperation looked(operation);
  const RunResult look =
      detail::run_shell(provider, looked, ref, {kLook, "get_file", spec.path}, StdinSource::kEmpty);
  const std::string path(spec.path);
  if (look.cause == Cause::kExited && look.exit_code == 3)
    throw Failure::rejected(Code::kNotFound, "there is no file " + path);
  if (look.cause == Cause::kExited && look.exit_code == 4)
    throw Failure::rejected(Code::kInvalidArgument, path + " is not a regular file");
  GotFile got;
  const char* const end = looked.out.data() + looked.out.size();
  const auto mode = std::from_chars(looked.out.data(), end, got.mode, 8);
  const bool parsed = detail::succeeded(look) && mode.ec == std::errc() && mode.ptr != end &&
                      std::from_chars(mode.ptr + 1, end, got.size_bytes).ec == std::errc();
  if (!parsed)
    throw Failure::uncertain(Code::kInternal, "get_file over run could not look at " + path);
  if (got.size_bytes > spec.max_bytes)
    throw Failure::rejected(Code::kQuota,
                            path + " has " + std::to_string(got.size_bytes) + " bytes");
  detail::FileOperation file(operation);
  const RunResult read =
      detail::run_shell(provider, file, ref, {kRead, "get_file", spec.path}, StdinSource::kEmpty);
  if (!detail::succeeded(read) || file.sent_bytes != got.size_bytes)
    throw Failure::uncertain(Code::kInternal, path + " changed or went away while it was read");
  return got;
}

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_FILES_OVER_RUN_HPP
