// The steps themselves. What stands here may stand in a store: it is added to and never changed.
#include "core/store/sqlite/schema.h"

namespace berth::sqlite {
namespace {

// Times are milliseconds since 1970 UTC, money is micro-dollars. A page that a commit touches costs
// as much as several statements, so there are few indexes, and rows refer to an intent by its
// number: names are digests and would scatter over the file. A line of the journal has the id
// (intent << 20) + n, so the lines of one intent lie side by side without an index. Checks compare
// with OR, most frequent word first: for IN, SQLite builds a temporary table at each row.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE intents (
  seq INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (name <> ''),
  owner TEXT NOT NULL CHECK (owner <> ''),
  session TEXT NOT NULL CHECK (session <> ''),
  call TEXT NOT NULL CHECK (call <> ''),
  turn TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  provider_version TEXT NOT NULL,
  provider_digest TEXT NOT NULL,
  spec_digest TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  host_id TEXT NOT NULL,
  lock_path TEXT NOT NULL,
  state TEXT NOT NULL CHECK (
    state = 'RELEASED' OR state = 'CREATED' OR state = 'DISPATCHED' OR state = 'CLEANING' OR
    state = 'RUNNING' OR state = 'INTENDED' OR state = 'UNCERTAIN'),
  open INTEGER NOT NULL CHECK (open = (state <> 'RELEASED')),
  dispatched INTEGER NOT NULL CHECK (dispatched BETWEEN 0 AND 1),
  cancel_requested INTEGER NOT NULL CHECK (cancel_requested BETWEEN 0 AND 1),
  ref TEXT NOT NULL,
  result_expired INTEGER NOT NULL CHECK (result_expired BETWEEN 0 AND 1),
  updated_at INTEGER NOT NULL,
  cleanup_attempts INTEGER NOT NULL CHECK (cleanup_attempts >= 0),
  last_error TEXT NOT NULL,
  last_stage TEXT NOT NULL,
  revision INTEGER NOT NULL,
  result BLOB,
  UNIQUE (owner, session, call),
  CHECK (dispatched = 1 OR state = 'RELEASED' OR state = 'INTENDED')
) STRICT;
CREATE INDEX intents_open ON intents (provider_id, scope) WHERE open = 1;
CREATE TRIGGER intents_are_kept BEFORE DELETE ON intents
BEGIN SELECT RAISE(ABORT, 'intents are kept for ever'); END;

CREATE TABLE journal (
  id INTEGER PRIMARY KEY,
  from_state TEXT NOT NULL CHECK (
    from_state = 'RELEASED' OR from_state = 'CREATED' OR from_state = 'DISPATCHED' OR
    from_state = 'CLEANING' OR from_state = 'RUNNING' OR from_state = 'INTENDED' OR
    from_state = 'UNCERTAIN'),
  to_state TEXT NOT NULL CHECK (
    to_state = 'RELEASED' OR to_state = 'CREATED' OR to_state = 'DISPATCHED' OR
    to_state = 'CLEANING' OR to_state = 'RUNNING' OR to_state = 'INTENDED' OR
    to_state = 'UNCERTAIN'),
  event TEXT NOT NULL,
  evidence TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER journal_is_not_rewritten BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_is_not_shortened BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TABLE sessions (
  owner TEXT NOT NULL,
  session TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state = 'open' OR state = 'retiring' OR state = 'retired'),
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (owner, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipts (
  intent INTEGER PRIMARY KEY REFERENCES intents (seq),
  owner TEXT NOT NULL,
  settlement TEXT NOT NULL CHECK (
    settlement = 'completed' OR settlement = 'infrastructure_failure' OR
    settlement = 'cancelled' OR settlement = 'refused' OR settlement = 'host_died' OR
    settlement = 'uncertain'),
  cost INTEGER,
  recorded_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  evidence TEXT NOT NULL,
  exit_code INTEGER,
  cause TEXT NOT NULL,
  stdout_bytes INTEGER NOT NULL,
  stderr_bytes INTEGER NOT NULL,
  timings TEXT NOT NULL,
  provider_cpu_ns INTEGER,
  provider_wall_ns INTEGER,
  provider_memory_peak_bytes INTEGER,
  provider_cost INTEGER
) STRICT;
CREATE INDEX receipts_of_unknown_cost ON receipts (owner) WHERE cost IS NULL;
CREATE TRIGGER receipts_are_kept BEFORE DELETE ON receipts
BEGIN SELECT RAISE(ABORT, 'receipts are kept for ever'); END;
CREATE TRIGGER receipts_settle_once BEFORE UPDATE ON receipts WHEN OLD.cost IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a receipt of known cost is final'); END;

CREATE TABLE postings (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  target TEXT NOT NULL CHECK (target <> source),
  amount INTEGER NOT NULL,
  memo TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX postings_from ON postings (source);
CREATE INDEX postings_to ON postings (target);
CREATE TRIGGER postings_are_not_rewritten BEFORE UPDATE ON postings
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER postings_are_not_shortened BEFORE DELETE ON postings
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TABLE accounts (
  account TEXT NOT NULL PRIMARY KEY,
  balance INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  owner TEXT NOT NULL,
  session TEXT NOT NULL,
  turn TEXT NOT NULL,
  used INTEGER NOT NULL,
  debited INTEGER NOT NULL,
  PRIMARY KEY (owner, session, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE marks (
  name TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO marks VALUES ('reopened', 0), ('results_expired_to', 0);
)sql";

// Saved documents. What a revision is, it stays; which call ran it, too.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE documents (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  owner TEXT NOT NULL CHECK (owner <> ''),
  session TEXT NOT NULL CHECK (session <> ''),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_of_session ON documents (owner, session);

CREATE TABLE document_revisions (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  document INTEGER NOT NULL REFERENCES documents (seq),
  number INTEGER NOT NULL CHECK (number >= 1),
  title TEXT NOT NULL CHECK (title <> ''),
  sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  code BLOB NOT NULL,
  UNIQUE (document, number)
) STRICT;
CREATE TRIGGER revisions_are_not_rewritten BEFORE UPDATE ON document_revisions
BEGIN SELECT RAISE(ABORT, 'a revision never changes'); END;

CREATE TABLE document_runs (
  seq INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  session TEXT NOT NULL,
  call TEXT NOT NULL,
  revision INTEGER NOT NULL REFERENCES document_revisions (seq),
  at INTEGER NOT NULL,
  UNIQUE (owner, session, call)
) STRICT;
CREATE INDEX document_runs_of_revision ON document_runs (revision);
CREATE TRIGGER document_runs_are_not_rewritten BEFORE UPDATE ON document_runs
BEGIN SELECT RAISE(ABORT, 'which revision a call ran never changes'); END;
)sql";

// Names in a table of their own, into which many are put at a time (new_intents.h). So the intents lose
// the index of their names; a table constraint goes only with its table.
constexpr const char* kVersion3 = R"sql(
CREATE TABLE intents_3 (
  seq INTEGER PRIMARY KEY,
  name TEXT NOT NULL CHECK (name <> ''),
  owner TEXT NOT NULL CHECK (owner <> ''),
  session TEXT NOT NULL CHECK (session <> ''),
  call TEXT NOT NULL CHECK (call <> ''),
  turn TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  provider_version TEXT NOT NULL,
  provider_digest TEXT NOT NULL,
  spec_digest TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  host_id TEXT NOT NULL,
  lock_path TEXT NOT NULL,
  state TEXT NOT NULL CHECK (
    state = 'RELEASED' OR state = 'CREATED' OR state = 'DISPATCHED' OR state = 'CLEANING' OR
    state = 'RUNNING' OR state = 'INTENDED' OR state = 'UNCERTAIN'),
  open INTEGER NOT NULL CHECK (open = (state <> 'RELEASED')),
  dispatched INTEGER NOT NULL CHECK (dispatched BETWEEN 0 AND 1),
  cancel_requested INTEGER NOT NULL CHECK (cancel_requested BETWEEN 0 AND 1),
  ref TEXT NOT NULL,
  result_expired INTEGER NOT NULL CHECK (result_expired BETWEEN 0 AND 1),
  updated_at INTEGER NOT NULL,
  cleanup_attempts INTEGER NOT NULL CHECK (cleanup_attempts >= 0),
  last_error TEXT NOT NULL,
  last_stage TEXT NOT NULL,
  revision INTEGER NOT NULL,
  result BLOB,
  UNIQUE (owner, session, call),
  CHECK (dispatched = 1 OR state = 'RELEASED' OR state = 'INTENDED')
) STRICT;
INSERT INTO intents_3 SELECT * FROM intents;
DROP TABLE intents;
ALTER TABLE intents_3 RENAME TO intents;
CREATE INDEX intents_open ON intents (provider_id, scope) WHERE open = 1;
CREATE TRIGGER intents_are_kept BEFORE DELETE ON intents
BEGIN SELECT RAISE(ABORT, 'intents are kept for ever'); END;

CREATE TABLE intent_names (
  name TEXT NOT NULL PRIMARY KEY,
  intent INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO intent_names SELECT name, seq FROM intents ORDER BY name;
INSERT INTO marks SELECT 'names_listed_to', coalesce(max(seq), 0) FROM intents;
)sql";

// Which provider each application's new calls went to, last.
constexpr const char* kVersion4 = R"sql(
CREATE TABLE selections (
  application TEXT NOT NULL PRIMARY KEY CHECK (application <> ''),
  provider_id TEXT NOT NULL CHECK (provider_id <> '')
) STRICT, WITHOUT ROWID;
)sql";

// Calls in a table of their own as well. What is the same in many intents, who works on them and with
// what provider, has rows that these refer to: an intent is written three times, and half as long now.
constexpr const char* kVersion5 = R"sql(
CREATE TABLE holders (
  number INTEGER PRIMARY KEY,
  boot_id TEXT NOT NULL,
  host_id TEXT NOT NULL,
  lock_path TEXT NOT NULL,
  UNIQUE (boot_id, host_id, lock_path)
) STRICT;
INSERT INTO holders (boot_id, host_id, lock_path)
  SELECT boot_id, host_id, lock_path FROM intents GROUP BY 1, 2, 3 ORDER BY min(seq);
CREATE TABLE places (
  number INTEGER PRIMARY KEY,
  provider_id TEXT NOT NULL,
  provider_version TEXT NOT NULL,
  provider_digest TEXT NOT NULL,
  scope TEXT NOT NULL,
  UNIQUE (provider_id, provider_version, provider_digest, scope)
) STRICT;
INSERT INTO places (provider_id, provider_version, provider_digest, scope)
  SELECT provider_id, provider_version, provider_digest, scope FROM intents
  GROUP BY 1, 2, 3, 4 ORDER BY min(seq);

CREATE TABLE intents_5 (
  seq INTEGER PRIMARY KEY,
  name TEXT NOT NULL CHECK (name <> ''),
  owner TEXT NOT NULL CHECK (owner <> ''),
  session TEXT NOT NULL CHECK (session <> ''),
  call TEXT NOT NULL CHECK (call <> ''),
  turn TEXT NOT NULL,
  place INTEGER NOT NULL REFERENCES places (number),
  spec_digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  holder INTEGER NOT NULL REFERENCES holders (number),
  state TEXT NOT NULL CHECK (
    state = 'RELEASED' OR state = 'CREATED' OR state = 'DISPATCHED' OR state = 'CLEANING' OR
    state = 'RUNNING' OR state = 'INTENDED' OR state = 'UNCERTAIN'),
  open INTEGER NOT NULL CHECK (open = (state <> 'RELEASED')),
  dispatched INTEGER NOT NULL CHECK (dispatched BETWEEN 0 AND 1),
  cancel_requested INTEGER NOT NULL CHECK (cancel_requested BETWEEN 0 AND 1),
  ref TEXT NOT NULL,
  result_expired INTEGER NOT NULL CHECK (result_expired BETWEEN 0 AND 1),
  updated_at INTEGER NOT NULL,
  cleanup_attempts INTEGER NOT NULL CHECK (cleanup_attempts >= 0),
  last_error TEXT NOT NULL,
  last_stage TEXT NOT NULL,
  revision INTEGER NOT NULL,
  result BLOB,
  CHECK (dispatched = 1 OR state = 'RELEASED' OR state = 'INTENDED')
) STRICT;
INSERT INTO intents_5
  SELECT seq, name, owner, session, call, turn, p.number, spec_digest, created_at, h.number, state,
    open, dispatched, cancel_requested, ref, result_expired, updated_at, cleanup_attempts, last_error,
    last_stage, revision, result
  FROM intents i
  JOIN places p ON p.provider_id = i.provider_id AND p.provider_version = i.provider_version AND
    p.provider_digest = i.provider_digest AND p.scope = i.scope
  JOIN holders h ON h.boot_id = i.boot_id AND h.host_id = i.host_id AND h.lock_path = i.lock_path
  ORDER BY seq;
DROP TABLE intents;
ALTER TABLE intents_5 RENAME TO intents;
CREATE INDEX intents_open ON intents (place) WHERE open = 1;
CREATE TRIGGER intents_are_kept BEFORE DELETE ON intents
BEGIN SELECT RAISE(ABORT, 'intents are kept for ever'); END;
CREATE TRIGGER intents_keep_their_call BEFORE UPDATE OF seq, name, owner, session, call ON intents
BEGIN SELECT RAISE(ABORT, 'an intent keeps its name and its call for ever'); END;
CREATE TRIGGER holders_are_not_rewritten BEFORE UPDATE ON holders
BEGIN SELECT RAISE(ABORT, 'a holder never changes'); END;
CREATE TRIGGER places_are_not_rewritten BEFORE UPDATE ON places
BEGIN SELECT RAISE(ABORT, 'a place never changes'); END;

CREATE TABLE intent_calls (
  owner TEXT NOT NULL,
  session TEXT NOT NULL,
  call TEXT NOT NULL,
  intent INTEGER NOT NULL,
  PRIMARY KEY (owner, session, call)
) STRICT, WITHOUT ROWID;
INSERT INTO intent_calls SELECT owner, session, call, seq FROM intents ORDER BY 1, 2, 3;
INSERT INTO intent_names SELECT name, seq FROM intents
  WHERE seq > (SELECT value FROM marks WHERE name = 'names_listed_to') ORDER BY name;
DELETE FROM marks WHERE name = 'names_listed_to';
INSERT INTO marks SELECT 'listed_to', coalesce(max(seq), 0) FROM intents;
)sql";

constexpr Migration kMigrations[] = {
    {1, kVersion1}, {2, kVersion2}, {3, kVersion3}, {4, kVersion4}, {5, kVersion5}};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

}  // namespace berth::sqlite
