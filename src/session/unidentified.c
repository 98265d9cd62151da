// Connections that are no peers: what they speak is not known yet, or it is HTTP. They
// count among those of their address, and have a limit of their own, as high as that of
// clients.
#include "session/internal.h"

const char *unidentified_enter(void *data, const char *address) {
  Session *session = data;
  const SessionLimits *limits = &session->limits;
  uint64_t max_here = limits->max_clients_per_address;
  // As for connections that have not said HELLO yet: one of them may be lost already.
  if (limits->resume_timeout_ms > 0) max_here *= 2;
  if (session->is_down) return SHUTTING_DOWN_TEXT;
  if ((uint64_t)session->unidentified >= (uint64_t)limits->max_clients + SESSION_SPARE)
    return SERVER_FULL_TEXT;
  if (max_here > 0 && session_count_address(session, address, 0) >= max_here)
    return ADDRESS_FULL_TEXT;
  session->unidentified++;
  session_count_address(session, address, 1);
  return NULL;
}

void unidentified_leave(void *data, const char *address) {
  Session *session = data;
  session->unidentified--;
  session_count_address(session, address, -1);
}
