// Sandboxes on any machine that a command such as ssh reaches: folders there, and programs in
// namespaces of their own. hello.sh is what is done there; this file is when, and what to make of it.
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <string>
#include <vector>

#include "berth/child.hpp"
#include "berth/files_over_run.hpp"
#include "berth/provider.hpp"
#include "hello_provider_texts.h"

using namespace berth;
using std::chrono::seconds;
using Words = std::vector<std::string>;

class HelloProvider : public Provider {
 public:
  void open(Operation&, const OpenSpec& spec) override {
    const Words shell = host().config_texts("shell"), folder = host().config_texts("folder");
    if (!shell.empty()) shell_ = shell;
    folder_ = folder.empty() ? std::string(spec.state_dir) + "/sandboxes" : folder[0];
  }

  ProbeReport probe(Operation& op) override {
    const ChildLines said = ask(op, {"probe"});
    ProbeReport report{said.exit_code == 0, "a shell", {}, {}};
    if (said.exit_code != 0)
      report.items = {{"shell", false, "no answer", "make '" + shell_[0] + "' work unasked"}};
    for (const std::string& line : said.lines) {
      const std::string name = line.substr(0, line.find(' '));
      const bool there = line.compare(name.size(), 5, " yes ") == 0;
      report.usable = report.usable && there;
      report.items.push_back({name, there, there ? line.substr(name.size() + 5) : "not there",
                              there ? "" : "install or allow " + name + " on the other side"});
    }
    return report;
  }

  Scope scope(Operation&) override {
    return {{"shell", shell_line(shell_)}, {"folder", folder_}};
  }

  Created create(Operation& op, std::string_view name, const CreateSpec& spec) override {
    if (!spec.image.empty() || spec.limits != Limits{} || spec.network != Network::kNone)
      throw Failure::rejected(Code::kUnsupported, "no images, limits or networks here: ask for none");
    Words environment;
    for (const PairView& pair : spec.env)
      environment.push_back(std::string(pair.key) + "=" + std::string(pair.value));
    const auto lifetime = std::chrono::ceil<seconds>(spec.lifetime).count();
    op.stage("making the folder");
    const int code = ask(op, {"create", folder_, std::string(name), std::string(spec.owner_tag),
                              shell_line(environment), std::to_string(lifetime), hello_sh}).exit_code;
    if (code == 4)
      throw Failure::rejected(Code::kConflict, "the name was ended or fenced; take a new one");
    if (code != 0)
      throw Failure::uncertain(Code::kUnavailable, "the other side did not say that it is made");
    return {std::string(name), std::string(name), scope(op)};
  }

  Found lookup(Operation& op, std::string_view name) override {
    return found(op, "lookup", name, Presence::kAbsentNow);
  }

  Found fence(Operation& op, std::string_view name) override {
    return found(op, "fence", name, Presence::kAbsentFenced);
  }

  RunResult run(Operation& op, std::string_view ref, const Command& what) override {
    if (what.limits && *what.limits != Limits{})
      throw Failure::rejected(Code::kUnsupported, "no limits here: ask for none");
    if (ask(op, {"lookup", folder_, std::string(ref)}).exit_code == 4)
      throw Failure::rejected(Code::kNotFound, "there is no such sandbox");
    const std::string id = std::to_string(::getpid()) + "-" + std::to_string(++runs_);
    Words words = {"run", folder_, std::string(ref), id, what.cwd.empty() ? "/work" : std::string(what.cwd)};
    for (const PairView& pair : what.env)
      words.push_back(std::string(pair.key) + "=" + std::string(pair.value));
    words.push_back("--");
    words.insert(words.end(), what.argv.begin(), what.argv.end());
    Child child;
    child.argv = command(words);
    child.stdin_source = what.stdin_source;
    child.timeout = what.timeout;
    child.on_stop = [&] { ask_in_any_case(op, {"stop", folder_, std::string(ref), id}); };
    RunResult result = run_child(op, child);
    return ended(std::move(result), ask_in_any_case(op, {"ended", folder_, std::string(ref), id}));
  }

  void put_file(Operation& op, std::string_view ref, const PutFile& spec) override {
    put_file_over_run(*this, op, ref, spec);
  }

  GotFile get_file(Operation& op, std::string_view ref, const GetFile& spec) override {
    return get_file_over_run(*this, op, ref, spec);
  }

  Destroyed destroy(Operation& op, std::string_view name, std::string_view) override {
    if (ask(op, {"destroy", folder_, std::string(name)}).exit_code != 0)
      throw Failure::uncertain(Code::kUnavailable, "the other side did not say that it is gone");
    return {};
  }

  ListPage list_owned(Operation& op, std::string_view tag, std::string_view cursor) override {
    const ChildLines said = ask(op, {"list", folder_, std::string(tag), std::string(cursor)});
    if (said.exit_code != 0) throw Failure::uncertain(Code::kUnavailable, "the folder was not listed");
    ListPage page;
    for (const std::string& name : said.lines) {
      if (name.empty()) page.next_cursor = page.items.back().name;
      else page.items.push_back({name, name, SandboxState::kReady, 0, {}});
    }
    return page;
  }

 private:
  // The script with its arguments is one word after the shell's own, as ssh takes it.
  Words command(const Words& call) const {
    Words words = shell_;
    words.push_back("exec " + shell_line({"sh", "-c", hello_sh, "berth"}) + " " + shell_line(call));
    return words;
  }

  ChildLines ask(Operation& op, const Words& call) const {
    return run_child_for_lines(op, {.argv = command(call)});
  }

  // For what has to be known or done although the operation is cancelled.
  ChildLines ask_in_any_case(Operation& op, const Words& call) const {
    return run_child_for_lines(
        op, {.argv = command(call), .timeout = seconds(20), .outlives_cancellation = true});
  }

  Found found(Operation& op, const char* how, std::string_view name, Presence absent) {
    const int code = ask(op, {how, folder_, std::string(name)}).exit_code;
    Found found;  // says that it is not known, which is right whenever the shell did not answer
    if (code == 4) found.presence = absent;
    if (code != 3) return found;
    return {Presence::kPresent, SandboxState::kReady, std::string(name), std::string(name), scope(op), 0};
  }

  // The cause comes from what was written down there, never from the shell's exit code. [RUN-003]
  static RunResult ended(RunResult result, const ChildLines& said) {
    const std::string end = said.lines.empty() ? "" : said.lines[0];
    if (end.starts_with("no ")) throw Failure::rejected(Code::kNotFound, end.substr(3));
    result.exit_code = -1;
    result.signal = 0;
    if (result.cause == Cause::kCancelled || result.cause == Cause::kWall) return result;
    int status = 0;
    const bool seen = std::from_chars(end.data(), end.data() + end.size(), status).ec == std::errc();
    result.cause = !seen ? Cause::kLost : status < 0 ? Cause::kSignalled : Cause::kExited;
    if (result.cause == Cause::kExited) result.exit_code = status;
    if (result.cause == Cause::kSignalled) result.signal = static_cast<std::uint32_t>(-status);
    return result;
  }

  Words shell_ = {"sh", "-c"};
  std::string folder_;
  std::atomic<unsigned> runs_{0};
};

BERTH_PROVIDER(HelloProvider);
