#include "plugins/http/pool.h"

#include <utility>

namespace berth::http {

ConnectionPtr Pool::take(const std::string& origin) {
  const auto at = idle_.find(origin);
  if (at == idle_.end()) return nullptr;
  const auto now = Clock::now();
  while (!at->second.empty()) {
    Idle last = std::move(at->second.back());
    at->second.pop_back();
    if (now - last.since < limits_.idle_time_max && last.connection->socket->is_idle())
      return std::move(last.connection);
  }
  return nullptr;
}

void Pool::put(const std::string& origin, ConnectionPtr connection) {
  if (limits_.idle_per_origin_max == 0) return;
  auto& idle = idle_[origin];
  if (idle.size() >= limits_.idle_per_origin_max) idle.pop_front();
  connection->rest.shrink_to_fit();
  idle.push_back({std::move(connection), Clock::now()});
  sweep_later();
}

std::size_t Pool::idle() const {
  std::size_t count = 0;
  for (const auto& [origin, idle] : idle_) count += idle.size();
  return count;
}

void Pool::clear() {
  idle_.clear();
  timer_.cancel();
}

void Pool::sweep() {
  const auto now = Clock::now();
  for (auto at = idle_.begin(); at != idle_.end();) {
    auto& idle = at->second;
    while (!idle.empty() && now - idle.front().since >= limits_.idle_time_max) idle.pop_front();
    at = idle.empty() ? idle_.erase(at) : std::next(at);
  }
  if (!idle_.empty()) sweep_later();
}

void Pool::sweep_later() {
  if (timer_runs_) return;
  timer_runs_ = true;
  timer_.expires_after(limits_.idle_time_max);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code&) {
    const auto pool = weak.lock();
    if (!pool) return;
    pool->timer_runs_ = false;
    pool->sweep();
  });
}

}  // namespace berth::http
