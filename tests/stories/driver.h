// The state and the output of an application in the C driver of stories.
#pragma once

#include <perigee.h>
#include <stdbool.h>

enum { REQUESTS_MAX = 64, NAMES_MAX = 16 };

/// The name of a request, which is kept until its outcome.
typedef struct Request {
  int number;
  char call[16];
} Request;

/// A name, and the library's number for it.
typedef struct Name {
  char name[80];
  uint32_t number;
} Name;

typedef struct Question {
  PerigeeQuestion question;
  char name[80];
} Question;

typedef struct App {
  int number;
  PerigeeClient *client;
  char only
      [128];  // names of the only events that are shown, with commas around them; empty: all are shown
  Request requests[REQUESTS_MAX];
  Name rooms[NAMES_MAX], channels[NAMES_MAX];
  Question questions[NAMES_MAX];
  int question_count;
} App;

/// Returns the number of a name; 0: it has none.
uint32_t number_of(const Name *names, const char *name);

/// Begins a line of output, which `print_end` ends; the others add a field.
void print_begin(const App *app, const char *event);
void print_end(void);
void print_text(const char *key, const char *text);
void print_code(int code);
void print_members(const App *app, uint32_t room);

/// Prints an event, and stores the parts that later calls need.
void print_event(App *app, const PerigeeEvent *event);
