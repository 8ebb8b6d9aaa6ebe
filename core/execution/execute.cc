// From a request to a result: the call around the program, and what its end means.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/base/json.h"
#include "core/execution/document.h"
#include "core/execution/execution.h"
#include "core/execution/message.h"
#include "core/execution/program.h"

namespace berth {
namespace {

ExecutionFailure::Kind kind_of(const CallEnd& end) {
  switch (end.status) {
    case CallEnd::Status::kCancelled: return ExecutionFailure::Kind::kCancelled;
    case CallEnd::Status::kRefused: return ExecutionFailure::Kind::kRefused;
    case CallEnd::Status::kUncertain: return ExecutionFailure::Kind::kUncertain;
    case CallEnd::Status::kCompleted:
    case CallEnd::Status::kInfrastructureError: break;
  }
  const bool late = end.error && end.error->kind() == ErrorKind::kTimeout;
  return late ? ExecutionFailure::Kind::kDeadline : ExecutionFailure::Kind::kInfrastructure;
}

void set_failure(ExecutionResult& result, ExecutionFailure::Kind kind, std::string message) {
  result.failure = ExecutionFailure{kind, to_valid_utf8(message)};
  result.status = kind == ExecutionFailure::Kind::kCancelled ? ExecutionStatus::kCancelled
                                                             : ExecutionStatus::kInfrastructureError;
}

// A completed call whose document is gone says what its receipt still knows.
ExecutionResult without_document(const CallEnd& end) {
  ExecutionResult result;
  result.status = ExecutionStatus::kFailed;
  if (end.receipt) {
    result.exit_code = end.receipt->exit_code;
    if (end.receipt->cause == to_string(Cause::kExited)) result.cause = Cause::kExited;
    if (result.exit_code == 0) result.status = ExecutionStatus::kCompleted;
  }
  result.notes.push_back(end.message.empty() ? "the output of this call is no longer kept"
                                             : to_valid_utf8(end.message));
  return result;
}

ExecutionResult replayed_result(const CallEnd& end) {
  if (!end.document) {
    return end.status == CallEnd::Status::kCompleted ? without_document(end) : ExecutionResult();
  }
  Result<ExecutionResult> read = execution_result_from_json(*end.document);
  if (read) return std::move(*read);
  ExecutionResult result;
  set_failure(result, ExecutionFailure::Kind::kInfrastructure,
              "the recorded result cannot be read: " + read.error().message());
  return result;
}

void repeat_to(ExecutionObserver* observer, const ExecutionResult& result) {
  if (observer == nullptr) return;
  const auto output = [observer](Stream stream, const std::string& text) {
    if (!text.empty()) observer->on_output({stream, text, text.size(), text});
  };
  output(Stream::kStdout, result.stdout_text.text);
  output(Stream::kStderr, result.stderr_text.text);
  for (const Chart& chart : result.charts) observer->on_chart(chart);
  if (result.result) observer->on_result(*result.result);
}

ExecutionResult assemble(CallEnd end, Program& program, ExecutionObserver* observer) {
  ExecutionResult result = end.replayed ? replayed_result(end) : program.take_result();
  if (end.status != CallEnd::Status::kCompleted) {
    set_failure(result, kind_of(end), std::move(end.message));
  }
  if (!end.replayed || result.failure || !end.document) {
    result.message = compose_message(result, program.request());
  }
  if (end.replayed) repeat_to(observer, result);
  result.replayed = end.replayed;
  result.intent = std::move(end.intent_name);
  result.receipt = std::move(end.receipt);
  // The receipt knows the phases around the program too.
  if (result.receipt && !result.receipt->timings_us.empty()) {
    result.timings_us = result.receipt->timings_us;
  }
  return result;
}

SandboxRequest sandbox_request(const ExecutionRequest& request, ExecutionObserver* observer,
                               Cancellation& cancellation) {
  SandboxRequest made;
  made.key = request.key;
  made.turn = request.turn;
  made.application = request.application;
  made.spec_canonical = canonical_request(request);
  made.spec.languages = {std::string(to_string(request.language))};
  made.spec.image = request.image;
  made.spec.limits = request.limits;
  made.spec.network = request.network;
  made.cancellation = &cancellation;
  if (observer != nullptr) {
    made.on_stage = [observer](std::string_view stage) {
      // The program says itself when it runs: for the lifecycle, sending and installing are that too.
      if (stage != "run") observer->on_stage(stage);
    };
  }
  return made;
}

Task<BodyResult> run_body(std::shared_ptr<Program> program, Sandbox& sandbox) {
  co_return co_await program->run(sandbox);
}

}  // namespace

Task<ExecutionResult> execute(LifecycleServices& services, ExecutionRequest request,
                              ExecutionObserver* observer, Cancellation& cancellation) {
  const Status valid = validate(request);
  if (!valid) {
    ExecutionResult refused;
    set_failure(refused, ExecutionFailure::Kind::kInvalidRequest, valid.error().message());
    refused.message = refused.failure->message;
    if (observer != nullptr) observer->on_finished(refused);
    co_return refused;
  }
  SandboxRequest wanted = sandbox_request(request, observer, cancellation);
  const auto program = std::make_shared<Program>(services.clock, std::move(request), observer);
  Body body = [program](Sandbox& sandbox) { return run_body(program, sandbox); };
  CallEnd end = co_await with_sandbox(services, std::move(wanted), std::move(body));
  ExecutionResult result = assemble(std::move(end), *program, observer);
  if (observer != nullptr) observer->on_finished(result);
  co_return result;
}

}  // namespace berth
