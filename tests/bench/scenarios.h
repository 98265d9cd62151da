// The scenarios of the load generator. Each connects its clients, measures for
// `load->seconds`, prints one line of `key=value`, and restores the server's state.
#pragma once

#include "client.h"

/// One room: each publisher sends a burst in one write, and the next when every member has all of it.
void run_fanout(Load *load);

/// One room, single broadcasts at an even pace of `load->rate`: nothing to batch.
void run_paced(Load *load);

/// Many rooms with one broadcast in flight in each: nothing to batch.
void run_rooms(Load *load);

/// Two clients send one broadcast back and forth.
void run_echo(Load *load);

/// Connect, join, leave, close, over and over.
void run_churn(Load *load);

/// A room at 1,000 broadcasts a second, in the burst of `load->burst` members that
/// never read.
void run_stall(Load *load);

/// Clients that do nothing but answer PINGs.
void run_idle(Load *load);
