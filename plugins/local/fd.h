// The one owner of a descriptor in this provider, and the few calls every file here needs.
#ifndef BERTH_PLUGINS_LOCAL_FD_H_
#define BERTH_PLUGINS_LOCAL_FD_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace berth::local {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int raw) : raw_(raw) {}
  Fd(Fd&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return raw_; }
  bool valid() const { return raw_ >= 0; }
  void reset();

 private:
  int raw_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

// Close-on-exec. Invalid descriptors when the process has none left; errno says so.
Pipe make_pipe();

// At most `bytes_max` bytes of a file; nothing when it cannot be read. Control files of the kernel
// report no size, so it is read to its end.
std::optional<std::string> read_small_file(const std::string& path, std::size_t bytes_max = 65536);

// 0, or an errno. One write, as the control files of the kernel want it.
int write_control(const std::string& path, std::string_view text);

// 0, or an errno. Every byte, also into a pipe.
int write_fully(int fd, std::string_view bytes);

std::string error_text(int error);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_FD_H_
