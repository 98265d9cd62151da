// The pages that the server generates: for statuses, and for a game without a page. The
// only part of the request that they show is the Host header, which needs no escaping.
#include "net/protocol/http/site.h"

#include <string.h>

#include "base/text.h"

static const char STYLE[] =
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;"
    "padding:0 1em;color:#222;background:#fafafa}code,pre{font:14px/1.5 "
    "ui-monospace,monospace;background:#eee;border-radius:4px;padding:.1em .3em}"
    "pre{padding:.7em 1em;overflow:auto}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
    "code,pre{background:#2a2a2a}}</style>";

static void put_head(Buf *body, const char *title) {
  buf_printf(body,
             "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n"
             "<link rel=\"icon\" href=\"data:,\">\n"  // browsers would request an icon
                                                      // otherwise
             "<title>%s</title>\n%s\n",
             title, STYLE);
}

void page_put_status(Buf *body, int status, const char *text) {
  char title[64];
  snprintf(title, sizeof title, "%d %s", status, http_reason(status));
  put_head(body, title);
  buf_printf(body, "<h1>%s</h1>\n<p>%s</p>\n</html>\n", title, text);
}

static void put_escaped(Buf *body, const char *text) {
  for (; *text; text++)
    if (*text == '&')
      buf_printf(body, "&amp;");
    else if (*text == '<')
      buf_printf(body, "&lt;");
    else if (*text == '>')
      buf_printf(body, "&gt;");
    else
      buf_u8(body, (uint8_t)*text);
}

void page_put_welcome(Buf *body, const Web *web, Text host) {
  put_head(body, "Perigee");
  // Reloads the page, so that the game's own page appears as soon as it exists.
  buf_printf(body, "<meta http-equiv=\"refresh\" content=\"2\">\n<h1>");
  put_escaped(body, web->name);
  buf_printf(body,
             "</h1>\n<p>A game server runs here, and it has no page of its own: "
             "there is no <code>public/index.html</code> beside the game.</p>\n"
             "<p>From a terminal:</p>\n<pre>perigee connect %.*s</pre>\n"
             "<p>From a page:</p>\n<pre>&lt;script type=\"module\"&gt;\n"
             "  import { connect } from \"/perigee.js\"\n"
             "  const game = await connect({ name: \"ann\" })\n"
             "&lt;/script&gt;</pre>\n"
             "<p>Anything else: WebSockets at <code>/ws</code>, or packets "
             "over TCP on this port.</p>\n</html>\n",
             (int)host.size, host.bytes);
}
