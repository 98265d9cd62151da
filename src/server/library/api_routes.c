// The routes of the control API, and their functions.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "relay/describe.h"
#include "script/figures.h"
#include "server/game_path.h"
#include "server/library/api.h"
#include "wire/json.h"

#define NO_ROOM "NoSuchRoom"
#define NO_PEER "NoSuchPeer"

enum { CURSOR_MAX = 1 << 20 };  // larger than the index of any peer or room

// --- Fields ---

// Reads a whole number from 1 to `most`. Returns `fallback` if the field is missing. If
// the number is wrong, sends an error and returns 0.
static uint32_t read_number(const ApiRequest *request, ApiField field, const char *name,
                            uint32_t most, uint32_t fallback) {
  if (!api_has(request, field)) return fallback;
  const char *text = (const char *)request->fields[field].data;
  size_t digits = strspn(text, "0123456789");
  unsigned long number = strtoul(text, NULL, 10);
  if (digits > 0 && text[digits] == '\0' && number >= 1 && number <= most)
    return (uint32_t)number;
  api_fail(request, 400, "BadRequest", "%s must be a whole number from 1 to %u", name,
           most);
  return 0;
}

static bool is_true(const ApiRequest *request, ApiField field) {
  return api_has(request, field) &&
         strcmp((const char *)request->fields[field].data, "true") == 0;
}

// Returns the reason. If it is too long, sends an error and returns NULL.
static const char *read_reason(const ApiRequest *request, const char *fallback) {
  const Buf *reason = &request->fields[API_REASON];
  if (!api_has(request, API_REASON)) return fallback;
  if (reason->size - 1 <= API_REASON_MAX) return (const char *)reason->data;
  api_fail(request, 400, "BadRequest", "reason has at most %d bytes", API_REASON_MAX);
  return NULL;
}

static Session *session_of(const ApiRequest *request) {
  return request->self->server->engine.session;
}

// Returns the open room that the path names. If none exists, sends an error and returns
// NULL.
static const Room *find_room(const ApiRequest *request) {
  const Relay *relay = relay_of(request->self);
  Text name = api_text(&request->name);
  const Room *room = relay_room(relay, relay_find_room(relay, name));
  if (room != NULL && room->state == ROOM_OPEN) return room;
  api_fail(request, 404, NO_ROOM, "there is no room \"%.*s\"", (int)name.size,
           name.bytes);
  return NULL;
}

// Returns the peer of that name if exactly one exists, otherwise NULL. Sets `count` to
// the number of such peers.
static const Peer *find_name(const ApiRequest *request, Text name, uint32_t *count) {
  const Peer *peer, *found = NULL;
  *count = 0;
  for (uint32_t cursor = 0; (peer = session_next(session_of(request), &cursor));)
    if (peer_has_session(peer) && text_equals(peer_name(peer), name)) {
      found = peer;
      ++*count;
    }
  return *count == 1 ? found : NULL;
}

// Returns the peer whose number or name is in the path. If none exists, sends an error
// and returns NULL.
static const Peer *find_peer(const ApiRequest *request) {
  const char *text = (const char *)request->name.data;
  bool is_number = *text != '\0' && text[strspn(text, "0123456789")] == '\0';
  unsigned long id = is_number ? strtoul(text, NULL, 10) : 0;
  uint32_t count = 0;
  const Peer *peer =
      id <= UINT32_MAX ? session_find(session_of(request), (uint32_t)id) : NULL;
  if (peer == NULL || !peer_has_session(peer))
    peer = find_name(request, api_text(&request->name), &count);
  if (peer == NULL && count > 1)
    api_fail(request, 409, "Ambiguous", "%u peers are called %.64s; name one by its id",
             count, text);
  else if (peer == NULL)
    api_fail(request, 404, NO_PEER, "there is no peer %.64s", text);
  return peer;
}

// --- Pages ---

typedef struct Page {
  uint32_t limit, after;
  uint32_t count;  // entries on the page so far
  uint32_t next;   // start of the next page; 0: this page is the last
} Page;

