// What the rest of net asks of the admin listener.
#pragma once

#include "net/internal.h"

// admin.c
/// Somebody has come to the admin listener.
void admin_enter(Conn *conn, const ConnInfo *info);
void admin_input(Conn *conn, const uint8_t *bytes, size_t size);
/// The handshake of TLS is done.
void admin_ready(Conn *conn);
/// Goes on with requests that wait.
void admin_resume(Conn *conn);
/// All that was written is out.
void admin_drained(Conn *conn);
/// As http_outlives_end.
bool admin_outlives_end(Conn *conn);
/// It closes: who was to answer is told.
void admin_leave(Conn *conn);
void admin_free(Conn *conn);
void admin_port_free(Net *net);
