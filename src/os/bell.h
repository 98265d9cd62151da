// Wakes a loop from another thread.
#pragma once

typedef struct Bell Bell;
typedef struct Loop Loop;

/// Called by the loop, once for one call of bell_ring or for several.
typedef void BellCallback(void *data);

/// Does not keep the loop running. NULL when the system cannot make one.
Bell *bell_open(Loop *loop, BellCallback *on_ring, void *data);

/// May be called by any thread, and by signal handlers.
void bell_ring(Bell *bell);

/// Freed by the loop; NULL is allowed.
void bell_close(Bell *bell);
