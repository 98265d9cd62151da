// Handles the lines of text peers (docs/protocol.md, section 6).

#include "wire/line.h"

#include <string.h>

#include "relay/internal.h"
#include "relay/notify.h"

// Handles /leave. Searches the peer's own rooms, because a deleted room has lost its
// name.
static void on_leave(Relay *relay, Peer *peer, Text name) {
  for (uint32_t i = peer->relay.room_count; i-- > 0;) {
    Room *room = relay_room(relay, peer->relay.rooms[i].room);
    if (!text_equals(room_name(room), name)) continue;
    leave_room(relay, peer, room, &(Leave){.code = CODE_CLOSED});
    return;
  }
  session_error(relay->session, peer, NULL, CODE_NOT_IN_ROOM,
                "you are not in this room");
}

// Sets *room to the room that gets a peer's lines (NULL: none). Returns false after an
// ERROR.
static bool find_room(Relay *relay, Peer *peer, Room **room) {
  *room = NULL;
  if (peer->relay.last_room == 0) return true;
  *room = member_room(relay, peer, peer->relay.last_room, NULL);
  return *room != NULL;
}

static void on_send(Relay *relay, Peer *peer, Text name, Text json) {
  relay->stats.messages_in++;
  Room *room;
  if (!text_is_name(name.bytes, name.size) || memchr(name.bytes, '"', name.size) ||
      memchr(name.bytes, '\\', name.size)) {
    session_error(relay->session, peer, NULL, CODE_PROTOCOL,
                  "message names have no quotes, backslashes or control characters");
    return;
  }
  if (!find_room(relay, peer, &room)) return;
  if (!relay_has_hook(relay, room, HOOK_MESSAGE)) {
    session_error(relay->session, peer, NULL, CODE_UNSUPPORTED,
                  "no handler for messages");
    return;
  }
  Buf *body = &relay->scratch;
  body->size = 0;
  buf_printf(body, "[\"%.*s\",", (int)name.size, name.bytes);
  buf_append(body, json.size ? json.bytes : "null", json.size ? json.size : 4);
  buf_u8(body, ']');
  relay_emit(relay, &(Event){.type = EVENT_MESSAGE,
                             .priority = PRIORITY_NORMAL,
                             .channel = CHANNEL_MESSAGE,
                             .peer = peer->id,
                             .room = room ? room->id : 0,
                             .data = {(const char *)body->data, (uint32_t)body->size}});
}

static void on_text(Relay *relay, Peer *peer, Text text) {
  Room *room;
  bool has_commands = session_has_text_commands(relay->session);
  if (text.size == 0 && has_commands) return;
  relay->stats.messages_in++;
  if (!find_room(relay, peer, &room)) return;
  if (relay_has_hook(relay, room, HOOK_TEXT))
    relay_emit(relay, &(Event){.type = EVENT_TEXT,
                               .priority = PRIORITY_NORMAL,
                               .peer = peer->id,
                               .room = room ? room->id : 0,
                               .data = text});
  else if (room)
    broadcast_from(relay, peer, room, &NO_REQUEST, text);
  else
    session_error(relay->session, peer, NULL, CODE_NOT_IN_ROOM,
                  has_commands ? "join a room first, with /join ROOM"
                               : "no handler takes text, and you are in no room");
}

static void explain(Relay *relay, Peer *peer, const char *what, Text word,
                    const char *then) {
  Buf *buf = &relay->scratch;
  buf->size = 0;
  buf_printf(buf, "%s%.*s%s; try " TEXT_COMMANDS, what,
             word.size > 64 ? 64 : (int)word.size, word.bytes, then);
  buf_u8(buf, 0);
  session_error(relay->session, peer, NULL, CODE_UNSUPPORTED, (const char *)buf->data);
}

void relay_line(Relay *relay, Peer *peer, Text text) {
  if (peer->is_bot || !session_has_text_commands(relay->session)) {
    on_text(relay, peer, text);
    return;
  }
  Line line = line_read(text.bytes, text.size);
  switch (line.verb) {
    case LINE_TEXT:
      on_text(relay, peer, line.rest);
      break;
    case LINE_JOIN:
      join_by_name(relay, peer, line.word, (Text){0}, &NO_REQUEST);
      break;
    case LINE_JOIN_WITH:
      join_with_options(relay, peer, line.word, line.rest, &NO_REQUEST);
      break;
    case LINE_LEAVE:
      on_leave(relay, peer, line.word);
      break;
    case LINE_ROOMS:
      if (line.rest.size > 0)
        notify_query(relay, peer, line.rest, NULL);
      else
        notify_rooms(relay, peer, NULL);
      break;
    case LINE_NAME:
      name_request(relay, peer, line.word);
      break;
    case LINE_SEND:
      on_send(relay, peer, line.word, line.rest);
      break;
    case LINE_LOGIN:
      session_error(relay->session, peer, NULL, CODE_REJECTED,
                    "/login is for the first line of a server with accounts");
      break;
    case LINE_QUIT:
      session_kick(relay->session, peer, CODE_CLOSED, NULL);
      break;
    case LINE_INCOMPLETE:
      explain(relay, peer, "", line.word, " needs a word");
      break;
    case LINE_UNKNOWN:
      explain(relay, peer, "unknown command ", line.word, "");
      break;
  }
}
