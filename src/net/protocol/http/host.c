// Hosts under which pages and WebSockets are served. Another site can make its name
// point to this server (DNS rebinding), and its pages would then count as pages of this
// server.
#include <string.h>

#include "base/log.h"
#include "net/protocol/http/site.h"
#include "net/tls.h"
#include "wire/http_host.h"

enum { NOTICE_MS = 60000 };  // interval between two log lines about a name

static bool is_listed(Text name, const char *list) {
  static const Text ANY = {"*", 1};
  return http_is_listed_name(ANY, list) || http_is_listed_name(name, list);
}

bool host_is_known(const Conn *conn, const HttpRequest *request, Text *name) {
  const Text *host = http_field(request, "host");
  if (!host) return true;  // HTTP/1.0, which no browser uses
  *name = http_host_name(*host);
  return http_is_fixed_name(*name) || is_listed(*name, web_of(conn->net)->hosts) ||
         net_tls_has_name(conn->net, *name);
}

// Returns the notice to use for a log line about a name. Returns NULL if the last
// minute had a line about this name, or too many lines about other names.
static HostNotice *find_notice(Web *web, const char *name, uint64_t now_ms) {
  HostNotice *unused = NULL;
  for (int i = 0; i < SITE_NOTICES; i++) {
    HostNotice *notice = &web->notices[i];
    bool is_due = notice->due_ms <= now_ms;
    if (strcmp(notice->name, name) == 0) return is_due ? notice : NULL;
    if (is_due) unused = notice;
  }
  return unused;
}

void host_note(Conn *conn, Text host) {
  Web *web = web_of(conn->net);
  uint64_t now_ms = net_now_ms(conn->net);
  char name[sizeof web->notices->name] = "", setting[sizeof name + 20];
  memcpy(name, host.bytes, host.size < sizeof name ? host.size : sizeof name - 1);
  HostNotice *notice = find_notice(web, name, now_ms);
  if (!notice) return;
  strcpy(notice->name, name);
  notice->due_ms = now_ms + NOTICE_MS;
  snprintf(setting, sizeof setting, "hosts = { \"%s\" }", name);
  LOG_AT(web->is_watched ? LOG_WARN : LOG_INFO,
         "refused: the server is not known by this name", log_str("host", name),
         log_str("address", conn->info->address), log_str("to_allow_it", setting));
}
