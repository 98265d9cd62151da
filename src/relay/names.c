// New names of peers. A handler gives a name with peer:set_name, which reserves the
// name until COMMAND_RENAME is carried out. Text peers request a name with /name.

#include "base/err.h"
#include "relay/internal.h"
#include "relay/notify.h"

// A name that the running handler has given, in relay->handler.names.
typedef struct Reserved {
  uint32_t peer;
  uint8_t size;
  char name[NAME_MAX_BYTES];
} Reserved;

static Text name_of(const Reserved *entry) { return (Text){entry->name, entry->size}; }

static const Reserved *reserved_at(const Relay *relay, size_t at) {
  return (const Reserved *)(const void *)(relay->handler.names.data + at);
}

void name_release(Relay *relay, const Command *command) {
  session_reserve_name(relay->session, command->flags, command->name, -1);
}

Text relay_peer_name(const Relay *relay, const Peer *peer) {
  for (size_t at = relay->handler.names.size; at > 0;) {
    at -= sizeof(Reserved);
    const Reserved *entry = reserved_at(relay, at);
    if (entry->peer == peer->id) return name_of(entry);
  }
  return peer_name(peer);
}

static int check(const Relay *relay, const Peer *peer, Text name) {
  uint32_t reserved = 0;
  for (size_t at = 0; at < relay->handler.names.size; at += sizeof(Reserved)) {
    const Reserved *entry = reserved_at(relay, at);
    reserved += entry->peer == peer->id && text_equals(name_of(entry), name);
  }
  return session_check_name(relay->session, peer, name, reserved);
}

// --- By a handler ---

int relay_rename(Relay *relay, uint32_t id, Text name) {
  const Peer *peer = session_find(relay->session, id);
  if (!peer || (!peer_has_session(peer) && peer->state != PEER_CONNECTING))
    return ERR_NOT_FOUND;
  int err = check(relay, peer, name);
  if (err != 0 || text_equals(relay_peer_name(relay, peer), name)) return err;
  Reserved entry = {.peer = id, .size = (uint8_t)name.size};
  memcpy(entry.name, name.bytes, name.size);
  buf_append(&relay->handler.names, &entry, sizeof entry);
  session_reserve_name(relay->session, peer->framing, name, 1);
  commands_push(
      &relay->handler.commands,
      &(Command){
          .type = COMMAND_RENAME, .flags = peer->framing, .id = id, .name = name});
  return 0;
}

void name_set(Relay *relay, Peer *peer, Text name) {
  if (relay->keep) relay->keep(relay->host_data, peer);
  notify_name(relay, peer, name);
  session_rename(relay->session, peer, name);
}

bool relay_name_is_free(const Relay *relay, uint32_t id, Text name) {
  const Peer *peer = session_find(relay->session, id);
  if (!peer) return true;
  return check(relay, peer, name.size > 0 ? name : relay_peer_name(relay, peer)) == 0;
}

// --- By a text peer ---

// Returns whether the peer may have the name; sends it an error if not.
static bool may_have(Relay *relay, Peer *peer, Text name) {
  int err = check(relay, peer, name);
  if (err == ERR_EXISTS)
    session_error(relay->session, peer, NULL, CODE_REJECTED, NAME_IN_USE_TEXT);
  else if (err != 0)
    session_error(relay->session, peer, NULL, CODE_PROTOCOL,
                  "names are " TEXT_PEER_NAME_RULE);
  return err == 0;
}

void name_request(Relay *relay, Peer *peer, Text name) {
  if (!may_have(relay, peer, name)) return;
  if (relay->game_hooks & HOOK_RENAME)
    relay_emit(relay, &(Event){.type = EVENT_RENAME, .peer = peer->id, .data = name});
  else if (peer->relay.has_joined)
    session_error(relay->session, peer, NULL, CODE_REJECTED,
                  "a name can be changed before the first join only");
  else
    name_set(relay, peer, name);
}

// Gives the peer its new name. Checks the name again, because another peer may have got
// it meanwhile.
void relay_allow_name(Relay *relay, const Event *event) {
  Peer *peer = session_find(relay->session, event->peer);
  if (peer && peer_has_session(peer) && may_have(relay, peer, event->data))
    name_set(relay, peer, event->data);
}
