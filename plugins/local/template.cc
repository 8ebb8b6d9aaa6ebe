#include "template.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "berth/outcome.hpp"
#include "helper/channel.h"
#include "helper_image.h"
#include "peer.h"

namespace berth::local {
namespace {

constexpr std::string_view kFolder = "/tmp/berth-template";
// The room in which every interpreter forked from it writes its own command line.
constexpr std::size_t kCommandLineRoom = 2048;

// Gives a file and keeps the end of what is said.
class TemplatePeer final : public Peer {
 public:
  explicit TemplatePeer(std::string_view contents = {}) : rest_(contents) {}

  berth_flow output(Stream, std::string_view bytes) override {
    constexpr std::size_t kKeptBytes = 2048;
    said_.append(bytes);
    if (said_.size() > kKeptBytes) said_.erase(0, said_.size() - kKeptBytes);
    return BERTH_OUTPUT_ACCEPTED;
  }
  berth_input_status input(std::span<char> buffer, std::size_t* got) override {
    *got = std::min(buffer.size(), rest_.size());
    std::copy_n(rest_.data(), *got, buffer.data());
    rest_.remove_prefix(*got);
    return *got == 0 ? BERTH_INPUT_END : BERTH_INPUT_DATA;
  }
  bool resumed() override { return true; }
  bool cancelled() const override { return false; }
  // Nobody cancels a template; a descriptor that is never ready keeps the exchange from looking for it.
  int cancel_fd() const override { return never_.get(); }
  int ready_fd() const override { return -1; }

  const std::string& said() const { return said_; }

 private:
  const Fd never_{eventfd(0, EFD_CLOEXEC)};
  std::string_view rest_;
  std::string said_;
};

void put(Sandbox& sandbox, std::string_view name, std::string_view contents) {
  const std::string path = std::string(kFolder) + "/" + std::string(name);
  TemplatePeer peer(contents);
  PutFile file;
  file.path = path;
  file.size_bytes = contents.size();
  sandbox.put_file(peer, file);
}

}  // namespace

Template::Template(std::shared_ptr<Sandbox> sandbox, Interpreter interpreter)
    : sandbox_(std::move(sandbox)), interpreter_(interpreter) {
  for (const TemplateFile& file : template_files(interpreter_)) put(*sandbox_, file.name, file.contents);
  int raw[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) {
    throw Failure::rejected(Code::kUnavailable, "no descriptor is left: " + error_text(errno));
  }
  control_ = Fd(raw[0]);
  runner_ = std::thread([this, theirs = Fd(raw[1])]() mutable { run(std::move(theirs)); });
}

Template::~Template() {
  shutdown(control_.get(), SHUT_RDWR);
  if (runner_.joinable()) runner_.join();
}

void Template::run(Fd theirs) {
  const std::string folder(kFolder);
  const std::string marker = folder + "/" + std::string(kCommandLineRoom, '-');
  const std::string program = folder + "/node.cjs";
  const std::string addon = folder + "/fork.node";
  TemplatePeer peer;
  Command command;
  switch (interpreter_) {
    case Interpreter::kPython:
      command.argv = {"/usr/bin/python3", marker};
      command.env = {{"PYTHONPATH", folder},
                     {"PYTHONUNBUFFERED", "1"},
                     {"PYTHONDONTWRITEBYTECODE", "1"},
                     {"MPLBACKEND", "Agg"}};
      break;
    case Interpreter::kNode:
      // By the name programs start it by, which it keeps.
      command.argv = {"node", "--experimental-vm-modules", program, marker};
      command.env = {{"LD_PRELOAD", addon}};
      break;
  }
  try {
    sandbox_->run_template(peer, command, interpreter_, std::move(theirs));
    said_ = peer.said();
  } catch (const Failure& failure) {
    said_ = failure.message();
  }
  ended_ = true;
  shutdown(control_.get(), SHUT_RDWR);
}

void Template::give_up(std::string why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (problem_.empty()) problem_ = std::move(why);
  broken_ = true;
}

std::string Template::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

bool Template::await_warm(std::chrono::milliseconds patience, std::string* problem) {
  pollfd watched{control_.get(), POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(patience.count())) <= 0) return false;
  Received message;
  const bool came =
      receive_message(control_.get(), &message, MSG_DONTWAIT) == ReceiveResult::kMessage;
  if (came) close_received(&message);
  if (came && message.as<Forked>(Kind::kWarm) != nullptr) {
    warm_ = true;
    return true;
  }
  broken_ = true;
  shutdown(control_.get(), SHUT_RDWR);
  if (runner_.joinable()) runner_.join();
  *problem = said_.empty() ? "it ended" : said_;
  return true;
}

}  // namespace berth::local
