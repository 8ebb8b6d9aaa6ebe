// ProviderHost: bytes between a provider and whoever reads or supplies them.
#include <fmt/format.h>

#include <algorithm>

#include "core/plugin/host_operation.h"
#include "core/plugin/provider_host.h"

namespace berth::plugin {

void ProviderHost::on_output(OpId op, Stream stream, std::string_view bytes) {
  const OperationPointer operation = find(op);
  if (!operation || operation->state != Operation::State::kSent) return;
  if (operation->output == nullptr) return;
  operation->unacknowledged += bytes.size();
  if (operation->unacknowledged > kOutputWindowBytes + kOutputOverrunBytes + kTransferBytesMax) {
    // The driver in the worker keeps to the window, so this one has been tampered with.
    on_violation({"STRM-004", fmt::format("{} sent more output than its window holds",
                                          to_string(operation->slot))});
    const LanePointer lane = operation->lane;
    count_crash();
    if (lane != nullptr) drop_lane(lane);
    dispatch_waiting();
    return;
  }
  if (operation->output_paused) {
    operation->held.emplace_back(stream, std::string(bytes));
    return;
  }
  write_output(*operation, stream, bytes);
}

void ProviderHost::write_output(Operation& operation, Stream stream, std::string_view bytes) {
  operation.owed_credit += bytes.size();
  bool& limited = operation.limited[static_cast<std::size_t>(stream)];
  if (!limited) {
    switch (operation.output->write(stream, bytes)) {
      case OutputSink::Flow::kContinue: break;
      case OutputSink::Flow::kPause: operation.output_paused = true; return;
      case OutputSink::Flow::kLimit:
        limited = true;
        if (operation.lane != nullptr) operation.lane->channel->limit_output(operation.id, stream);
        break;
    }
  }
  return_credit(operation);
}

void ProviderHost::return_credit(Operation& operation) {
  if (operation.owed_credit < kOutputWindowBytes / 4 || operation.lane == nullptr) return;
  operation.lane->channel->grant_output(operation.id, operation.owed_credit);
  operation.unacknowledged -= operation.owed_credit;
  operation.owed_credit = 0;
  operation.lane->channel->flush();
}

void ProviderHost::resume_output(OpId op) {
  const OperationPointer operation = find(op);
  if (!operation || operation->settled() || !operation->output_paused) return;
  const auto self = shared_from_this();
  operation->output_paused = false;
  while (!operation->held.empty() && !operation->output_paused && operation->output != nullptr) {
    const auto [stream, bytes] = std::move(operation->held.front());
    operation->held.pop_front();
    write_output(*operation, stream, bytes);
  }
  if (operation->output_paused) return;
  if (operation->answered) return settle(operation, std::move(*operation->answered), true);
  // The provider may be waiting for less than a quarter of its window.
  if (operation->lane != nullptr && operation->owed_credit > 0) {
    operation->lane->channel->grant_output(operation->id, operation->owed_credit);
    operation->unacknowledged -= operation->owed_credit;
    operation->owed_credit = 0;
    operation->lane->channel->flush();
  }
}

void ProviderHost::pump_input(Operation& operation) {
  if (operation.input == nullptr || operation.input_ended || operation.lane == nullptr) return;
  std::string next;
  // The piece read last waits for the next read, so that a short input leaves in one frame.
  std::string piece;
  bool more = true;
  while (more && operation.input_credit > 0) {
    next.clear();
    const std::size_t want =
        static_cast<std::size_t>(std::min<std::uint64_t>(operation.input_credit, kTransferBytesMax));
    const InputSource::State state = operation.input->read(next, want);
    if (next.size() > want) next.resize(want);
    operation.input_credit -= next.size();
    operation.input_ended = state == InputSource::State::kEnd;
    more = state == InputSource::State::kData;
    if (piece.size() + next.size() > kTransferBytesMax) {
      operation.lane->channel->give_input(operation.id, piece, false);
      piece.clear();
    }
    piece += next;
  }
  if (!piece.empty() || operation.input_ended)
    operation.lane->channel->give_input(operation.id, piece, operation.input_ended);
}

void ProviderHost::on_input_taken(OpId op, std::uint64_t bytes) {
  const OperationPointer operation = find(op);
  if (!operation || operation->state != Operation::State::kSent || operation->lane == nullptr) return;
  operation->input_credit = std::min(kInputWindowBytes, operation->input_credit + bytes);
  pump_input(*operation);
  operation->lane->channel->flush();
}

}  // namespace berth::plugin
