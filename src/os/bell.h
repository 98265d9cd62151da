// Wakes a loop from another thread.
#pragma once

typedef struct Bell Bell;
typedef struct Loop Loop;

/// The loop calls this once after one or several calls of bell_ring.
typedef void BellCallback(void *data);

/// Creates a bell, which does not keep the loop running. Returns NULL if the system
/// cannot create one.
Bell *bell_open(Loop *loop, BellCallback *on_ring, void *data);

/// Rings the bell. Callable from any thread and from signal handlers.
void bell_ring(Bell *bell);

/// Closes the bell, which the loop frees later. NULL is allowed.
void bell_close(Bell *bell);
