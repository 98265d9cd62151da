// What a server may send to the client in C: nothing of it does harm, and every event that it makes
// can be read. The first byte says how much of the rest comes on the first connection; what is left
// comes on the next one, where there is one.
#include <perigee.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// Reads all that an event offers.
static size_t weigh(const PerigeeClient *client, const PerigeeEvent *event) {
  size_t sum = strlen(event->name) + strlen(event->text);
  for (size_t i = 0; i < event->size; i++) sum += event->data[i];
  if (event->data[event->size] != 0) abort();
  for (uint32_t i = 0; i < event->count && event->rooms; i++)
    sum += strlen(event->rooms[i].name) + event->rooms[i].members;
  for (uint32_t i = 0; i < event->entry_count; i++) {
    const PerigeeEntry *entry = &event->entries[i];
    for (size_t n = 0; n < entry->size; n++) sum += entry->data[n];
  }
  for (uint32_t i = 0; i < perigee_member_count(client, event->room); i++) {
    uint32_t peer = perigee_member(client, event->room, i);
    sum += strlen(perigee_member_name(client, event->room, peer));
  }
  return sum;
}

static volatile size_t weighed;  // so that every byte is read

static void feed(PerigeeClient *client, const uint8_t *bytes, size_t size) {
  perigee_receive(client, bytes, size, 0);
  const PerigeeEvent *event;
  while ((event = perigee_next_event(client)) != NULL) {
    weighed += weigh(client, event);
    if (event->is_question) {
      perigee_answer(client, &event->question, event->name, "1");
      perigee_answer_bytes(client, &event->question, "1", 1);
    }
    if (event->type == PERIGEE_JOINED && event->request != 0)
      perigee_lockstep_enter(client, event->room, PERIGEE_GIVES_SNAPSHOTS, NULL);
    else if (event->type == PERIGEE_JOINED)
      perigee_leave(client, event->room);
    if (event->type == PERIGEE_TURN)
      perigee_lockstep_done(client, event->room, event->count, 1);
    if (event->type == PERIGEE_SNAPSHOT_WANTED)
      perigee_lockstep_snapshot(client, event->room, event->count, "1", 1);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0) return 0;
  PerigeeClient *client = perigee_new(NULL, 0, NULL);
  perigee_join(client, "a", 0);
  perigee_ask(client, 0, "a", NULL, 0);
  perigee_list_rooms(client, 0);
  perigee_open_channel(client, "a", 0);
  perigee_ask_packet(client, 3000, 1, NULL, 0, 0);
  perigee_connection_opened(client, 0);
  size_t first = (size - 1) * bytes[0] / 255;
  feed(client, bytes + 1, first);
  if (perigee_state(client) == PERIGEE_STATE_OPEN) {
    perigee_connection_ended(client, PERIGEE_CONNECTION_RESET, "cut", 0);
    perigee_advance(client, 1000000);
    perigee_connection_opened(client, 1000000);
    feed(client, bytes + 1 + first, size - 1 - first);
  }
  perigee_free(client);
  return 0;
}
