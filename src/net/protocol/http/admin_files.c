// The files of the dashboard. They contain no secrets, so everybody who may use the
// listener's name gets them. The page gets its
// data by requests that need a login.
#include <string.h>

#include "net/protocol/http/admin_port.h"

// No inline script or style, nothing from elsewhere, and no page around this one.
static const char FIELDS[] =
    "Content-Encoding: gzip\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types "
    "'none'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Frame-Options: DENY\r\n";

static const AdminFile *find_file(const AdminPort *port, Text target) {
  Text name = {target.bytes + 1, target.size - 1};
  const char *query = memchr(name.bytes, '?', name.size);
  uint32_t skip = sizeof HTTP_DASHBOARD - 1;
  if (query) name.size = (uint32_t)(query - name.bytes);
  if (name.size > 0) name = (Text){name.bytes + skip, name.size - skip};
  for (const AdminFile *file = port->files; file && file->name; file++)
    if (text_equals(name, text_from(file->name))) return file;
  return NULL;
}

void file_page_handle(Conn *conn, const HttpRequest *request) {
  const AdminFile *file = find_file(conn->net->admin, request->target);
  if (!file) {
    http_refuse(conn, 404, "the dashboard has no such file");
    return;
  }
  http_answer(conn, &(HttpAnswer){.status = 200,
                                  .type = file->type,
                                  .fields = {FIELDS, sizeof FIELDS - 1},
                                  .body = {file->bytes, (uint32_t)file->size}});
}
