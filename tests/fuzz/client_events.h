// Handles the events of a client as a program would.
#pragma once

#include <perigee.h>
#include <stdlib.h>
#include <string.h>

// Reads all data of an event.
static inline size_t weigh(const PerigeeClient *client, const PerigeeEvent *event) {
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

static volatile size_t weighed;  // the compiler must not leave out the reads

// Takes all events, and answers requests.
static inline void take_events(PerigeeClient *client) {
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
