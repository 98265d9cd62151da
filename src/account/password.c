// See password.h. Each password has a worker thread, because starting a thread takes
// almost no time compared with Argon2id. Only the loop uses Passwords, so no lock
// exists.
#include "account/password.h"

#include <sodium.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "os/worker.h"

_Static_assert(PASSWORD_HASH_MAX == crypto_pwhash_STRBYTES - 1, "size of a hash");

enum { NICE = 10 };  // lowest priority, because the game's threads are more urgent

// Cost of a hash, as OWASP recommends for Argon2id.
typedef struct Cost {
  size_t memory;
  unsigned long long passes;
} Cost;

static const Cost COST = {19 << 20, 2};
static const Cost SIMULATED_COST = {crypto_pwhash_MEMLIMIT_MIN,
                                    crypto_pwhash_OPSLIMIT_MIN};

// A hash of random bytes with the cost of new hashes. Its comparison takes the usual
// time, and its result is ignored.
static const char DECOY[] =
    "$argon2id$v=19$m=19456,t=2,p=1$BgrLfimFrwjm4yrk4Z9Csw"
    "$x4HpPFOw+wwxxbK/ZsOQonJgdwFU/XAgi+Ztcs7Ypt0";

typedef struct PasswordWork {
  struct PasswordWork *next;
  Passwords *owner;
  uint32_t token;
  bool is_check;
  bool is_known;  // the name is known; false: `hash` is the decoy
  bool is_right;
  uint32_t size;
  char hash[PASSWORD_HASH_MAX + 1];  // hash to compare with; later, the new hash or ""
  char password[PASSWORD_MAX];
} PasswordWork;

struct Passwords {
  Loop *loop;
  PasswordEnd *on_end;
  void *data;
  const Cost *cost;
  PasswordWork *first, *last;  // passwords that wait
  uint32_t queued, running;
  bool is_closed;
};

static void hash_password(PasswordWork *work) {
  const Cost *cost = work->owner->cost;
  if (crypto_pwhash_str(work->hash, work->password, work->size, cost->passes,
                        cost->memory) != 0)
    mem_check(NULL, cost->memory);
}

static void check_password(PasswordWork *work) {
  const Cost *cost = work->owner->cost;
  int result = crypto_pwhash_str_verify(work->hash, work->password, work->size);
  work->is_right = result == 0 && work->is_known;
  if (work->is_right &&
      crypto_pwhash_str_needs_rehash(work->hash, cost->passes, cost->memory) != 0)
    hash_password(work);
  else
    work->hash[0] = '\0';
}

static void judge(PasswordWork *work) {
  if (work->is_check)
    check_password(work);
  else
    hash_password(work);
  sodium_memzero(work->password, work->size);
}

// Hashes or compares a password at low priority. On Linux, setpriority affects only the
// calling thread.
static void run(void *data) {
  setpriority(PRIO_PROCESS, 0, NICE);
  judge(data);
}

static void work_free(PasswordWork *work) {
  sodium_memzero(work, sizeof *work);
  mem_free(work);
}

static void report(PasswordWork *work) {
  Passwords *passwords = work->owner;
  PasswordAnswer answer = {work->token, work->is_right, work->hash};
  if (!passwords->is_closed) passwords->on_end(passwords->data, &answer);
  work_free(work);
}

static void start_some(Passwords *passwords);

static void on_end(void *data) {
  PasswordWork *work = data;
  Passwords *passwords = work->owner;
  passwords->running--;
  report(work);
  if (!passwords->is_closed)
    start_some(passwords);
  else if (passwords->running == 0)
    mem_free(passwords);
}

static PasswordWork *pop(Passwords *passwords) {
  PasswordWork *work = passwords->first;
  passwords->first = work->next;
  passwords->queued--;
  return work;
}

static void start_some(Passwords *passwords) {
  while (passwords->queued > 0 && passwords->running < PASSWORDS_RUNNING_MAX) {
    PasswordWork *work = pop(passwords);
    passwords->running++;
    if (worker_start(passwords->loop, run, on_end, work)) continue;
    // Counts the password as wrong, because no thread can check it.
    passwords->running--;
    work->hash[0] = '\0';
    report(work);
  }
}

Passwords *passwords_open(Loop *loop, PasswordEnd *end, void *data) {
  Passwords *passwords = mem_zalloc(sizeof *passwords);
  passwords->loop = loop;
  passwords->on_end = end;
  passwords->data = data;
  passwords->cost = loop ? &COST : &SIMULATED_COST;
  return passwords;
}

void passwords_close(Passwords *passwords) {
  if (!passwords) return;
  passwords->is_closed = true;
  while (passwords->queued > 0) work_free(pop(passwords));
  if (passwords->running == 0) mem_free(passwords);
}

static bool add(Passwords *passwords, PasswordWork *work, Text password) {
  work->owner = passwords;
  work->size = password.size;
  memcpy(work->password, password.bytes, password.size);
  if (!passwords->loop) {
    judge(work);
    report(work);
    return true;
  }
  if (passwords->queued > 0)
    passwords->last->next = work;
  else
    passwords->first = work;
  passwords->last = work;
  passwords->queued++;
  start_some(passwords);
  return true;
}

bool passwords_hash(Passwords *passwords, uint32_t token, Text password) {
  if (passwords->queued == PASSWORDS_QUEUED_MAX) return false;
  PasswordWork *work = mem_zalloc(sizeof *work);
  work->token = token;
  return add(passwords, work, password);
}

bool passwords_check(Passwords *passwords, uint32_t token, Text password, Text hash) {
  if (passwords->queued == PASSWORDS_QUEUED_MAX) return false;
  PasswordWork *work = mem_zalloc(sizeof *work);
  work->token = token;
  work->is_check = true;
  work->is_known = hash.size > 0 && hash.size <= PASSWORD_HASH_MAX;
  if (!work->is_known) hash = text_from(DECOY);
  memcpy(work->hash, hash.bytes, hash.size);
  return add(passwords, work, password);
}