static bool page_begin(const ApiRequest *request, Page *page) {
  *page = (Page){.limit = read_number(request, API_LIMIT, "limit", API_LIMIT_MAX,
                                      API_LIMIT_DEFAULT)};
  if (page->limit == 0) return false;
  bool has_after = api_has(request, API_AFTER);
  if (has_after) page->after = read_number(request, API_AFTER, "after", CURSOR_MAX, 0);
  return !has_after || page->after > 0;
}

// Begins an entry and returns true if the page has room for it. `cursor` is the
// position before the entry.
static bool page_takes(Page *page, Buf *json, uint32_t cursor) {
  bool is_full = page->count == page->limit || json->size >= API_PAGE_BYTES;
  if (is_full && page->count > 0) {
    page->next = cursor;
    return false;
  }
  if (page->count++ > 0) buf_u8(json, ',');
  return true;
}

static void page_end(const ApiRequest *request, const Page *page, Buf *json) {
  buf_printf(json, "],\"next\":");
  if (page->next > 0)
    buf_printf(json, "%u}", page->next);
  else
    buf_printf(json, "null}");
  api_answer(request, 200, json);
}

// Appends the peers of a room; if `room` is 0, all peers.
static void put_peers(const ApiRequest *request, Page *page, Buf *json, uint32_t room) {
  uint32_t cursor = page->after, before = cursor;
  const Peer *peer;
  for (; (peer = session_next(session_of(request), &cursor)); before = cursor) {
    bool is_wanted =
        peer_has_session(peer) && (room == 0 || relay_is_member(peer, room));
    if (!is_wanted) continue;
    if (!page_takes(page, json, before)) break;
    describe_peer(json, relay_of(request->self), peer);
  }
}

// --- Reads ---

static void list_rooms(ApiRequest *request) {
  Page page;
  Buf json = {0};
  if (!page_begin(request, &page)) return;
  const Relay *relay = relay_of(request->self);
  buf_printf(&json, "{\"count\":%u,\"rooms\":[", relay_stats(relay).rooms);
  uint32_t cursor = page.after, before = cursor;
  const Room *room;
  for (; (room = relay_next_room(relay, &cursor)); before = cursor) {
    if (room->state != ROOM_OPEN && room->state != ROOM_DELETED) continue;
    if (!page_takes(&page, &json, before)) break;
    buf_u8(&json, '{');
    describe_room(&json, room);
    buf_u8(&json, '}');
  }
  page_end(request, &page, &json);
}

static void show_room(ApiRequest *request) {
  Page page;
  Buf json = {0};
  const Room *room = find_room(request);
  if (room == NULL || !page_begin(request, &page)) return;
  buf_u8(&json, '{');
  describe_room(&json, room);
  buf_printf(&json, ",\"meta\":");
  describe_meta(&json, room, false);
  buf_printf(&json, ",\"public\":");
  describe_meta(&json, room, true);
  buf_printf(&json, ",\"members\":[");
  put_peers(request, &page, &json, room->id);
  page_end(request, &page, &json);
}

static void list_peers(ApiRequest *request) {
  Page page;
  Buf json = {0};
  if (!page_begin(request, &page)) return;
  const Session *session = session_of(request);
  buf_printf(&json, "{\"count\":%u,\"peers\":[",
             session_count(session) + session_stats(session).suspended_now);
  put_peers(request, &page, &json, 0);
  page_end(request, &page, &json);
}

static void show_peer(ApiRequest *request) {
  Buf json = {0};
  const Peer *peer = find_peer(request);
  if (peer == NULL) return;
  describe_peer(&json, relay_of(request->self), peer);
  api_answer(request, 200, &json);
}

static void put_figures(Buf *json, const Figure *figures, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    buf_printf(json, "%s\"%s\":%.15g", i > 0 ? "," : "", figures[i].name,
               figures[i].value);
}

