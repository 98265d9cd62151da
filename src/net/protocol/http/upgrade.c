// /ws: the connection becomes a WebSocket.
#include "net/protocol/http/site.h"
#include "net/protocol/protocols.h"
#include "wire/websocket.h"

static bool is_allowed_origin(const Conn *conn, const HttpRequest *request) {
  const Text *origin = http_field(request, "origin");
  const Text *host = http_field(request, "host");
  const char *list = web_of(conn->net)->origins;
  if (!origin) return true;  // the client is no browser, so it shows no foreign page
  if (host && http_is_same_origin(*origin, *host)) return true;
  return http_is_listed_origin(*origin, list);
}

static void upgrade(Conn *conn, const HttpRequest *request, Text key) {
  char sum[WS_ACCEPT_SIZE];
  Buf out = {0};
  ws_accept(key, sum);
  http_put_status(&out, 101);
  http_put_field(&out, "Upgrade", "websocket");
  http_put_field(&out, "Connection", "Upgrade");
  http_put_field(&out, "Sec-WebSocket-Accept", "%s", sum);
  if (http_has_token(request, "sec-websocket-protocol", "perigee.1"))
    http_put_field(&out, "Sec-WebSocket-Protocol", "perigee.1");
  http_put_end(&out);
  http_of(conn)->server->stats.upgraded++;
  buf_consume(&conn->in.bytes, http_of(conn)->size);
  conn_speak(conn, &WEBSOCKET);
  sniff_await(conn);
  backlog_write_now(conn, out.data, out.size);
  buf_deinit(&out);
}

void upgrade_handle(Conn *conn, const HttpRequest *request) {
  const Text *key = http_field(request, "sec-websocket-key");
  const Text *version = http_field(request, "sec-websocket-version");
  bool is_wanted = http_has_token(request, "upgrade", "websocket") &&
                   http_has_token(request, "connection", "upgrade");
  if (!is_wanted || request->is_old || request->method != METHOD_GET)
    http_refuse(conn, 426, "WebSockets are served here");
  else if (!version || !http_is_text(*version, "13"))
    http_refuse(conn, 426, "WebSockets are served here, in version 13");
  else if (!key || !ws_is_key(*key))
    http_refuse(conn, 400, "Sec-WebSocket-Key is not what it has to be");
  else if (!is_allowed_origin(conn, request))
    http_refuse(conn, 403,
                "pages from elsewhere may not connect. Its operator can let them, with "
                "<code>allowed_origins</code>");
  else
    upgrade(conn, request, *key);
}
