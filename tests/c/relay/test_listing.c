// Queries of rooms: their results, the order of results, and the limit of work of one
// query.
#include "relay/listing.h"

#include "world.h"

static void set(World *world, uint32_t room, RoomSettings settings) {
  command(world, (Command){.type = COMMAND_ROOM_SET,
                           .id = room,
                           .body = {(const char *)&settings, sizeof settings}});
  relay_commit(world->relay);
}

static void set_meta(World *world, uint32_t room, const char *key, const char *json,
                     uint8_t flags) {
  command(world, (Command){.type = COMMAND_ROOM_META,
                           .id = room,
                           .name = text_from(key),
                           .body = text_from(json),
                           .flags = flags});
  relay_commit(world->relay);
}

// Returns the names that a query finds. A slash and the name for the next page follow.
static const char *find(World *world, const char *json) {
  static char names[4096];
  size_t size = 0;
  RoomQuery query;
  const char *wrong = query_read(&query, text_from(json));
  names[0] = '\0';
  if (wrong) snprintf(names, sizeof names, "! %s", wrong);
  const Room *room;
  while (!wrong && (room = query_next(world->relay, &query)))
    size += (size_t)snprintf(names + size, sizeof names - size, "%s%.*s",
                             size > 0 ? " " : "", (int)room->name_size, room->name);
  if (!wrong && query.at.size > 0)
    snprintf(names + size, sizeof names - size, "/%.*s", (int)query.at.size,
             (const char *)query.at.data);
  query_deinit(&query);
  return names;
}

static void rooms_come_in_the_order_of_their_names(void **state) {
  World *world = *state;
  static const char *const NAMES[] = {"duel:2", "lobby",  "duel",
                                      "duel!",  "duel:1", "duels:1"};
  for (size_t i = 0; i < 6; i++) create(world, NAMES[i]);
  assert_string_equal(find(world, "{}"), "duel duel! duel:1 duel:2 duels:1 lobby");
  assert_string_equal(find(world, "{\"kind\":\"duel\"}"), "duel duel:1 duel:2");
  assert_string_equal(find(world, "{\"kind\":\"du\"}"), "");
  assert_string_equal(find(world, "{\"kind\":\"duels\"}"), "duels:1");
  assert_string_equal(find(world, "{\"kind\":\"duel!\"}"), "duel!");
  assert_string_equal(find(world, "{\"kind\":\"duel\",\"limit\":1}"), "duel/duel");
  assert_string_equal(find(world, "{\"kind\":\"duel\",\"limit\":1,\"after\":\"duel\"}"),
                      "duel:1/duel:1");
  assert_string_equal(find(world, "{\"kind\":\"duel\",\"after\":\"duel!\"}"),
                      "duel:1 duel:2");
  assert_string_equal(
      find(world, "{\"kind\":\"duel\",\"after\":\"duel:1\",\"limit\":1}"), "duel:2");
  assert_string_equal(find(world, "{\"kind\":\"duel\",\"after\":\"duel:15\"}"),
                      "duel:2");
  assert_string_equal(find(world, "{\"kind\":\"duel\",\"after\":\"a\"}"),
                      "duel duel:1 duel:2");
  assert_string_equal(find(world, "{\"kind\":\"duel\",\"after\":\"x\"}"), "");
  assert_string_equal(find(world, "{\"after\":\"duel:2\",\"limit\":2}"),
                      "duels:1 lobby");
}

static void only_open_rooms_that_are_not_hidden_are_listed(void **state) {
  World *world = *state;
  uint32_t a = create(world, "a"), b = create(world, "b");
  create(world, "c");
  set(world, b, (RoomSettings){SETTING_HIDDEN, {.is_hidden = true}});
  assert_string_equal(find(world, "{}"), "a c");
  assert_string_equal(find(world, "{\"limit\":1}"), "a/a");
  set(world, b, (RoomSettings){SETTING_HIDDEN, {.is_hidden = false}});
  Client ann = enter(world, "ann");
  join(world, ann, "a");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = a});
  relay_commit(world->relay);
  assert_string_equal(find(world, "{}"), "b c");
  script(world, 0, &(RoomKind){.is_hidden = true});
  create(world, "duel:1");
  assert_string_equal(find(world, "{}"), "b c");
  script(world, 0, &(RoomKind){.is_hidden = false});
  assert_string_equal(find(world, "{}"), "b c duel:1");
}

