#include "plugins/reference/provider.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "berth/answer.hpp"
#include "berth/detail/receive.hpp"
#include "plugins/reference/host_program.h"
#include "plugins/reference/transfer.h"

namespace berth::reference {
namespace {

constexpr std::size_t kPageItems = 256;

std::uint64_t unix_ms() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

// The name in a reference; empty when it is none of ours.
std::string name_of(std::string_view ref) {
  return ref.starts_with("ref-") ? std::string(ref.substr(4)) : std::string();
}

}  // namespace

// Counts an operation as open. Refuses it when the provider is not. [OPEN-001]
bool Reference::begin(berth_op op) {
  {
    const std::lock_guard lock(mutex_);
    if (open_ && shutdown_op_ == 0) {
      ++open_operations_;
      return true;
    }
  }
  answer_failure(host_, op, OutcomeClass::kRejected, Code::kUnavailable,
                 "reference: the provider is not open [OPEN-001]");
  return false;
}

void Reference::end() {
  {
    const std::lock_guard lock(mutex_);
    if (--open_operations_ != 0 || shutdown_op_ == 0) return;
  }
  close_down();
}

int Reference::cancel_fd(berth_op op, const Rule& rule) const {
  return rule.ignore_cancel ? -1 : host_.table().op_cancel_fd(host_.table().ctx, op);
}

// The way of every operation: wait as scripted, have the effect, wait again, answer once.
void Reference::perform(berth_op op, const Rule& rule, Action action, Step answer) {
  if (rule.delay.count() == 0) return act(op, rule, action, answer);
  delays_.add(rule.delay, cancel_fd(op, rule),
              [this, op, &rule, action = std::move(action), answer = std::move(answer)] {
                const bool cancelled = host_.table().op_cancelled(host_.table().ctx, op) != 0;
                if (cancelled && !rule.ignore_cancel) return cancelled_early(op);
                act(op, rule, action, answer);
              });
}

void Reference::act(berth_op op, const Rule& rule, const Action& action, const Step& answer) {
  if (rule.crash == Crash::kBefore) std::abort();
  if (rule.effect == Effect::kNone) return acted(op, rule, answer);
  try {
    action([this, op, &rule, answer] { acted(op, rule, answer); });
  } catch (const Failure& failure) {
    answer_failure(host_, op, failure.outcome_class(), failure.code(), failure.message());
    end();
  } catch (const std::exception& other) {
    // Nothing is known about how far it came, so nothing is asserted. [ERR-001]
    answer_failure(host_, op, OutcomeClass::kUnset, Code::kInternal,
                   std::string("reference: ") + other.what());
    end();
  }
}

void Reference::acted(berth_op op, const Rule& rule, const Step& answer) {
  if (rule.crash == Crash::kAfter) std::abort();
  if (rule.reply_delay.count() == 0) return finish(op, rule, answer);
  delays_.add(rule.reply_delay, cancel_fd(op, rule),
              [this, op, &rule, answer] { finish(op, rule, answer); });
}

// Nothing has been done yet, so this is the one moment at which a cancelled operation may say so.
void Reference::cancelled_early(berth_op op) {
  answer_failure(host_, op, OutcomeClass::kRejected, Code::kCancelled,
                 "reference: cancelled before anything was done");
  end();
}

void Reference::finish(berth_op op, const Rule& rule, const Step& answer) {
  if (rule.reply != Reply::kNever) {
    answer_or_fail(op, rule, answer);
    // The contract forbids the second completion; a host ignores it and records a violation.
    // [OP-002]
    if (rule.reply == Reply::kTwice) answer_or_fail(op, rule, answer);
  }
  // An operation scripted never to answer does not hold up shutdown.
  end();
}

void Reference::answer_or_fail(berth_op op, const Rule& rule, const Step& answer) {
  if (rule.outcome == BERTH_DONE) {
    try {
      return answer();
    } catch (const Failure& failure) {
      return answer_failure(host_, op, failure.outcome_class(), failure.code(), failure.message());
    }
  }
  const std::string message = rule.message.empty() ? "reference: the script says so" : rule.message;
  answer_failure(host_, op, static_cast<OutcomeClass>(rule.outcome), static_cast<Code>(rule.code),
                 message, rule.retry_after_ms);
}

void Reference::open(berth_op op, const berth_open_spec* from) {
  try {
    const OpenSpec spec = detail::to_value(from);
    auto script = std::make_unique<Script>(spec.config_json);
    auto entries = script->keeps_files()
                       ? Entries::in_folder(std::string(spec.state_dir) + "/entries")
                       : Entries::in_memory();
    std::unique_ptr<Files> files = std::make_unique<FilesInMemory>();
    Boxes* boxes = nullptr;
    if (script->runs_programs())
      files.reset(boxes = new Boxes(std::string(spec.state_dir) + "/boxes"));
    const std::lock_guard lock(mutex_);
    files_ = std::move(files);
    boxes_ = boxes;
    script_ = std::move(script);
    entries_ = std::move(entries);
    open_ = true;
    ++open_operations_;
  } catch (const Failure& failure) {
    return answer_failure(host_, op, failure.outcome_class(), failure.code(), failure.message());
  }
  const Rule& rule = script_->next(Slot::kOpen);
  perform(op, rule, at_once([] {}), [this, op, &rule] {
    if (rule.outcome == BERTH_DONE) answer_done(host_, op);
  });
  const std::lock_guard lock(mutex_);
  if (rule.outcome != BERTH_DONE) open_ = false;
}

void Reference::probe(berth_op op) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kProbe);
  perform(op, rule, at_once([] {}), [this, op, &rule] {
    const bool usable = rule.effect == Effect::kNormal;
    const std::string remedy = usable ? "" : "take the rule for probe out of the configuration";
    ProbeReport report{usable, "reference, in memory", {}, {{"memory", usable, "scripted", remedy}}};
    if (!script_->runs_programs())
      report.items.push_back({"berth.simulated", false, "none is run: its configuration says what each would have done",
                              "use another provider, such as local; this one is for tests"});
    answer(host_, op, report);
  });
}

