#include "tools/berth/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/json.h"

namespace berth::cli {
namespace {

constexpr int kOut = 1;
constexpr int kErr = 2;

// 0 or an errno value. Waits where someone has made the descriptor non-blocking.
int write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wait{fd, POLLOUT, 0};
      if (::poll(&wait, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

Console::Console(const EnvironmentLookup& environment)
    : out_is_terminal_(::isatty(kOut) == 1), err_is_terminal_(::isatty(kErr) == 1) {
  const char* no_colour = environment("NO_COLOR");
  const char* terminal = environment("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  can_erase_ = !dumb;
  colour_wanted_ = (no_colour == nullptr || *no_colour == '\0') && !dumb;
}

Exit Console::print(std::string_view text) {
  clear_progress();
  const int failure = write_whole(kOut, text);
  if (failure == 0) return Exit::kSuccess;
  if (failure == EPIPE) return Exit::kReaderGone;
  error(fmt::format("cannot write to standard output: {}",
                    std::generic_category().message(failure)));
  return Exit::kOutput;
}

void Console::say(std::string_view prefix, std::string_view line) {
  clear_progress();
  const bool colour = err_is_terminal_ && colour_wanted_;
  const std::string text = printable(line);
  write_whole(kErr, colour ? fmt::format("\x1b[2m{}\x1b[0m{}\n", prefix, text)
                           : fmt::format("{}{}\n", prefix, text));
}

void Console::note(std::string_view line) { say("berth: ", line); }

void Console::error(std::string_view line) {
  clear_progress();
  const bool colour = err_is_terminal_ && colour_wanted_;
  write_whole(kErr, fmt::format("{}berth:{} {}\n", colour ? "\x1b[31m" : "", colour ? "\x1b[0m" : "",
                                printable(line)));
}

void Console::raw_error(std::string_view text) { write_whole(kErr, text); }

void Console::progress(std::string_view text) {
  if (!err_is_terminal_ || !can_erase_) return;
  write_whole(kErr, fmt::format("\r\x1b[K{}", printable(text.substr(0, 78))));
  progress_shown_ = true;
}

void Console::clear_progress() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  write_whole(kErr, "\r\x1b[K");
}

std::string printable(std::string_view text) {
  const std::string valid = to_valid_utf8(text);
  std::string out;
  out.reserve(valid.size());
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto byte = static_cast<unsigned char>(valid[i]);
    // C1 controls are two bytes in UTF-8: C2 80 to C2 9F.
    const bool c1 = byte == 0xC2 && i + 1 < valid.size() &&
                    static_cast<unsigned char>(valid[i + 1]) < 0xA0;
    if (c1) {
      ++i;
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(valid[i]));
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += valid[i];
    }
  }
  return out;
}

void take_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is `fd`, since those below it are taken. Opened for reading only, so
    // that writing to it fails instead of vanishing.
    const int opened = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (opened < 0) return;
  }
}

}  // namespace berth::cli