static void open_rooms_are_neither_full_nor_locked_and_need_no_password(void **state) {
  World *world = *state;
  uint32_t full = create(world, "full"), locked = create(world, "locked"),
           secret = create(world, "secret");
  create(world, "open");
  set(world, full, (RoomSettings){SETTING_CAPACITY, {.capacity = 1}});
  set(world, locked, (RoomSettings){SETTING_LOCKED, {.is_locked = true}});
  set(world, secret, (RoomSettings){SETTING_PASSWORD, {.has_password = true}});
  assert_string_equal(find(world, "{\"open\":true}"), "full open");
  join(world, enter(world, "ann"), "full");
  assert_string_equal(find(world, "{\"open\":true}"), "open");
  assert_string_equal(find(world, "{\"open\":false}"), "full locked open secret");
}

static void meta_matches_by_value_where_it_is_public(void **state) {
  World *world = *state;
  uint32_t a = create(world, "a"), b = create(world, "b");
  set_meta(world, a, "map", "\"ice\"", META_SETS | META_PUBLIC);
  set_meta(world, a, "level", "3", META_SETS | META_PUBLIC);
  set_meta(world, a, "ranked", "true", META_SETS | META_PUBLIC);
  set_meta(world, b, "map", "\"ice\"", META_SETS);
  assert_string_equal(find(world, "{\"meta\":{\"map\":\"ice\"}}"), "a");
  assert_string_equal(find(world, "{\"meta\":{\"map\":\"\\u0069ce\",\"level\":3.0}}"),
                      "a");
  assert_string_equal(find(world, "{\"meta\":{\"ranked\":true,\"level\":0.3e1}}"), "a");
  assert_string_equal(find(world, "{\"meta\":{\"ranked\":false}}"), "");
  assert_string_equal(find(world, "{\"meta\":{\"level\":\"3\"}}"), "");
  assert_string_equal(find(world, "{\"meta\":{\"map\":3}}"), "");
  assert_string_equal(find(world, "{\"meta\":{\"map\":true}}"), "");
  assert_string_equal(find(world, "{\"meta\":{\"none\":1}}"), "");
  assert_string_equal(find(world, "{\"meta\":{}}"), "a b");
  set_meta(world, b, "map", "\"ice\"", META_SETS | META_PUBLIC);
  assert_string_equal(find(world, "{\"meta\":{\"map\":\"ice\"}}"), "a b");
  set_meta(world, a, "map", "\"ice\"", META_SETS);  // no longer public
  assert_string_equal(find(world, "{\"meta\":{\"map\":\"ice\"}}"), "b");
}

