#include "core/registry/quarantine.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/os/folder.h"

namespace berth::registry {
namespace {

namespace json = boost::json;

std::optional<QuarantineEntry> parse_quarantine_entry(const json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  auto digest = json_string(*object, "sha256", "entry");
  auto id = json_string(*object, "provider", "entry");
  auto reason = json_string(*object, "reason", "entry");
  const auto crashes = json_int(*object, "crashes", "entry");
  const auto at = json_int(*object, "lastUnixMs", "entry");
  const auto quarantined = json_bool(*object, "quarantined", "entry");
  if (!digest || !id || !reason || !crashes || !at || !quarantined || *crashes < 0) return std::nullopt;
  return QuarantineEntry{std::move(*digest),
                         std::move(*id),
                         std::move(*reason),
                         static_cast<std::uint32_t>(std::min<std::int64_t>(*crashes, 1'000'000)),
                         wall_time_from_unix_ms(*at),
                         *quarantined};
}

}  // namespace

void Quarantine::read() {
  if (file_.empty()) return;
  const auto text = os::read_file(file_, std::size_t{1} << 20);
  if (!text) return;
  const auto document = parse_json(*text);
  if (!document || !document->is_object()) return;
  const auto* list = document->get_object().if_contains("entries");
  if (list == nullptr || !list->is_array()) return;
  entries_.clear();
  for (const json::value& value : list->get_array())
    if (auto entry = parse_quarantine_entry(value)) entries_.push_back(std::move(*entry));
}

Status Quarantine::write() {
  if (entries_.size() > kEntriesMax)
    entries_.erase(entries_.begin(),
                   entries_.end() - static_cast<std::ptrdiff_t>(kEntriesMax));
  if (file_.empty()) return {};
  json::array list;
  for (const QuarantineEntry& entry : entries_)
    list.push_back(json::object{{"sha256", entry.digest},
                                {"provider", entry.provider_id},
                                {"reason", entry.reason},
                                {"crashes", entry.crashes},
                                {"lastUnixMs", unix_ms(entry.last_at)},
                                {"quarantined", entry.quarantined}});
  (void)os::make_private_folders(file_.parent_path());  // its absence is told by what follows
  return os::replace_file(file_, to_json_text(json::object{{"entries", std::move(list)}}) + "\n",
                          0600);
}

std::optional<QuarantineEntry> Quarantine::find(std::string_view digest) {
  read();
  for (const QuarantineEntry& entry : entries_)
    if (entry.digest == digest) return entry;
  return std::nullopt;
}

std::vector<QuarantineEntry> Quarantine::list() {
  read();
  return entries_;
}

Result<QuarantineEntry> Quarantine::record_crash(std::string_view digest,
                                                 std::string_view provider_id,
                                                 std::string_view reason, WallTime now) {
  read();
  QuarantineEntry entry;
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& e) { return e.digest == digest; });
  if (found != entries_.end()) {
    entry = std::move(*found);
    entries_.erase(found);
  }
  entry.digest = digest;
  entry.provider_id = provider_id;
  // Cut and mended, since it holds what the provider printed: the file must stay readable.
  entry.reason = to_valid_utf8(reason.substr(0, 1000));
  entry.crashes += 1;
  entry.last_at = now;
  entry.quarantined = entry.quarantined || entry.crashes >= kCrashesMax;
  entries_.push_back(entry);
  BERTH_CHECK_OK(write());
  return entry;
}

Status Quarantine::record_success(std::string_view digest) {
  read();
  for (QuarantineEntry& entry : entries_) {
    if (entry.digest != digest || entry.quarantined || entry.crashes == 0) continue;
    entry.crashes = 0;
    return write();
  }
  return {};
}

Status Quarantine::lift(std::string_view digest) {
  read();
  const auto gone = std::remove_if(entries_.begin(), entries_.end(),
                                   [&](const auto& e) { return e.digest == digest; });
  if (gone == entries_.end())
    return fail(ErrorKind::kNotFound, "no file with this digest is in quarantine");
  entries_.erase(gone, entries_.end());
  return write();
}

}  // namespace berth::registry