void Reference::scope(berth_op op) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kScope);
  perform(op, rule, at_once([] {}), [this, op, &rule] { answer(host_, op, scope_of(rule)); });
}

// The entry of a name unless its sandbox ended: its lifetime does not depend on any process.
// [KEY-006]
std::optional<Entry> Reference::living(const std::string& name) {
  std::optional<Entry> entry = entries_->find(name);
  const bool expired = entry && entry->kind == Entry::Kind::kSandbox &&
                       entry->expires_unix_ms != 0 && entry->expires_unix_ms <= unix_ms();
  if (expired) {
    Entry gone = *entry;
    gone.kind = Entry::Kind::kGone;
    entries_->replace(name, Entry::Kind::kSandbox, gone);
    files_->drop(name);
    return gone;
  }
  return entry;
}

void Reference::make(const std::string& name, const CreateSpec& spec, const Rule& rule) {
  if (spec.owner_tag.find('\n') != std::string_view::npos)
    throw Failure::rejected(Code::kInvalidArgument, "reference: an owner tag is one line");
  Entry entry;
  entry.created_unix_ms = unix_ms();
  if (spec.lifetime.count() > 0)
    entry.expires_unix_ms =
        entry.created_unix_ms + static_cast<std::uint64_t>(spec.lifetime.count()) / 1'000'000;
  entry.owner_tag = spec.owner_tag;
  entry.account = script_->account();
  if (rule.effect == Effect::kLate) {
    entry.kind = Entry::Kind::kLate;
    entry.lookups_left =
        rule.appear_after.count() != 0 ? 0 : std::max<std::uint64_t>(1, rule.appear_after_lookups);
  }
  if (boxes_ != nullptr) Boxes::require_none(spec.limits);
  if (!entries_->insert(name, entry)) {
    const auto existing = living(name);
    // The same name again is the same sandbox; a fenced or used-up name makes none. [KEY-001]
    // [FENCE-001]
    if (existing &&
        (existing->kind == Entry::Kind::kSandbox || existing->kind == Entry::Kind::kLate))
      return;
    throw Failure::rejected(Code::kConflict,
                            "reference: the name " + name + " is fenced or used up");
  }
  if (boxes_ != nullptr) boxes_->make(name, spec);
  if (entry.kind == Entry::Kind::kLate && rule.appear_after.count() != 0)
    delays_.add(rule.appear_after, -1, [this, name, entry] { appear(name, entry); });
}

// A late sandbox appears, unless a fence was there first: the replacement decides.
void Reference::appear(const std::string& name, Entry late) {
  late.kind = Entry::Kind::kSandbox;
  entries_->replace(name, Entry::Kind::kLate, late);
}

void Reference::create(berth_op op, berth_str name, const berth_create_spec* from) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kCreate);
  // Name and spec hang off the operation, so the steps may look at them for as long as it is open.
  const std::string wanted(detail::view(name));
  perform(op, rule,
          at_once([this, wanted, from, &rule] { make(wanted, detail::to_value(from), rule); }),
          [this, op, wanted, &rule] {
            answer(host_, op, Created{reported(rule, wanted), "ref-" + wanted, scope_of(rule)});
          });
}

