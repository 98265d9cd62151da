// Threads hash passwords, two at a time, beside the loop. A check takes the same time
// for known and for unknown names. The queue is bounded.
#include "account/password.h"

#include "../os/loop_world.h"
#include "os/worker.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char PASSWORD[] = "correct horse";

typedef struct World {
  LoopWorld loop;
  Passwords *passwords;
  uint32_t count, expected;
  PasswordAnswer last;
  char hash[PASSWORD_HASH_MAX + 1];
} World;

static void on_end(void *data, const PasswordAnswer *answer) {
  World *world = data;
  world->count++;
  world->last = *answer;
  snprintf(world->hash, sizeof world->hash, "%s", answer->hash);
}

static bool has_answers(void *data) {
  const World *world = data;
  return world->count >= world->expected;
}

static void await(World *world, uint32_t count) {
  world->expected = world->count + count;
  assert_true(loop_world_wait(&world->loop, has_answers, world));
}

static void open_passwords(World *world) {
  *world = (World){0};
  loop_world_init(&world->loop);
  world->passwords = passwords_open(world->loop.loop, on_end, world);
}

static void close_passwords(World *world) {
  passwords_close(world->passwords);
  workers_end(world->loop.loop);
  loop_world_deinit(&world->loop);
  assert_int_equal(mem_live(), 0);
}

static void test_the_right_password_alone_is_right(void **state) {
  (void)state;
  World world;
  open_passwords(&world);
  assert_true(passwords_hash(world.passwords, 1, text_from(PASSWORD)));
  await(&world, 1);
  assert_int_equal(world.last.token, 1);
  char hash[PASSWORD_HASH_MAX + 1];
  strcpy(hash, world.hash);
  assert_memory_equal(hash, "$argon2id$v=19$m=19456,t=2,p=1$", 31);
  passwords_check(world.passwords, 2, text_from(PASSWORD), text_from(hash));
  await(&world, 1);
  assert_true(world.last.is_right);
  assert_string_equal(world.hash, "");
  const Text wrong[] = {text_from("correct hors"),
                        text_from("Correct horse"),
                        {PASSWORD, sizeof PASSWORD},
                        {PASSWORD, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    passwords_check(world.passwords, 3, wrong[i], text_from(hash));
    await(&world, 1);
    assert_false(world.last.is_right);
  }
  close_passwords(&world);
}

static void test_an_unknown_name_is_wrong(void **state) {
  (void)state;
  World world;
  open_passwords(&world);
  const char *hashes[] = {"", "$argon2id$", "garbage"};
  for (size_t i = 0; i < 3; i++) {
    passwords_check(world.passwords, 1, text_from(PASSWORD), text_from(hashes[i]));
    await(&world, 1);
    assert_false(world.last.is_right);
    assert_string_equal(world.hash, "");
  }
  close_passwords(&world);
}

static uint64_t cpu_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int compare_times(const void *a, const void *b) {
  const uint64_t *left = a, *right = b;
  return *left < *right ? -1 : *left > *right;
}

// Without a loop, this thread compares the passwords. The test measures the processor
// time of this thread, because other programs do not change it.
static void test_an_unknown_name_takes_as_long_as_a_known_one(void **state) {
  (void)state;
  enum { SAMPLES = 80, MEMORY = 19 << 20, PASSES = 2, PERCENT = 5 };
  static uint64_t times[2][SAMPLES];
  World world = {0};
  char hash[crypto_pwhash_STRBYTES];
  world.passwords = passwords_open(NULL, on_end, &world);
  assert_int_equal(crypto_pwhash_str(hash, PASSWORD, strlen(PASSWORD), PASSES, MEMORY),
                   0);
  for (int i = 0; i < 2 * SAMPLES; i++) {
    int is_known = (i + i / 2) % 2;  // known and unknown names come first equally often
    uint64_t start_us = cpu_us();
    passwords_check(world.passwords, 1, text_from("wrong horse"),
                    text_from(is_known ? hash : ""));
    times[is_known][i / 2] = cpu_us() - start_us;
    assert_false(world.last.is_right);
  }
  for (int i = 0; i < 2; i++) qsort(times[i], SAMPLES, sizeof(uint64_t), compare_times);
  uint64_t known_us = times[1][SAMPLES / 2], unknown_us = times[0][SAMPLES / 2];
  assert_in_range(unknown_us, known_us * (100 - PERCENT) / 100,
                  known_us * (100 + PERCENT) / 100);
  passwords_close(world.passwords);
  assert_int_equal(mem_live(), 0);
}

static void test_a_cheap_hash_is_replaced(void **state) {
  (void)state;
  World world;
  open_passwords(&world);
  char cheap[crypto_pwhash_STRBYTES];
  assert_int_equal(crypto_pwhash_str(cheap, PASSWORD, strlen(PASSWORD), 1,
                                     crypto_pwhash_MEMLIMIT_MIN),
                   0);
  passwords_check(world.passwords, 1, text_from(PASSWORD), text_from(cheap));
  await(&world, 1);
  assert_true(world.last.is_right);
  assert_memory_equal(world.hash, "$argon2id$v=19$m=19456,t=2,p=1$", 31);
  close_passwords(&world);
}

static void test_the_queue_is_bounded(void **state) {
  (void)state;
  World world;
  open_passwords(&world);
  for (uint32_t i = 0; i < PASSWORDS_RUNNING_MAX + PASSWORDS_QUEUED_MAX; i++)
    assert_true(passwords_check(world.passwords, i, text_from(PASSWORD), (Text){0}));
  assert_false(passwords_check(world.passwords, 99, text_from(PASSWORD), (Text){0}));
  assert_false(passwords_hash(world.passwords, 99, text_from(PASSWORD)));
  await(&world, 3);
  close_passwords(&world);  // drops the other passwords
}

static void test_a_simulation_has_no_threads(void **state) {
  (void)state;
  World world = {0};
  world.passwords = passwords_open(NULL, on_end, &world);
  assert_true(passwords_hash(world.passwords, 5, text_from(PASSWORD)));
  assert_int_equal(world.count, 1);
  passwords_check(world.passwords, 6, text_from(PASSWORD), text_from(world.hash));
  assert_int_equal(world.count, 2);
  assert_true(world.last.is_right);
  passwords_close(world.passwords);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_right_password_alone_is_right),
      cmocka_unit_test(test_an_unknown_name_is_wrong),
      cmocka_unit_test(test_an_unknown_name_takes_as_long_as_a_known_one),
      cmocka_unit_test(test_a_cheap_hash_is_replaced),
      cmocka_unit_test(test_the_queue_is_bounded),
      cmocka_unit_test(test_a_simulation_has_no_threads),
  };
  return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
