#include "core/conformance/bench.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::conformance {
namespace {

using plugin::OpId;

// Stands for "there is input" in a command; the bytes themselves go through the driver.
class Marker final : public InputSource {
 public:
  State read(std::string&, std::size_t) override { return State::kEnd; }
  void on_ready(std::function<void()>) override {}
};

constexpr std::size_t kLogLinesMax = 10'000;

}  // namespace

std::string Record::bytes_of(Stream stream) const {
  std::string all;
  for (const Chunk& chunk : chunks)
    if (chunk.stream == stream) all += chunk.bytes;
  return all;
}

std::uint64_t Record::size_of(Stream stream) const {
  std::uint64_t size = 0;
  for (const Chunk& chunk : chunks)
    if (chunk.stream == stream) size += chunk.bytes.size();
  return size;
}

Bench::Bench(const Subject& subject, OnProgress on_progress)
    : subject_(subject), on_progress_(std::move(on_progress)) {
  driver_ = std::make_unique<plugin::TableDriver>(*this, subject.driver_settings());
  host_ = std::make_unique<ScriptedHost>(
      driver_->host(), [this](plugin::Violation breach) { violation(breach); });
}

// The provider's library stays, so what it may still call stays too: a process with a bench in it
// ends without returning from its case.
Bench::~Bench() {
  static_cast<void>(driver_.release());
  static_cast<void>(host_.release());
}

bool Bench::load(const std::function<void(std::string_view)>& on_step,
                 registry::Findings& findings) {
  plugin::Binding binding;
  const int descriptor = ::dup(subject_.image.memory.get());
  if (!plugin::bind(descriptor, host_->table(), subject_.claims(), on_step, binding, findings))
    return false;
  driver_->set_binding(host_->wrap(std::move(binding)));
  return true;
}

OpId Bench::start(plugin::Request request, Treatment treatment) {
  static Marker marker;
  const OpId op = ++last_op_;
  request.deadline = std::chrono::steady_clock::now() + treatment.deadline;
  if (request.slot == plugin::Slot::kPutFile) request.has_input = true;
  if (auto* run = std::get_if<plugin::RunCall>(&request.arguments)) {
    const bool input = !treatment.input.empty() || !treatment.input_ends;
    run->command.input = input ? &marker : nullptr;
    request.has_input = input;
  }
  {
    const std::lock_guard lock(mutex_);
    Record& record = records_[op];
    record.slot = request.slot;
    record.subject = subject_of(request);
    record.started = std::chrono::steady_clock::now();
    Flow& flow = flows_[op];
    flow.input_over = !request.has_input;
    flow.treatment = std::move(treatment);
  }
  on_progress_(fmt::format("{} {}", to_string(request.slot), plugin::subject_of(request)), "");
  driver_->start(op, std::move(request));
  pump();
  return op;
}

// Gives and grants what the treatments of all open operations promise. Not from a callback: the
// driver calls those with an operation's lock held.
void Bench::pump() {
  struct Due {
    OpId op;
    std::uint64_t grant;
    std::string input;
    bool end;
  };
  std::vector<Due> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [op, flow] : flows_) {
      if (records_[op].complete) continue;
      Due one{op, 0, {}, false};
      if (flow.treatment.reads) one.grant = std::exchange(flow.owed, 0);
      if (!flow.input_over && flow.room > 0) {
        const std::string_view rest = std::string_view(flow.treatment.input).substr(flow.input_given);
        one.input = rest.substr(0, std::min<std::size_t>(flow.room, flow.treatment.input_piece_bytes));
        flow.input_given += one.input.size();
        flow.room -= one.input.size();
        one.end = flow.treatment.input_ends && flow.input_given == flow.treatment.input.size();
        flow.input_over = one.end;
      }
      if (one.grant != 0 || !one.input.empty() || one.end) due.push_back(std::move(one));
    }
  }
  for (const Due& one : due) {
    if (one.grant != 0) grant(one.op, one.grant);
    if (!one.input.empty() || one.end) driver_->give_input(one.op, one.input, one.end);
  }
}

bool Bench::wait_until(Duration patience, const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    pump();
    if (holds()) return true;
    std::unique_lock lock(mutex_);
    if (std::chrono::steady_clock::now() >= until) return false;
    changed_.wait_for(lock, std::chrono::milliseconds(2));
  }
}

bool Bench::wait(OpId op, Duration patience) {
  return wait_until(patience, [this, op] { return complete(op); });
}

void Bench::cancel(OpId op) { driver_->cancel(op); }
void Bench::grant(OpId op, std::uint64_t bytes) {
  host_->grant_begins(op);
  driver_->grant_output(op, bytes);
  host_->grant_ends(op);
}
void Bench::limit(OpId op, Stream stream) { driver_->limit_output(op, stream); }
void Bench::give(OpId op, std::string_view bytes, bool end) {
  driver_->give_input(op, bytes, end);
}

Record Bench::record(OpId op) {
  const std::lock_guard lock(mutex_);
  return records_[op];
}

bool Bench::complete(OpId op) {
  const std::lock_guard lock(mutex_);
  return records_[op].complete;
}

std::vector<plugin::Violation> Bench::violations() {
  const std::lock_guard lock(mutex_);
  return violations_;
}

std::vector<std::string> Bench::log_lines() {
  const std::lock_guard lock(mutex_);
  return log_lines_;
}

void Bench::stage(OpId op, std::string_view stage) {
  {
    const std::lock_guard lock(mutex_);
    records_[op].stage = stage;
    records_[op].stages.emplace_back(stage);
  }
  on_progress_("", stage);
}

void Bench::output(OpId op, Stream stream, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  records_[op].chunks.push_back({stream, std::string(bytes)});
  flows_[op].owed += bytes.size();
  changed_.notify_all();
}

void Bench::input_taken(OpId op, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  flows_[op].room += bytes;
  changed_.notify_all();
}

void Bench::completed(OpId op, plugin::Reply reply) {
  const std::lock_guard lock(mutex_);
  Record& record = records_[op];
  record.complete = true;
  ++record.completions;
  record.reply = std::move(reply);
  record.completed_at = std::chrono::steady_clock::now();
  record.completed_on = std::this_thread::get_id();
  changed_.notify_all();
}

void Bench::log(std::uint32_t, std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (log_lines_.size() < kLogLinesMax) log_lines_.emplace_back(line);
}

void Bench::violation(const plugin::Violation& violation) {
  const std::lock_guard lock(mutex_);
  if (violations_.size() < kLogLinesMax) violations_.push_back(violation);
  changed_.notify_all();
}

}  // namespace berth::conformance
