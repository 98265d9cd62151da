// The names of codes.
#include "wire/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void codes_have_the_names_of_the_protocol(void **state) {
  (void)state;
  // Copied from docs/protocol.md, so that the list cannot differ from the page.
  static const char *const names[] = {
      "ConnectionClosed",
      "ConnectionReset",
      "IdleTimeout",
      "PingTimeout",
      "PayloadTooLarge",
      "Protocol",
      "Kicked",
      "Rejected",
      "ServerFull",
      "VersionMismatch",
      "ProtocolHashMismatch",
      "NoSuchRoom",
      "NotInRoom",
      "AlreadyInRoom",
      "ChannelNotFound",
      "ChannelTaken",
      "RateLimited",
      "HandshakeTimeout",
      "Unsupported",
      "Internal",
      "Unauthorized",
      "SlowConsumer",
      "Replaced",
      "RoomFull",
      "Unavailable",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_string_equal(code_name((Code)i), names[i]);
}

static void other_numbers_are_unknown(void **state) {
  (void)state;
  assert_string_equal(code_name((Code)(CODE_UNAVAILABLE + 1)), "Unknown");
  assert_string_equal(code_name((Code)65535), "Unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_have_the_names_of_the_protocol),
      cmocka_unit_test(other_numbers_are_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
