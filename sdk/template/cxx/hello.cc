// Sandboxes on any machine that a command such as ssh reaches: folders there, and programs in
// namespaces of their own. hello.sh is what is done there; this file is when, and what to make of it.
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <string>
#include <vector>

#include "berth/captured_operation.hpp"
#include "berth/child.hpp"
#include "berth/files_over_run.hpp"
#include "berth/provider.hpp"
#include "hello_provider_texts.h"

using namespace berth;
using std::chrono::seconds;
using Words = std::vector<std::string>;

namespace {

std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// The texts of a configuration value, which arrives as JSON the host has checked against the schema.
Words texts_of(const std::optional<std::string>& json) {
  Words texts;
  bool inside = false;
  for (const char c : json.value_or("")) {
    if (c == '\\')
      throw Failure::rejected(Code::kInvalidArgument, "write it without quotes and backslashes");
    if (c == '"' && (inside = !inside)) texts.emplace_back();
    else if (inside) texts.back() += c;
  }
  return texts;
}

bool asks_for_any(const Limits& l) {
  return l.cpu_millis != 0 || l.memory_bytes != 0 || l.cpu_time.count() != 0 || l.disk_bytes != 0 ||
         l.file_size_bytes != 0 || l.processes != 0 || l.open_files != 0;
}

}  // namespace

class HelloProvider : public Provider {
 public:
  void open(Operation&, const OpenSpec& spec) override {
    const Words shell = texts_of(host().config("shell"));
    if (!shell.empty()) shell_ = shell;
    const Words folder = texts_of(host().config("folder"));
    folder_ = folder.empty() ? std::string(spec.state_dir) + "/sandboxes" : folder[0];
  }

  ProbeReport probe(Operation& op) override {
    const Said said = ask(op, {"probe"});
    ProbeReport report{said.code == 0, "a shell", {}, {}};
    if (said.code != 0)
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
    std::string shell;
    for (const std::string& word : shell_) shell += (shell.empty() ? "" : " ") + word;
    return {{"shell", shell}, {"folder", folder_}};
  }

  Created create(Operation& op, std::string_view name, const CreateSpec& spec) override {
    if (!spec.image.empty() || asks_for_any(spec.limits) || spec.network != Network::kNone)
      throw Failure::rejected(Code::kUnsupported, "no images, limits or networks here: ask for none");
    std::string environment;
    for (const PairView& pair : spec.env)
      environment += quoted(std::string(pair.key) + "=" + std::string(pair.value)) + " ";
    const auto lifetime = std::chrono::ceil<seconds>(spec.lifetime).count();
    op.stage("making the folder");
    const Said said = ask(op, {"create", folder_, std::string(name), std::string(spec.owner_tag),
                               environment, std::to_string(lifetime), hello_sh});
    if (said.code == 4)
      throw Failure::rejected(Code::kConflict, "the name was ended or fenced; take a new one");
    if (said.code != 0)
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
    if (what.limits && asks_for_any(*what.limits))
      throw Failure::rejected(Code::kUnsupported, "no limits here: ask for none");
    if (ask(op, {"lookup", folder_, std::string(ref)}).code == 4)
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
    if (ask(op, {"destroy", folder_, std::string(name)}).code != 0)
      throw Failure::uncertain(Code::kUnavailable, "the other side did not say that it is gone");
    return {};
  }

  ListPage list_owned(Operation& op, std::string_view tag, std::string_view cursor) override {
    const Said said = ask(op, {"list", folder_, std::string(tag), std::string(cursor)});
    if (said.code != 0) throw Failure::uncertain(Code::kUnavailable, "the folder was not listed");
    ListPage page;
    for (const std::string& name : said.lines) {
      if (name.empty()) page.next_cursor = page.items.back().name;
      else page.items.push_back({name, name, SandboxState::kReady, 0, {}});
    }
    return page;
  }

 private:
  struct Said {
    int code;  // of the script; -1: it was not heard to its end
    Words lines;
  };

  // The script with its arguments is one word after the shell's own, as ssh takes it.
  Words command(const Words& call) const {
    std::string line = "exec sh -c " + quoted(hello_sh) + " berth";
    for (const std::string& word : call) line += " " + quoted(word);
    Words words = shell_;
    words.push_back(line);
    return words;
  }

  Said ask(Operation& op, const Words& call) const { return ask(op, Child{.argv = command(call)}); }

  // For what has to be known or done although the operation is cancelled.
  Said ask_in_any_case(Operation& op, const Words& call) const {
    return ask(op, Child{.argv = command(call), .timeout = seconds(20), .outlives_cancellation = true});
  }

  Said ask(Operation& op, const Child& child) const {
    CapturedOperation captured(op);
    const RunResult end = run_child(captured, child);
    Said said{end.cause == Cause::kExited ? end.exit_code : -1, {}};
    for (std::size_t at = 0, line; at < captured.out.size(); at = line + 1) {
      line = std::min(captured.out.find('\n', at), captured.out.size());
      said.lines.push_back(captured.out.substr(at, line - at));
    }
    return said;
  }

  Found found(Operation& op, const char* how, std::string_view name, Presence absent) {
    const int code = ask(op, {how, folder_, std::string(name)}).code;
    Found found;  // says that it is not known, which is right whenever the shell did not answer
    if (code == 4) found.presence = absent;
    if (code != 3) return found;
    return {Presence::kPresent, SandboxState::kReady, std::string(name), std::string(name), scope(op), 0};
  }

  // The cause comes from what was written down there, never from the shell's exit code. [RUN-003]
  static RunResult ended(RunResult result, const Said& said) {
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