Found Reference::find(const std::string& name) {
  const std::optional<Entry> entry = living(name);
  Found found;
  found.presence = Presence::kAbsentNow;
  if (!entry) return found;
  if (entry->kind == Entry::Kind::kLate && entry->lookups_left != 0) {
    Entry later = *entry;
    if (--later.lookups_left == 0) later.kind = Entry::Kind::kSandbox;
    entries_->replace(name, Entry::Kind::kLate, later);
    return found;
  }
  if (entry->kind != Entry::Kind::kSandbox) return found;
  found.presence = Presence::kPresent;
  found.state = SandboxState::kReady;
  found.name = name;
  found.ref = "ref-" + name;
  found.scope = {{"account", entry->account}, {"endpoint", std::string(kEndpoint)}};
  found.created_unix_ms = entry->created_unix_ms;
  return found;
}

void Reference::lookup(berth_op op, berth_str name) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kLookup);
  const auto found = std::make_shared<Found>();
  const std::string wanted(detail::view(name));
  perform(op, rule, at_once([this, found, wanted] { *found = find(wanted); }),
          [this, op, found, &rule] {
            if (rule.presence) found->presence = static_cast<Presence>(*rule.presence);
            if (!rule.account.empty()) found->scope = scope_of(rule);
            if (!rule.name.empty()) found->name = rule.name;
            answer(host_, op, *found);
          });
}

// Puts a fence where create has to put its entry: whoever is first wins, also against a create that
// is under way in another process. [FENCE-001]
Found Reference::fence_now(const std::string& name) {
  Entry fence;
  fence.kind = Entry::Kind::kFenced;
  fence.created_unix_ms = unix_ms();
  Found found;
  found.presence = Presence::kAbsentFenced;
  if (entries_->insert(name, fence) || entries_->replace(name, Entry::Kind::kLate, fence))
    return found;
  const auto entry = living(name);
  if (entry && (entry->kind == Entry::Kind::kFenced || entry->kind == Entry::Kind::kGone))
    return found;
  return find(name);
}

void Reference::fence(berth_op op, berth_str name) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kFence);
  const auto found = std::make_shared<Found>();
  const std::string wanted(detail::view(name));
  perform(op, rule, at_once([this, found, wanted] { *found = fence_now(wanted); }),
          [this, op, found, &rule] {
            if (rule.presence) found->presence = static_cast<Presence>(*rule.presence);
            answer(host_, op, *found);
          });
}

void Reference::require_sandbox(const std::string& name) {
  const auto entry = name.empty() ? std::nullopt : living(name);
  if (!entry || entry->kind != Entry::Kind::kSandbox)
    throw Failure::rejected(Code::kNotFound, "reference: there is no sandbox of that reference");
}

// Plays the scripted program: leaves its files behind, then writes its output at the reader's pace.
// [RUN-001] [STRM-004]
void Reference::run(berth_op op, berth_str ref, const berth_command* from) {
  if (!begin(op)) return;
  Command command;
  try {
    command = detail::to_value(from);
  } catch (const Failure& failure) {
    answer_failure(host_, op, failure.outcome_class(), failure.code(), failure.message());
    return end();
  }
  const Rule& rule = script_->next(Slot::kRun, command.argv);
  const std::string name = name_of(detail::view(ref));
  if (boxes_ != nullptr) run_on_host(op, name, command, rule);
  else run_scripted(op, name, rule);
}

void Reference::run_scripted(berth_op op, const std::string& name, const Rule& rule) {
  const auto program = std::make_shared<Program>(host_, op, rule);
  perform(
      op, rule,
      [this, op, name, &rule, program](const Step& then) {
        require_sandbox(name);
        for (const ScriptedFile& file : rule.files)
          files_->put(name, file.path, {file.text, file.mode});
        drive(
            host_, op, [program] { return program->advance(); }, then);
      },
      [this, op, program] { answer(host_, op, program->result()); });
}

// The command is made of views that hang off the operation.
void Reference::run_on_host(berth_op op, const std::string& name, const Command& command,
                            const Rule& rule) {
  const auto program = std::make_shared<HostProgram>(host_, op);
  perform(
      op, rule,
      [this, name, command, program](const Step& then) {
        require_sandbox(name);
        program->prepare(*boxes_, name, command, living(name).value_or(Entry{}).expires_unix_ms);
        // Again, now that whoever ends the sandbox has to wait for this program.
        require_sandbox(name);
        lend([program] { program->run(); }, then);
      },
      [this, op, program] { answer(host_, op, program->result()); });
}

// Does `work`, then `then`, on a thread the host lends.
void Reference::lend(Step work, Step then) {
  struct Lent {
    Step work;
    Step then;
  };
  auto lent = std::make_unique<Lent>(Lent{std::move(work), std::move(then)});
  const auto go = [](void* user) {
    const std::unique_ptr<Lent> owned(static_cast<Lent*>(user));
    owned->work();
    owned->then();
  };
  if (!host_.post(go, lent.get()))
    throw Failure::uncertain(Code::kUnavailable, "reference: the host lends no thread any more");
  static_cast<void>(lent.release());
}

