// The memory that SQLite works in.
//
// A statement asks for a dozen blocks and gives all back when it is done, and so does every balancing
// of a page. Distributions build SQLite without its own list of spare blocks (SQLITE_OMIT_LOOKASIDE in
// Debian), so each goes to malloc, where blocks above a kilobyte take the slow way.
#ifndef BERTH_CORE_STORE_SQLITE_MEMORY_H_
#define BERTH_CORE_STORE_SQLITE_MEMORY_H_

namespace berth::sqlite {

// Lets each thread keep some blocks that SQLite gave back, at most a mebibyte of them, and take from
// these first. For the whole process and before anything in it uses SQLite, so it is for a main to
// call; false when SQLite is in use already, and nothing has changed.
bool keep_spare_memory();

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_MEMORY_H_