static void show_stats(ApiRequest *request) {
  Buf json = {0};
  char name[GAME_NAME_SIZE];
  Figure figures[FIGURES_MAX];
  const Server *server = request->self->server;
  const Script *script = server->engine.script;
  game_name(name, server->options.game);
  buf_printf(&json, "{\"version\":\"" PERIGEE_VERSION "\",");
  describe_text(&json, "game", text_from(name));
  buf_printf(&json, ",\"port\":%u,\"pid\":%d,", server->port, (int)getpid());
  put_figures(&json, figures, figures_of_server(script, figures));
  buf_printf(&json, ",\"udp\":{");
  put_figures(&json, figures, figures_of_udp(script, figures));
  buf_printf(&json, "},\"store\":{");
  put_figures(&json, figures, figures_of_store(script, figures));
  buf_printf(&json, "}}");
  api_answer(request, 200, &json);
}

static void show_queues(ApiRequest *request) {
  Buf json = {0};
  Text queues = figures_of_queues(request->self->server->engine.script);
  if (queues.size == 0) queues = text_from("{\"count\":0,\"queues\":[]}");
  buf_append(&json, queues.bytes, queues.size);
  api_answer(request, 200, &json);
}

// --- Writes: orders, as a host program gives them ---

// Reads true or false. If the value is neither, sends an error and returns false.
static bool read_switch(const ApiRequest *request, ApiField field, const char *name,
                        bool *value) {
  *value = is_true(request, field);
  if (*value || strcmp((const char *)request->fields[field].data, "false") == 0)
    return true;
  api_fail(request, 400, "BadRequest", "%s must be true or false", name);
  return false;
}

// Reads a password of 1 to 64 bytes, or null for no password. If it is wrong, sends an
// error and returns false.
static bool read_password(const ApiRequest *request, RoomKind *values) {
  Text json = api_text(&request->fields[API_PASSWORD]);
  Buf password = {0};
  bool is_none = text_equals(json, text_from("null"));
  bool is_good = is_none || (json_read_text(json, &password) && password.size > 0 &&
                             password.size <= NAME_MAX_BYTES);
  values->has_password = !is_none;
  values->password = secret_of(password.data, password.size);
  buf_deinit(&password);
  if (!is_good)
    api_fail(request, 400, "BadRequest",
             "password must be a text of 1 to %d bytes, or null", NAME_MAX_BYTES);
  return is_good;
}

// Reads the settings of a room. If they are wrong, sends an error and returns false.
static bool read_settings(const ApiRequest *request, RoomSettings *settings) {
  *settings = (RoomSettings){0};
  RoomKind *values = &settings->values;
  const struct {
    ApiField field;
    const char *name;
    RoomSetting setting;
    bool *value;
  } SWITCHES[] = {{API_HIDDEN, "hidden", SETTING_HIDDEN, &values->is_hidden},
                  {API_LOCKED, "locked", SETTING_LOCKED, &values->is_locked}};
  for (size_t i = 0; i < sizeof SWITCHES / sizeof *SWITCHES; i++) {
    if (!api_has(request, SWITCHES[i].field)) continue;
    settings->given |= SWITCHES[i].setting;
    if (!read_switch(request, SWITCHES[i].field, SWITCHES[i].name, SWITCHES[i].value))
      return false;
  }
  if (api_has(request, API_PERMANENT)) {
    bool is_permanent;
    settings->given |= SETTING_KEEP;
    if (!read_switch(request, API_PERMANENT, "permanent", &is_permanent)) return false;
    values->keep = is_permanent ? KEEP_ALL : KEEP_NONE;
  }
  if (api_has(request, API_CAPACITY)) {
    settings->given |= SETTING_CAPACITY;
    values->capacity = read_number(request, API_CAPACITY, "capacity", CAPACITY_MAX, 0);
    if (values->capacity == 0) return false;
  }
  if (!api_has(request, API_PASSWORD)) return true;
  settings->given |= SETTING_PASSWORD;
  return read_password(request, values);
}

static void create_room(ApiRequest *request) {
  RoomSettings settings;
  Text name = api_text(&request->fields[API_NAME]);
  if (!text_is_name(name.bytes, name.size)) {
    api_fail(request, 400, "BadRequest", "name must be " TEXT_NAME_RULE);
    return;
  }
  if (!read_settings(request, &settings)) return;
  api_wait(request, library_room_create(request->self, NULL, name, &settings), 201,
           NO_ROOM);
}

