// Any bytes from a server to the C client: they cause no fault, and each event can be
// read. The first byte decides how many of the other bytes arrive on the first
// connection. The rest arrives on the next connection, if one follows.
#include "client_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void feed(PerigeeClient *client, const uint8_t *bytes, size_t size) {
  perigee_receive(client, bytes, size, 0);
  take_events(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0) return 0;
  PerigeeClient *client = perigee_new(NULL, 0, NULL);
  perigee_join(client, "a", 0);
  perigee_ask(client, 0, "a", NULL, 0);
  perigee_list_rooms(client, 0);
  perigee_query_rooms(client, "{}", 0);
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
