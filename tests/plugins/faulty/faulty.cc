// A provider that does in `run` what the command's first argument names, rightly or wrongly.
#define PLUGIN_ID "faulty"
#define MANIFEST_MORE                                                                              \
  ",\"optionalEnv\":[\"BERTH_TEST_SECRET\"],\"configSchema\":{\"type\":\"object\","                \
  "\"additionalProperties\":false,\"properties\":{\"shutdownTwice\":{\"type\":\"boolean\"},"       \
  "\"greeting\":{\"type\":\"string\"}}}"
#define OWN_ENTRY
#define OWN_TABLE
#include "tests/plugins/base.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct Job {
  berth_op op = 0;
  std::string action;
  std::string argument;
};

bool shutdown_twice = false;

std::string_view view(berth_str text) { return {text.ptr, static_cast<std::size_t>(text.len)}; }

void finish(berth_op op, std::uint64_t stdout_bytes = 0, std::int32_t code = 0,
            berth_cause cause = BERTH_CAUSE_EXITED) {
  berth_run_result result{};
  result.struct_size = sizeof result;
  result.cause = cause;
  result.exit_code = code;
  result.stdout_bytes = stdout_bytes;
  complete(op, &result);
}

berth_flow print(berth_op op, std::string_view text, berth_stream stream = BERTH_STREAM_STDOUT) {
  return host->output(host->ctx, op, stream,
                      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void sleep_ms(const std::string& ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::stol(ms)));
}

// Writes `argument` bytes, a counting pattern, and waits wherever it is told to.
void big(const Job& job) {
  const std::uint64_t total = std::stoull(job.argument);
  std::string piece(65536, 'x');
  std::uint64_t sent = 0;
  bool limited = false;
  while (sent < total) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), total - sent));
    for (std::size_t i = 0; i < size; ++i) piece[i] = static_cast<char>('a' + (sent + i) % 26);
    sent += size;
    if (limited) continue;
    switch (print(job.op, {piece.data(), size})) {
      case BERTH_OUTPUT_PAUSE:
        if (host->op_wait(host->ctx, job.op, 0) != BERTH_WAIT_READY)
          return finish(job.op, sent, -1, BERTH_CAUSE_CANCELLED);
        break;
      case BERTH_OUTPUT_LIMIT: limited = true; break;
      case BERTH_OUTPUT_CANCELLED: return finish(job.op, sent, -1, BERTH_CAUSE_CANCELLED);
      default: break;
    }
  }
  finish(job.op, sent);
}

// Copies its input to its output.
void cat(const Job& job) {
  std::string piece(32768, '\0');
  std::uint64_t total = 0;
  for (;;) {
    std::uint64_t got = 0;
    switch (host->input(host->ctx, job.op, reinterpret_cast<std::uint8_t*>(piece.data()),
                        piece.size(), &got)) {
      case BERTH_INPUT_DATA:
        total += got;
        if (print(job.op, {piece.data(), static_cast<std::size_t>(got)}) == BERTH_OUTPUT_PAUSE)
          host->op_wait(host->ctx, job.op, 0);
        break;
      case BERTH_INPUT_AGAIN: host->op_wait(host->ctx, job.op, 0); break;
      default: return finish(job.op, total);
    }
  }
}

void raw_outcome(berth_op op, std::uint32_t size, std::uint32_t outcome_class, std::uint32_t code,
                 std::uint32_t reserved, const void* result) {
  berth_outcome outcome{};
  outcome.struct_size = size;
  outcome.outcome_class = outcome_class;
  outcome.code = code;
  outcome.reserved = reserved;
  outcome.result = result;
  host->op_complete(host->ctx, op, &outcome);
}

