// Measures what group commit gives on this disk: commit_rate FOLDER [SECONDS [IN_FLIGHT]].
//
// One line for the raw rate of single SQLite commits, then one for each number of calls in flight,
// each call making the three commits of a good run with the rows that a good run writes.
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <vector>

#include "core/base/sha256.h"
#include "core/store/sqlite/sqlite_store.h"
#include "tests/store/good_run.h"

namespace berth {
namespace {

using Seconds = std::chrono::duration<double>;

double raw_rate(const std::filesystem::path& path, Seconds budget) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  sqlite3_exec(database,
               "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"
               "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)",
               nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(database, "INSERT INTO rows (body) VALUES (?)", -1, &insert, nullptr);
  const std::string body(300, 'x');
  long count = 0;
  const Instant start = now();
  while (now() - start < budget) {
    sqlite3_bind_text(insert, 1, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) std::exit(1);
    sqlite3_reset(insert);
    ++count;
  }
  const double rate = static_cast<double>(count) / Seconds(now() - start).count();
  sqlite3_finalize(insert);
  sqlite3_close(database);
  return rate;
}

struct Load {
  SqliteStore& store;
  Instant until;
  long next = 0;
  long done = 0;
  std::vector<double> took_us = {};
};

Task<void> caller(Load& load) {
  while (now() < load.until) {
    const Instant begun = now();
    const auto run = load.next++;
    const Status status = co_await test::good_run(load.store, run);
    if (!status) {
      fmt::print(stderr, "{}\n", status.error().message());
      std::exit(1);
    }
    ++load.done;
    load.took_us.push_back(std::chrono::duration<double, std::micro>(now() - begun).count());
  }
}

int measure(const std::filesystem::path& folder, Seconds budget, std::span<const int> levels) {
  const std::filesystem::path inside = folder / fmt::format("commit_rate.{}", ::getpid());
  std::filesystem::create_directory(inside);
  const double raw = raw_rate(inside / "raw.db", budget);
  fmt::print("raw single commits: {:.0f}/s ({:.0f} us)\n", raw, 1e6 / raw);
  for (const int in_flight : levels) {
    auto store = SqliteStore::open({.path = inside / fmt::format("store{}.db", in_flight)});
    if (!store) {
      fmt::print(stderr, "{}\n", store.error().message());
      return 1;
    }
    boost::asio::io_context loop(1);
    Load load{**store, now() + std::chrono::duration_cast<Duration>(budget)};
    const Instant start = now();
    for (int i = 0; i < in_flight; ++i)
      boost::asio::co_spawn(loop, caller(load), boost::asio::detached);
    loop.run();
    const double rate = static_cast<double>(load.done) / Seconds(now() - start).count();
    const auto counters = (*store)->counters();
    std::sort(load.took_us.begin(), load.took_us.end());
    fmt::print(
        "{:2} in flight: {:.0f} runs/s, {:.2f} of raw; median {:.0f} us; {:.1f} units a commit\n",
        in_flight, rate, rate / raw, load.took_us[load.took_us.size() / 2],
        static_cast<double>(counters.units) / static_cast<double>(counters.commits));
  }
  std::filesystem::remove_all(inside);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: commit_rate FOLDER [SECONDS [IN_FLIGHT]]\n");
    return 2;
  }
  std::vector<int> levels = {1, 8, 64};
  if (argc > 3) levels = {std::atoi(argv[3])};
  return berth::measure(argv[1], berth::Seconds(argc > 2 ? std::atof(argv[2]) : 2.0), levels);
}
