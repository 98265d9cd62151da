#include "server/dashboard/failures.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/json.h"

// Returns the size of the part of a text that names its place: up to the line number
// after the last ".lua:" of the first line, or the first line.
static size_t place_size(const char *text) {
  size_t line = strcspn(text, "\n"), size = line;
  const char *at = text;
  while ((at = strstr(at, ".lua:")) != NULL && (size_t)(at - text) < line) {
    at += strlen(".lua:");
    size = (size_t)(at - text) + strspn(at, "0123456789");
  }
  return size;
}

static FailureGroup *find_group(Failures *failures, uint64_t place) {
  FailureGroup *oldest = failures->groups;
  for (int i = 0; i < FAILURE_GROUPS; i++) {
    FailureGroup *group = &failures->groups[i];
    if (group->text != NULL && group->place == place) return group;
    if (group->text == NULL || group->last_s < oldest->last_s) oldest = group;
    if (group->text == NULL) break;
  }
  mem_free(oldest->text);
  *oldest = (FailureGroup){.place = place};
  return oldest;
}

void failures_add(Failures *failures, const char *text, double now_s) {
  size_t size = text_cut(text, strlen(text), FAILURE_TEXT_BYTES);
  FailureGroup *group = find_group(failures, hash_bytes(NULL, text, place_size(text)));
  failures->changes++;
  if (group->count++ == 0) group->first_s = now_s;
  group->last_s = now_s;
  mem_free(group->text);
  group->text = mem_alloc(size + 1);
  memcpy(group->text, text, size);
  group->text[size] = '\0';
}

void failures_deinit(Failures *failures) {
  for (int i = 0; i < FAILURE_GROUPS; i++) mem_free(failures->groups[i].text);
  *failures = (Failures){.changes = 0};
}

static const FailureGroup *find_before(const Failures *failures, double before_s,
                                       const FailureGroup *last) {
  const FailureGroup *newest = NULL;
  for (int i = 0; i < FAILURE_GROUPS && failures->groups[i].text != NULL; i++) {
    const FailureGroup *group = &failures->groups[i];
    bool is_later =
        group->last_s > before_s || (group->last_s == before_s && group <= last);
    if (!is_later && (newest == NULL || group->last_s > newest->last_s)) newest = group;
  }
  return newest;
}

void failures_put(const Failures *failures, Buf *json) {
  const FailureGroup *group = NULL;
  double before_s = 1e300;
  buf_u8(json, '[');
  while ((group = find_before(failures, before_s, group)) != NULL) {
    if (before_s < 1e300) buf_u8(json, ',');
    before_s = group->last_s;
    buf_printf(json, "{\"count\":%llu,\"first\":%.3f,\"last\":%.3f,\"text\":",
               (unsigned long long)group->count, group->first_s, group->last_s);
    json_put_text(json, (Text){group->text, (uint32_t)strlen(group->text)});
    buf_u8(json, '}');
  }
  buf_u8(json, ']');
}
