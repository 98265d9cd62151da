// Wakes a loop from another thread.
#pragma once

typedef struct Bell Bell;
typedef struct Loop Loop;

/// The loop calls this once after one or several calls of bell_ring.
typedef void BellCallback(void *data);

/// Makes a bell, which does not keep the loop running. Returns NULL when the system cannot.
Bell *bell_open(Loop *loop, BellCallback *on_ring, void *data);

/// Rings it; for any thread, and for signal handlers.
void bell_ring(Bell *bell);

/// Closes it; the loop frees it. NULL is allowed.
void bell_close(Bell *bell);
