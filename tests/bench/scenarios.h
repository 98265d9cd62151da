// The scenarios of the load generator. Each connects its clients, measures for
// `load->seconds`, prints one line of `key=value`, and restores the server's state.
#pragma once

#include "client.h"

/// Measures one room. Each publisher sends a burst in one write, and the next burst when
/// every member has all of it.
void run_fanout(Load *load);

/// Measures one room with single broadcasts at an even pace of `load->rate`, which the
/// server cannot batch.
void run_paced(Load *load);

/// Measures many rooms with one broadcast in flight in each, so that the server cannot
/// batch them.
void run_rooms(Load *load);

/// Measures two clients that send one broadcast back and forth.
void run_echo(Load *load);

/// Measures clients that connect, join, leave and close, over and over.
void run_churn(Load *load);

/// Measures a room at 1,000 broadcasts a second, in which `load->stalled` members never
/// read.
void run_stall(Load *load);

/// Measures clients that do nothing but answer PINGs.
void run_idle(Load *load);