// [FILE-001]
void Reference::put_file(berth_op op, berth_str ref, const berth_put_file_spec* from) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kPutFile);
  const std::string name = name_of(detail::view(ref));
  const auto upload = std::make_shared<Upload>(host_, op);
  perform(
      op, rule,
      [this, op, name, from, upload](const Step& then) {
        require_sandbox(name);
        upload->expect(detail::to_value(from));
        drive(
            host_, op, [upload] { return upload->advance(); }, then);
      },
      [this, op, name, &rule, upload] {
        if (rule.effect == Effect::kNormal) files_->put(name, upload->path(), upload->take());
        answer_done(host_, op);
      });
}

// [FILE-002]
void Reference::get_file(berth_op op, berth_str ref, const berth_get_file_spec* from) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kGetFile);
  const std::string name = name_of(detail::view(ref));
  const auto download = std::make_shared<Download>(host_, op, rule.chunk_bytes);
  perform(
      op, rule,
      [this, op, name, from, download](const Step& then) {
        require_sandbox(name);
        const GetFile spec = detail::to_value(from);
        download->carry(files_->get(name, std::string(spec.path), spec.max_bytes));
        drive(
            host_, op, [download] { return download->advance(); }, then);
      },
      [this, op, download] { answer(host_, op, download->result()); });
}

// DONE also when there is none: what counts is that it is gone. The script's "effect": "none" makes
// this the lie that a host must not be the first to find out about. [CLEAN-001]
void Reference::destroy(berth_op op, berth_str name, berth_str) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kDestroy);
  const std::string wanted(detail::view(name));
  perform(
      op, rule,
      [this, wanted](const Step& then) {
        Entry gone = living(wanted).value_or(Entry{});
        gone.kind = Entry::Kind::kGone;
        entries_->replace(wanted, Entry::Kind::kSandbox, gone);
        entries_->replace(wanted, Entry::Kind::kLate, gone);
        end_programs(wanted, then);
      },
      [this, op, wanted] {
        if (boxes_ != nullptr && !boxes_->stop(wanted))
          throw Failure::failed_dirty(Code::kTimeout, "reference: its programs do not end");
        files_->drop(wanted);
        answer(host_, op, Destroyed{});
      });
}

// Goes on once nothing runs in the sandbox: at once, or when its programs have ended. [CLEAN-003]
void Reference::end_programs(const std::string& name, const Step& then) {
  constexpr int kRounds = 5000;
  if (boxes_ == nullptr || boxes_->stop(name)) return then();
  const auto wait = [this, name] {
    for (int round = 0; round < kRounds && !boxes_->stop(name); ++round)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  lend(wait, then);
}

ListPage Reference::page(std::string_view tag, std::string_view cursor) {
  ListPage out;
  std::string at(cursor);
  for (;;) {
    const auto entries = entries_->list(at, kPageItems);
    for (const auto& [name, entry] : entries) {
      at = name;
      if (entry.owner_tag != tag) continue;
      const auto now = living(name);
      if (now && now->kind == Entry::Kind::kSandbox)
        out.items.push_back({name, "ref-" + name, SandboxState::kReady, now->created_unix_ms, {}});
    }
    if (entries.size() < kPageItems) return out;
    if (out.items.size() >= kPageItems / 2) {
      out.next_cursor = at;
      return out;
    }
  }
}

void Reference::list_owned(berth_op op, berth_str tag, berth_str cursor) {
  if (!begin(op)) return;
  const Rule& rule = script_->next(Slot::kListOwned);
  const auto found = std::make_shared<ListPage>();
  const std::string wanted(detail::view(tag));
  const std::string from(detail::view(cursor));
  perform(op, rule, at_once([this, found, wanted, from] { *found = page(wanted, from); }),
          [this, op, found] { answer(host_, op, *found); });
}

// The last operation: it waits for the others, and no thread of ours is left when it completes.
// [SHUT-001]
void Reference::shutdown(berth_op op) {
  {
    const std::lock_guard lock(mutex_);
    shutdown_op_ = op;
    if (open_operations_ != 0) return;
  }
  close_down();
}

// Joining may wait, and the last operation may have ended on the very thread that is to be joined,
// so this happens on a lent thread; without delays there is no thread and nothing to wait for.
void Reference::close_down() {
  const auto finish_on = [](void* self) {
    const std::unique_ptr<Reference> provider(static_cast<Reference*>(self));
    provider->delays_.stop();
    const Host host = provider->host_;
    const berth_op op = provider->shutdown_op_;
    const Rule plain;
    const Rule& rule = provider->script_ ? provider->script_->next(Slot::kShutdown) : plain;
    if (rule.crash != Crash::kNever) std::abort();
    if (rule.reply != Reply::kNever) answer_done(host, op);
  };
  if (delays_.idle() || !host_.post(finish_on, this)) finish_on(this);
}

}  // namespace berth::reference