// On a lent thread.
void work(void* user) {
  const std::unique_ptr<Job> job(static_cast<Job*>(user));
  const std::string& action = job->action;
  if (action == "big") return big(*job);
  if (action == "cat") return cat(*job);
  if (action == "late") {
    sleep_ms(job->argument);
    return finish(job->op);
  }
  if (action == "flood") {
    const std::string piece(65536, 'f');
    for (int i = 0; i < 64; ++i) print(job->op, piece);
    return finish(job->op);
  }
  if (action == "until-cancelled") {
    host->op_stage(host->ctx, job->op, {"waiting for the end", 19});
    while (host->op_wait(host->ctx, job->op, 0) != BERTH_WAIT_CANCELLED) {
      if (host->op_cancelled(host->ctx, job->op) != 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return finish(job->op, 0, -1, BERTH_CAUSE_CANCELLED);
  }
  if (action == "poll-cancellation") {
    host->op_stage(host->ctx, job->op, {"polling", 7});
    pollfd cancelled{host->op_cancel_fd(host->ctx, job->op), POLLIN, 0};
    // Bounded, for a host that never raises it.
    if (::poll(&cancelled, 1, 20'000) != 1) return finish(job->op);
    return finish(job->op, 0, -1, BERTH_CAUSE_CANCELLED);
  }
  if (action == "throw-in-task") throw std::runtime_error("thrown by a task");
  finish(job->op);
}

void post(berth_op op, std::string action, std::string argument) {
  auto job = std::make_unique<Job>(Job{op, std::move(action), std::move(argument)});
  if (host->post_blocking(host->ctx, &work, job.get()) != 0) static_cast<void>(job.release());
}

void append(void* user, const char* text, std::uint64_t size) {
  static_cast<std::string*>(user)->append(text, static_cast<std::size_t>(size));
}

void tell(berth_op op, const std::string& text) {
  print(op, text);
  finish(op, text.size());
}

using Action = void (*)(berth_op op, const std::string& argument);

// Long because it is a table: one entry for each thing a program of this provider can be told to do.
const std::map<std::string_view, Action>& actions() {
  static const auto* const all = new std::map<std::string_view, Action>{
      {"echo", [](berth_op op, const std::string& text) { tell(op, text); }},
      {"pid", [](berth_op op, const std::string&) { tell(op, std::to_string(::getpid())); }},
      {"hang", [](berth_op, const std::string&) {}},
      {"block", [](berth_op, const std::string&) { for (;;) ::pause(); }},
      {"abort", [](berth_op, const std::string&) { std::abort(); }},
      {"exit", [](berth_op, const std::string& code) { ::_exit(std::stoi(code)); }},
      {"throw", [](berth_op, const std::string&) { throw std::runtime_error("thrown by run"); }},
      {"twice", [](berth_op op, const std::string&) { finish(op); finish(op, 0, 99); }},
      {"output-after",
       [](berth_op op, const std::string&) {
         finish(op);
         print(op, "too late");
       }},
      {"wrong-stream",
       [](berth_op op, const std::string&) {
         print(op, "file bytes", BERTH_STREAM_FILE);
         finish(op);
       }},
      {"print",
       [](berth_op op, const std::string& text) {
         std::printf("%s\n", text.c_str());
         finish(op);
       }},
      {"log",
       [](berth_op op, const std::string& text) {
         host->log(host->ctx, BERTH_LOG_WARN, {text.data(), text.size()});
         finish(op);
       }},
      {"logs",
       [](berth_op op, const std::string& count) {
         for (int i = 0; i < std::stoi(count); ++i) host->log(host->ctx, BERTH_LOG_INFO, {"a line", 6});
         finish(op);
       }},
      {"prints",
       [](berth_op op, const std::string& count) {
         for (int i = 0; i < std::stoi(count); ++i) std::puts("a printed line");
         finish(op);
       }},
      {"breaches",
       [](berth_op op, const std::string& count) {
         for (int i = 0; i < std::stoi(count); ++i) host->op_cancelled(host->ctx, 987654321);
         finish(op);
       }},
      {"stage",
       [](berth_op op, const std::string& text) {
         host->op_stage(host->ctx, op, {text.data(), text.size()});
         finish(op);
       }},
      {"bad-class", [](berth_op op, const std::string&) { raw_outcome(op, sizeof(berth_outcome), 77, 0, 0, nullptr); }},
      {"bad-code", [](berth_op op, const std::string&) { raw_outcome(op, sizeof(berth_outcome), BERTH_REJECTED, 777, 0, nullptr); }},
      {"bad-size", [](berth_op op, const std::string&) { raw_outcome(op, 8, BERTH_DONE, 0, 0, nullptr); }},
      {"bad-reserved", [](berth_op op, const std::string&) { raw_outcome(op, sizeof(berth_outcome), BERTH_REJECTED, 0, 5, nullptr); }},
      {"no-outcome", [](berth_op op, const std::string&) { host->op_complete(host->ctx, op, nullptr); }},
      {"no-result", [](berth_op op, const std::string&) { raw_outcome(op, sizeof(berth_outcome), BERTH_DONE, 0, 0, nullptr); }},
      {"bad-cause", [](berth_op op, const std::string&) { finish(op, 0, 0, 1234); }},
      {"unset", [](berth_op op, const std::string&) { raw_outcome(op, sizeof(berth_outcome), BERTH_UNSET, 0, 0, nullptr); }},
      {"secret",
       [](berth_op op, const std::string& name) {
         std::string value = "(none)";
         std::string found;
         if (host->secret_get(host->ctx, {name.data(), name.size()}, &append, &found) != 0) value = found;
         tell(op, value);
       }},
      {"config",
       [](berth_op op, const std::string& key) {
         std::string found;
         const auto there = host->config_get(host->ctx, {key.data(), key.size()}, &append, &found);
         tell(op, there != 0 ? found : "(none)");
       }},
      {"env",
       [](berth_op op, const std::string& name) {
         const char* value = std::getenv(name.c_str());
         tell(op, value != nullptr ? value : "(none)");
       }},
      {"thread",
       [](berth_op op, const std::string& text) {
         std::thread([op, text] { tell(op, text); }).detach();
       }},
  };
  return *all;
}

void faulty_shutdown(void* self, berth_op op) {
  base_shutdown(self, op);
  if (shutdown_twice) base_shutdown(self, op);
}

void faulty_open(void* self, berth_op op, const berth_open_spec* spec) {
  shutdown_twice = view(spec->config_json).find("\"shutdownTwice\":true") != std::string_view::npos;
  base_open(self, op, spec);
}

void faulty_run(void*, berth_op op, berth_str, const berth_command* command) {
  const std::string action(view(command->argv.items[0]));
  const std::string argument(command->argv.count > 1 ? view(command->argv.items[1]) : std::string_view());
  const auto found = actions().find(action);
  if (found != actions().end()) return found->second(op, argument);
  post(op, action, argument);
}

const berth_provider_v1 faulty_table = {
    sizeof faulty_table, 0,           faulty_open,  base_get_extension, base_probe,
    base_scope,          base_create, base_lookup,  nullptr,            faulty_run,
    base_put_file,       base_get_file, base_destroy, base_list_owned,  faulty_shutdown};

}  // namespace

extern "C" std::uint32_t berth_provider_entry_v1(const berth_offer* offer, berth_reply* reply) {
  host = offer->host;
  reply->provider = &faulty_table;
  reply->minor_chosen = offer->minor_max;
  return 0;
}
