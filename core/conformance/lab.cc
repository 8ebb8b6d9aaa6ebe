#include "core/conformance/lab.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/sha256.h"
#include "core/conformance/programs.h"
#include "core/os/fd.h"

namespace berth::conformance {

using plugin::Slot;

std::string describe(std::string_view what, const Outcome& outcome) {
  std::string text = fmt::format("{} ended {} ({})", what, to_string(outcome.outcome_class),
                                 to_string(outcome.code));
  if (!outcome.message.empty()) text += ": " + outcome.message;
  if (!outcome.stage.empty()) text += fmt::format(" [at stage \"{}\"]", outcome.stage);
  return text;
}

Lab::Lab(const Subject& subject, Messages& messages, std::string_view clause)
    : subject_(subject),
      messages_(messages),
      clause_(clause),
      bench_(std::make_unique<Bench>(subject,
                                     [&messages](std::string_view operation, std::string_view stage) {
                                       messages.progress(operation, stage);
                                     })),
      random_(subject.request.seed) {}

Status Lab::load() {
  if (loaded_) return {};
  const auto step = [this](std::string_view text) { messages_.progress(text, ""); };
  if (!bench_->load(step, findings_))
    return fail(registry::refusal(manifest().id, findings_));
  loaded_ = true;
  return {};
}

Status Lab::open() {
  BERTH_CHECK_OK(load());
  plugin::OpenSpec spec{subject_.request.config_json, subject_.state_dir().string(), owner_tag()};
  const Record record = perform(Slot::kOpen, std::move(spec), {});
  if (!record.reply.outcome.done()) return violated(describe("open", record.reply.outcome));
  open_ = true;
  return {};
}

Status Lab::shut_down() {
  if (!loaded_ || shut_) return {};
  shut_ = true;
  open_ = false;
  const Record record = perform(Slot::kShutdown, std::monostate{}, {});
  if (!record.complete) return violated("shutdown was never completed");
  if (!record.reply.outcome.done()) return violated(describe("shutdown", record.reply.outcome));
  if (!bench_->wait_until(patience(), [this] { return bench_->busy_threads() == 0; }))
    return violated("a task on a lent thread goes on after shutdown completed");
  return {};
}

plugin::OpId Lab::begin(Slot slot, plugin::Arguments arguments, Treatment treatment) {
  plugin::Request request;
  request.slot = slot;
  request.arguments = std::move(arguments);
  return bench_->start(std::move(request), std::move(treatment));
}

plugin::OpId Lab::begin_create(const std::string& name, Treatment treatment, CreateSpec spec) {
  spec.owner_tag = spec.owner_tag.empty() ? owner_tag() : spec.owner_tag;
  remember(name);
  return begin(Slot::kCreate, plugin::CreateCall{name, std::move(spec)}, std::move(treatment));
}

Record Lab::perform(Slot slot, plugin::Arguments arguments, Treatment treatment) {
  const plugin::OpId op = begin(slot, std::move(arguments), std::move(treatment));
  bench_->wait(op, patience());
  Record record = bench_->record(op);
  if (!record.complete) {
    record.reply = plugin::reply_of(
        OutcomeClass::kUncertain, OutcomeCode::kHostDeadline,
        fmt::format("it was not completed within {}", to_human(patience())));
    record.reply.outcome.stage = record.stage;
  }
  return record;
}

template <class T>
Answer<T> Lab::ask(Slot slot, plugin::Arguments arguments, Treatment treatment) {
  Record record = perform(slot, std::move(arguments), std::move(treatment));
  Answer<T> answer{std::move(record.reply.outcome), {}};
  if (auto* value = std::get_if<T>(&record.reply.value)) answer.value = std::move(*value);
  return answer;
}

Answer<ProbeReport> Lab::probe() { return ask<ProbeReport>(Slot::kProbe, std::monostate{}); }
Answer<Scope> Lab::scope() { return ask<Scope>(Slot::kScope, std::monostate{}); }

Answer<Created> Lab::create(const std::string& name, CreateSpec spec) {
  spec.owner_tag = spec.owner_tag.empty() ? owner_tag() : spec.owner_tag;
  remember(name);
  return ask<Created>(Slot::kCreate, plugin::CreateCall{name, std::move(spec)});
}

Answer<Found> Lab::lookup(const std::string& name) {
  return ask<Found>(Slot::kLookup, plugin::NameCall{name});
}

Answer<Found> Lab::fence(const std::string& name) {
  return ask<Found>(Slot::kFence, plugin::NameCall{name});
}

Answer<Destroyed> Lab::destroy(const std::string& name, const std::string& ref) {
  auto answer = ask<Destroyed>(Slot::kDestroy, plugin::DestroyCall{name, ref});
  if (answer.outcome.done()) forget(name);
  return answer;
}

Answer<plugin::ListPage> Lab::list_page(const std::string& tag, const std::string& cursor) {
  return ask<plugin::ListPage>(Slot::kListOwned, plugin::ListCall{tag, cursor});
}

Answer<std::vector<Listed>> Lab::list_owned(const std::string& tag) {
  Answer<std::vector<Listed>> all{Outcome::make_done(), {}};
  std::string cursor;
  constexpr int kPagesMax = 1024;
  for (int page = 0; page < kPagesMax; ++page) {
    Answer<plugin::ListPage> answer = list_page(tag, cursor);
    all.outcome = std::move(answer.outcome);
    if (!all.outcome.done()) return all;
    // What was never named is the provider's own, such as what waits ready.
    std::copy_if(answer.value.items.begin(), answer.value.items.end(), std::back_inserter(all.value),
                 [](const Listed& item) { return !item.name.empty(); });
    cursor = answer.value.next_cursor;
    if (cursor.empty()) return all;
  }
  all.outcome = Outcome::make(OutcomeClass::kUncertain, OutcomeCode::kHostBadReply,
                              "the list of what is owned has more than 1024 pages");
  return all;
}

Lab::Ran Lab::run(const std::string& ref, Command command, Treatment treatment) {
  return ran_of(perform(Slot::kRun, plugin::RunCall{ref, std::move(command)}, std::move(treatment)));
}

Answer<Nothing> Lab::put_file(const std::string& ref, PutFile file, std::string bytes) {
  Treatment treatment;
  treatment.input = std::move(bytes);
  const Record record =
      perform(Slot::kPutFile, plugin::PutFileCall{ref, std::move(file)}, std::move(treatment));
  return {record.reply.outcome, {}};
}

Lab::Got Lab::get_file(const std::string& ref, GetFile file) {
  const Record record = perform(Slot::kGetFile, plugin::GetFileCall{ref, std::move(file)}, {});
  Got got{record.reply.outcome, {}, record.bytes_of(Stream::kFile)};
  if (const auto* value = std::get_if<FileGot>(&record.reply.value)) got.got = *value;
  return got;
}

Result<Created> Lab::made(const std::string& name, CreateSpec spec) {
  Answer<Created> answer = create(name, std::move(spec));
  if (!answer.outcome.done()) return violated(describe("create", answer.outcome));
  return std::move(answer.value);
}

Result<Found> Lab::looked_up(const std::string& name) {
  Answer<Found> answer = lookup(name);
  if (!answer.outcome.done()) return violated(describe("lookup", answer.outcome));
  return std::move(answer.value);
}

Status Lab::gone(const std::string& name) {
  const Answer<Destroyed> answer = destroy(name);
  if (!answer.outcome.done()) return violated(describe("destroy", answer.outcome));
  return {};
}

Result<Created> Lab::sandbox() { return made(new_name()); }

Result<Lab::Ran> Lab::python(const std::string& ref, const std::string& program) {
  Command command;
  command.argv = {"python3", "-c", program};
  Ran ran = run(ref, std::move(command));
  if (!ran.outcome.done()) return violated(describe("run of python3", ran.outcome));
  return ran;
}

std::string Lab::new_name() {
  const std::string digest = sha256_hex(fmt::format("{} {}", owner_tag(), ++names_));
  std::string name = "berth-" + digest.substr(0, 32);
  std::error_code ignored;
  std::filesystem::create_directories(subject_.request.folder, ignored);
  auto list = os::open_file(subject_.names_file(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (list) static_cast<void>(os::write_all(list->get(), name + "\n"));
  return name;
}

std::vector<std::pair<std::string, std::string>> Lab::secrets() const {
  constexpr std::size_t kShortestSecret = 6;  // a shorter value is found everywhere
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : subject_.driver_settings().variables)
    if (value.size() >= kShortestSecret) out.emplace_back(name, value);
  return out;
}

CreateSpec Lab::plain_spec() {
  CreateSpec spec;
  spec.languages = {"python", "javascript"};
  return spec;
}

Result<std::unique_ptr<FreshProcess>> Lab::fresh() {
  messages_.progress("starting a fresh process", "");
  return FreshProcess::start(subject_);
}

std::vector<std::string> Lab::clean_up() {
  std::vector<std::string> left(alive_.begin(), alive_.end());
  if (!open_) return left;
  for (const std::string& name : left) static_cast<void>(destroy(name));
  return {alive_.begin(), alive_.end()};
}

}  // namespace berth::conformance