static void wrong_queries_say_what_is_wrong(void **state) {
  static const char *const WRONG[][2] = {
      {"", "! a query is a JSON object"},
      {"[]", "! a query is a JSON object"},
      {"{", "! a query is a JSON object"},
      {"{\"kind\":1}", "! kind must be a text"},
      {"{\"after\":null}", "! after must be a text"},
      {"{\"open\":1}", "! open must be true or false"},
      {"{\"limit\":0}", "! limit must be a whole number from 1"},
      {"{\"limit\":-1}", "! limit must be a whole number from 1"},
      {"{\"limit\":1.5}", "! limit must be a whole number from 1"},
      {"{\"limit\":\"1\"}", "! limit must be a whole number from 1"},
      {"{\"limit\":[]}", "! limit must be a whole number from 1"},
      {"{\"meta\":[]}", "! meta must be an object"},
      {"{\"meta\":{\"a\":null}}",
       "! the values of meta are texts, numbers, true or false"},
      {"{\"meta\":{\"a\":{}}}",
       "! the values of meta are texts, numbers, true or false"},
      {"{\"meta\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,"
       "\"i\":1}}",
       "! meta has at most 8 keys"},
      {"{\"name\":\"a\"}", "! a query has kind, open, meta, limit and after"},
  };
  World *world = *state;
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
    assert_string_equal(find(world, WRONG[i][0]), WRONG[i][1]);
  char nested[5000];
  memset(nested, '[', sizeof nested);
  memcpy(nested, "{\"kind\":", 8);
  nested[4999] = '\0';
  assert_string_equal(find(world, nested), "! a query has at most 4096 bytes");
  nested[4096] = '\0';
  assert_string_equal(find(world, nested), "! a query is a JSON object");
  assert_string_equal(find(world, "{\"limit\":99999999999999999999}"), "");
  assert_string_equal(
      find(world, "{\"meta\":{\"a\":1},\"meta\":{},\"kind\":\"x\",\"kind\":\"y\"}"),
      "");
}

static void clients_get_pages_of_json(void **state) {
  World *world = *state;
  uint32_t a = create(world, "a\"b"), b = create(world, "duel:1");
  set_meta(world, a, "map", "\"ice\"", META_SETS | META_PUBLIC);
  set_meta(world, a, "secret", "1", META_SETS);
  Client ann = enter(world, "ann");
  join(world, ann, "duel:1");
  set(world, b,
      (RoomSettings){SETTING_CAPACITY | SETTING_LOCKED,
                     {.capacity = 4, .is_locked = true}});
  Buf query = {0};
  buf_printf(&query, "{\"limit\":1}");
  say(world->net, ann.conn, asking(control(CONTROL_ROOM_QUERY), 7), &query);
  const Sent *sent = expect_control(world->net, ann.conn, CONTROL_ROOMS_META);
  expect_answer(sent, 7);
  expect_data(
      sent, NULL, 0,
      "{\"rooms\":[{\"name\":\"a\\\"b\",\"kind\":\"a\\\"b\",\"count\":0,"
      "\"present\":0,\"locked\":false,\"password\":false,\"meta\":{\"map\":\"ice\"}}],"
      "\"next\":\"a\\\"b\"}");
  query = (Buf){0};
  buf_printf(&query, "{\"after\":\"a\\\"b\"}");
  say(world->net, ann.conn, control(CONTROL_ROOM_QUERY), &query);
  sent = expect_control(world->net, ann.conn, CONTROL_ROOMS_META);
  expect_data(
      sent, NULL, 0,
      "{\"rooms\":[{\"name\":\"duel:1\",\"kind\":\"duel\",\"count\":1,\"present\":1,"
      "\"capacity\":4,\"locked\":true,\"password\":false,\"meta\":{}}],\"next\":null}");
  query = (Buf){0};
  buf_printf(&query, "[]");
  say(world->net, ann.conn, control(CONTROL_ROOM_QUERY), &query);
  expect_error(world, ann, CODE_PROTOCOL);
  Client guest = enter_text(world);
  type_line(world, guest, "/rooms {\"limit\": 1}");
  expect_line(world->net, guest.conn, "* rooms: a\"b (0), ...");
  type_line(world, guest, "/rooms {\"kind\":\"duel\"}");
  expect_line(world->net, guest.conn, "* rooms: duel:1 (1)");
  type_line(world, guest, "/rooms {\"kind\":");
  expect_line(world->net, guest.conn, "! Protocol: a query is a JSON object");
}

static size_t count_names(World *world, Client client, const char *json, char *next,
                          size_t next_size) {
  Buf query = {0};
  buf_printf(&query, "%s", json);
  say(world->net, client.conn, control(CONTROL_ROOM_QUERY), &query);
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_ROOMS_META);
  assert_true(sent->packet.length <= (64 << 10));
  char *text = mem_zalloc(sent->packet.length + 1);
  memcpy(text, sent->packet.payload, sent->packet.length);
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, "{\"name\":")); at++) count++;
  const char *end = strstr(text, "],\"next\":");
  assert_non_null(end);
  snprintf(next, next_size, "%s", end + 9);
  mem_free(text);
  return count;
}

