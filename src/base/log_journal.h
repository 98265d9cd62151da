// Entries of the systemd journal, which keep the fields of a line apart:
// `journalctl PERIGEE_PEER=3`. The format is that of systemd's page on its native
// journal protocol; no library is needed.
#pragma once

#include "base/buf.h"
#include "base/log.h"

/// Opens the journal if standard error is connected to it (JOURNAL_STREAM of
/// systemd.exec(5)). Later lines in the form of LOG_TEXT become entries. `path`: the
/// journal's socket; NULL: the system's.
void log_journal_open(const char *path);

/// Returns whether the journal is open.
bool log_journal_is_open(void);

/// Appends an entry: the line as text, which ends with a newline, and its fields. The
/// journal's name of the field `peer` is PERIGEE_PEER.
void log_journal_entry(Buf *entry, LogLevel level, const Buf *text,
                       const LogField *fields, const LogState *version);

/// Sends an entry. If the journal does not take it, waits at most `wait_ms`. Returns 0
/// or a negative errno: -EAGAIN if the journal is too slow.
int log_journal_send(const Buf *entry, int wait_ms);