static void delete_room(ApiRequest *request) {
  const Room *room = find_room(request);
  if (room == NULL) return;
  perigee_server_batch *batch = perigee_server_begin(request->self);
  perigee_server_room_delete(request->self, batch, room->id);
  api_wait(request, perigee_server_commit(batch), 200, NO_ROOM);
}

// Adds one member of `meta` to the batch. If it is invalid, sends an error and returns
// false.
static bool set_meta(const ApiRequest *request, perigee_server_batch *batch,
                     uint32_t room, Text key, Text value, bool is_public) {
  Buf name = {0}, text = {0};
  bool is_null = value.size == 4 && memcmp(value.bytes, "null", 4) == 0;
  bool is_good = json_read_text(key, &name) && name.size > 0 &&
                 name.size <= NAME_MAX_BYTES &&
                 (is_null || json_read_text(value, &text)) &&
                 memchr(name.data, '\0', name.size) == NULL &&
                 (text.size == 0 || memchr(text.data, '\0', text.size) == NULL);
  buf_u8(&name, '\0');
  buf_u8(&text, '\0');
  if (is_good)
    library_room_meta(request->self, batch, room, (char *)name.data,
                      is_null ? NULL : (char *)text.data, is_public);
  else
    api_fail(request, 400, "BadRequest",
             "meta has texts, or null, under keys of 1 to %d bytes", NAME_MAX_BYTES);
  buf_deinit(&name);
  buf_deinit(&text);
  return is_good;
}

// Adds the members of `meta` or `public`, if given, to the batch. If one is invalid,
// sends an error and returns false.
static bool set_metas(const ApiRequest *request, perigee_server_batch *batch,
                      uint32_t room, bool is_public) {
  ApiField field = is_public ? API_PUBLIC : API_META;
  Text key, value, meta = api_text(&request->fields[field]);
  if (!api_has(request, field)) return true;
  if (meta.bytes[0] != '{') {
    api_fail(request, 400, "BadRequest", "%s must be an object",
             is_public ? "public" : "meta");
    return false;
  }
  for (uint32_t at = 0; json_next(meta, &at, &key, &value);)
    if (!set_meta(request, batch, room, key, value, is_public)) return false;
  return true;
}

static void change_room(ApiRequest *request) {
  RoomSettings settings;
  const Room *room = find_room(request);
  if (room == NULL || !read_settings(request, &settings)) return;
  if (settings.given == 0 && !api_has(request, API_META) &&
      !api_has(request, API_PUBLIC)) {
    api_fail(request, 400, "BadRequest", "meta, public or a setting is missing");
    return;
  }
  perigee_server_batch *batch = perigee_server_begin(request->self);
  if (settings.given != 0) library_room_set(request->self, batch, room->id, &settings);
  if (set_metas(request, batch, room->id, false) &&
      set_metas(request, batch, room->id, true))
    api_wait(request, perigee_server_commit(batch), 200, NO_ROOM);
  else
    perigee_server_cancel(batch);
}

static void broadcast(ApiRequest *request) {
  Text data = api_text(&request->fields[API_DATA]);
  const Room *room = find_room(request);
  if (room == NULL) return;
  if (api_has(request, API_DATA) == api_has(request, API_MESSAGE) ||
      (api_has(request, API_DATA) && api_has(request, API_VALUE))) {
    api_fail(request, 400, "BadRequest",
             "a broadcast has either data, a text, or message, a name, and its value");
    return;
  }
  perigee_server_target target = {.kind = PERIGEE_SERVER_TO_ROOM, .id = room->id};
  unsigned flags = is_true(request, API_RELIABLE) ? PERIGEE_SERVER_RELIABLE : 0;
  perigee_server_batch *batch = perigee_server_begin(request->self);
  if (api_has(request, API_DATA))
    perigee_server_relay(request->self, batch, &target, data.bytes, data.size, flags);
  else
    perigee_server_send(request->self, batch, &target,
                        (const char *)request->fields[API_MESSAGE].data,
                        (const char *)request->fields[API_VALUE].data, flags);
  api_wait(request, perigee_server_commit(batch), 200, NO_ROOM);
}