// Rooms with the most public meta: each page has the rooms that fit, and no room is
// left out.
static void pages_end_before_they_are_too_large(void **state) {
  World *world = *state;
  char big[ROOM_PUBLIC_BYTES], next[200], json[300] = "{}";
  snprintf(big, sizeof big, "\"%0*d\"", ROOM_PUBLIC_BYTES - 16, 0);
  world->limits.max_rooms = 100;
  relay_set_limits(world->relay, &world->limits);
  for (int i = 0; i < 40; i++) {
    char name[20];
    snprintf(name, sizeof name, "room %02d", i);
    set_meta(world, create(world, name), "k", big, META_SETS | META_PUBLIC);
  }
  Client ann = enter(world, "ann");
  size_t count = 0, pages = 0;
  for (;; pages++) {
    count += count_names(world, ann, json, next, sizeof next);
    if (strcmp(next, "null}") == 0) break;
    next[strlen(next) - 1] = '\0';
    snprintf(json, sizeof json, "{\"after\":%s}", next);
  }
  assert_int_equal(count, 40);
  assert_true(pages >= 2 && pages <= 4);
}

static void public_meta_has_a_limit(void **state) {
  World *world = *state;
  uint32_t room = create(world, "lobby");
  char big[ROOM_PUBLIC_BYTES];
  snprintf(big, sizeof big, "\"%0*d\"", ROOM_PUBLIC_BYTES - 16, 0);
  Command meta = {.type = COMMAND_ROOM_META,
                  .id = room,
                  .name = text_from("a"),
                  .body = text_from(big),
                  .flags = META_SETS | META_PUBLIC};
  command(world, meta);
  meta.name = text_from("b");
  assert_int_equal(relay_command(world->relay, &meta), ERR_FULL);
  relay_commit(world->relay);
  assert_int_equal(relay_command(world->relay, &meta), ERR_FULL);
  meta.flags = META_SETS;
  command(world, meta);
  meta.name = text_from("a");
  meta.flags = META_SETS | META_PUBLIC;
  command(world, meta);
  relay_commit(world->relay);
  assert_int_equal(relay_room(world->relay, room)->queued_public, 0);
}

// 100,000 rooms of which none matches: each query does a limited amount of work.
static void a_query_among_many_rooms_looks_at_some_thousand(void **state) {
  World *world = *state;
  world->limits.max_rooms = 100000;
  relay_set_limits(world->relay, &world->limits);
  char name[20], json[200] = "{\"open\":true,\"meta\":{\"map\":\"ice\"}}";
  for (int i = 0; i < 100000; i++) {
    snprintf(name, sizeof name, "duel:%05d", i);
    create(world, name);
  }
  int queries = 0;
  for (const char *found; (found = find(world, json))[0] == '/'; queries++) {
    int number;
    assert_int_equal(sscanf(found, "/duel:%d", &number), 1);
    assert_int_equal(number + 1, (queries + 1) * QUERY_WORK);
    snprintf(json, sizeof json,
             "{\"open\":true,\"meta\":{\"map\":\"ice\"},\"after\":\"duel:%05d\"}",
             number);
  }
  assert_int_equal(queries, (100000 - 1) / QUERY_WORK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(rooms_come_in_the_order_of_their_names),
      TEST(only_open_rooms_that_are_not_hidden_are_listed),
      TEST(open_rooms_are_neither_full_nor_locked_and_need_no_password),
      TEST(meta_matches_by_value_where_it_is_public),
      TEST(wrong_queries_say_what_is_wrong),
      TEST(clients_get_pages_of_json),
      TEST(pages_end_before_they_are_too_large),
      TEST(public_meta_has_a_limit),
      TEST(a_query_among_many_rooms_looks_at_some_thousand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
