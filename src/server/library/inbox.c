// Events for a thread of the host. Each event is one block of memory: the event, then
// its texts, each with a NUL. While the queue is full, the loop takes no events of the
// relay, so clients are throttled. Lines of the log are then dropped.
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "server/library/library.h"

enum { EVENTS_MAX = 4096, BYTES_MAX = 8 << 20 };

typedef struct InboxEvent {
  perigee_server_event event;  // must be the first field, because the host has its
                               // address
  struct InboxEvent *next;
  size_t size;
  char texts[];
} InboxEvent;

void inbox_init(Inbox *inbox) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&inbox->lock, NULL);
  pthread_cond_init(&inbox->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  inbox->end = &inbox->first;
}

void inbox_deinit(Inbox *inbox) {
  while (inbox->first != NULL) {
    InboxEvent *event = inbox->first;
    inbox->first = event->next;
    mem_free(event);
  }
  pthread_cond_destroy(&inbox->changed);
  pthread_mutex_destroy(&inbox->lock);
}

static perigee_server_text *texts_of(perigee_server_event *event, int index) {
  perigee_server_text *texts[] = {&event->peer_name, &event->room_name, &event->address,
                                  &event->transport, &event->auth,      &event->name,
                                  &event->text,      &event->data};
  return index < (int)(sizeof texts / sizeof *texts) ? texts[index] : NULL;
}

static InboxEvent *copy(const perigee_server_event *event) {
  perigee_server_event source = *event;
  size_t size = 0;
  perigee_server_text *text;
  for (int i = 0; (text = texts_of(&source, i)) != NULL; i++) size += text->size + 1;
  InboxEvent *made = mem_alloc(sizeof *made + size);
  *made = (InboxEvent){.event = source, .size = sizeof *made + size};
  char *at = made->texts;
  for (int i = 0; (text = texts_of(&made->event, i)) != NULL; i++) {
    if (text->size > 0) memcpy(at, text->bytes, text->size);
    at[text->size] = '\0';
    text->bytes = at;
    at += text->size + 1;
  }
  return made;
}

static bool is_full(const Inbox *inbox) {
  return inbox->count >= EVENTS_MAX || inbox->bytes >= BYTES_MAX;
}

void inbox_push(perigee_server *self, const perigee_server_event *event) {
  Inbox *inbox = &self->inbox;
  InboxEvent *made = copy(event);
  pthread_mutex_lock(&inbox->lock);
  bool is_dropped = event->type == PERIGEE_SERVER_LOG && is_full(inbox);
  if (!is_dropped) {
    *inbox->end = made;
    inbox->end = &made->next;
    inbox->count++;
    inbox->bytes += made->size;
    pthread_cond_signal(&inbox->changed);
  }
  pthread_mutex_unlock(&inbox->lock);
  if (is_dropped) mem_free(made);
}

bool inbox_is_full(perigee_server *self) {
  Inbox *inbox = &self->inbox;
  pthread_mutex_lock(&inbox->lock);
  bool is = is_full(inbox);
  pthread_mutex_unlock(&inbox->lock);
  return is;
}

void inbox_end(perigee_server *self) {
  Inbox *inbox = &self->inbox;
  pthread_mutex_lock(&inbox->lock);
  inbox->is_over = true;
  pthread_cond_broadcast(&inbox->changed);
  pthread_mutex_unlock(&inbox->lock);
}

// --- The host's side ---

static void wait_for_event(Inbox *inbox, int timeout_ms) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout_ms / 1000;
  until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  int err = 0;
  while (inbox->first == NULL && !inbox->is_over && err != ETIMEDOUT)
    err = timeout_ms < 0
              ? pthread_cond_wait(&inbox->changed, &inbox->lock)
              : pthread_cond_timedwait(&inbox->changed, &inbox->lock, &until);
}

int perigee_server_wait(perigee_server *server, perigee_server_event **event,
                        int timeout_ms) {
  Inbox *inbox = &server->inbox;
  *event = NULL;
  if (!server->has_thread) return PERIGEE_SERVER_INVALID;
  pthread_mutex_lock(&inbox->lock);
  if (timeout_ms != 0) wait_for_event(inbox, timeout_ms);
  InboxEvent *first = inbox->first;
  bool was_full = is_full(inbox), is_over = inbox->is_over;
  if (first != NULL) {
    inbox->first = first->next;
    if (inbox->first == NULL) inbox->end = &inbox->first;
    inbox->count--;
    inbox->bytes -= first->size;
  }
  if (was_full && !is_full(inbox) && !is_over) bell_ring(server->bell);
  pthread_mutex_unlock(&inbox->lock);
  if (first != NULL) {
    *event = &first->event;
    return 1;
  }
  return is_over ? PERIGEE_SERVER_OVER : 0;
}

int perigee_server_next(perigee_server *server, perigee_server_event **event) {
  return perigee_server_wait(server, event, 0);
}

void perigee_server_event_free(perigee_server_event *event) { mem_free(event); }