static void kick(ApiRequest *request) {
  const Peer *peer = find_peer(request);
  const char *reason = peer != NULL ? read_reason(request, "") : NULL;
  if (reason == NULL) return;
  perigee_server_batch *batch = perigee_server_begin(request->self);
  perigee_server_kick(request->self, batch, peer->id, reason);
  api_wait(request, perigee_server_commit(batch), 200, NO_PEER);
}

static void reload(ApiRequest *request) {
  api_wait(request, library_reload(request->self, is_true(request, API_FORCE)), 200,
           "");
}

static void stop(ApiRequest *request) {
  Buf json = {0};
  const char *reason =
      read_reason(request, request->client.is_control ? "perigee stop" : "control API");
  if (reason == NULL) return;
  buf_printf(&json, "{}");
  api_answer(request, 200, &json);
  perigee_server_stop(request->self, reason);
}

// --- Profiles ---

static void begin_profile(ApiRequest *request) {
  enum { SECONDS = 10, SECONDS_MAX = 600 };
  Script *script = request->self->server->engine.script;
  uint32_t seconds = read_number(request, API_SECONDS, "seconds", SECONDS_MAX, SECONDS);
  Buf json = {0};
  if (seconds == 0) return;
  if (!script_is_loaded(script)) {
    api_fail(request, 409, "Refused", "this server has no game to profile");
  } else if (!script_profile_begin(script, seconds, is_true(request, API_MEMORY))) {
    api_fail(request, 409, "Refused",
             "a profile is running; DELETE /api/profile ends it");
  } else {
    buf_printf(&json, "{}");
    api_answer(request, 201, &json);
  }
}

// Answers with the last profile. DELETE also ends it.
static void show_profile(ApiRequest *request) {
  Script *script = request->self->server->engine.script;
  Buf json = {0};
  bool ends = text_equals(request->method, text_from("DELETE"));
  if (script_profile_put(script, ends, &json))
    api_answer(request, 200, &json);
  else
    api_fail(request, 404, "NotFound",
             "there is no profile; POST /api/profile begins one");
}

// --- The table of routes ---

enum {
  PAGED = 1 << API_LIMIT | 1 << API_AFTER,
  NAME = 1 << API_NAME,
  META = 1 << API_META | 1 << API_PUBLIC,
  SETTINGS = 1 << API_HIDDEN | 1 << API_LOCKED | 1 << API_PERMANENT |
             1 << API_CAPACITY | 1 << API_PASSWORD,
  BROADCAST = 1 << API_DATA | 1 << API_MESSAGE | 1 << API_VALUE | 1 << API_RELIABLE,
  REASON = 1 << API_REASON,
  FORCE = 1 << API_FORCE,
  PROFILE = 1 << API_SECONDS | 1 << API_MEMORY,
};

const ApiRoute API_ROUTES[] = {
    {"GET", "rooms", PAGED, 0, false, list_rooms},
    {"POST", "rooms", NAME | SETTINGS, NAME, true, create_room},
    {"GET", "rooms/*", PAGED, 0, false, show_room},
    {"POST", "rooms/*", META | SETTINGS, 0, true, change_room},
    {"DELETE", "rooms/*", 0, 0, true, delete_room},
    {"POST", "rooms/*/broadcast", BROADCAST, 0, true, broadcast},
    {"GET", "peers", PAGED, 0, false, list_peers},
    {"GET", "peers/*", 0, 0, false, show_peer},
    {"DELETE", "peers/*", REASON, 0, true, kick},
    {"GET", "queues", 0, 0, false, show_queues},
    {"GET", "stats", 0, 0, false, show_stats},
    {"POST", "profile", PROFILE, 0, true, begin_profile},
    {"GET", "profile", 0, 0, false, show_profile},
    {"DELETE", "profile", 0, 0, true, show_profile},
    {"POST", "login", 0, 0, false, api_make_login},
    {"POST", "reload", FORCE, 0, true, reload},
    {"POST", "stop", REASON, 0, true, stop},
    {0},
};
