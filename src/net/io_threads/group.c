// The main thread's side of groups with members on other threads. A thread that serves
// a member of a group has its own copy of the group, until its last member leaves.
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/io_threads/internal.h"

typedef struct DownGroup {
  GroupId group;   // group of the main thread
  uint32_t value;  // tag of the group, or ConnId of a member
} DownGroup;

static void post_group(IoThread *thread, const RemoteCall *call, GroupId group,
                       uint32_t value) {
  DownGroup *down = mailbox_add(&thread->calls, call, sizeof *down);
  *down = (DownGroup){group, value};
}

// --- Calls that the thread runs ---

// Returns the place where the thread stores its own id for a group of the main thread.
static GroupId *own_id_of(const Net *net, GroupId group) {
  IoThread *thread = thread_of_home(net->home);
  uint32_t index = group & SLOTS_MAX;
  thread->group_capacity = array_reach(&thread->groups, thread->group_capacity,
                                       sizeof *thread->groups, index);
  return &thread->groups[index];
}

static void run_group_open(Net *net, const void *body) {
  const DownGroup *down = body;
  *own_id_of(net, down->group) = net_group_open(net, down->value);
}

static void run_group_close(Net *net, const void *body) {
  const DownGroup *down = body;
  GroupId *own_id = own_id_of(net, down->group);
  net_group_close(net, *own_id);
  *own_id = 0;
}

static void run_group_join(Net *net, const void *body) {
  const DownGroup *down = body;
  net_group_join(net, *own_id_of(net, down->group), down->value);
}

static void run_group_leave(Net *net, const void *body) {
  const DownGroup *down = body;
  net_group_leave(net, *own_id_of(net, down->group), down->value);
}

static const RemoteCall OPEN = {.run = run_group_open},
                        CLOSE = {.run = run_group_close},
                        JOIN = {.run = run_group_join},
                        LEAVE = {.run = run_group_leave};

// --- Members ---

static void remove_member(IoThread *thread, Group *group) {
  if (group_count_remote(thread->all->main, group, thread->remote.index, -1) == 0)
    post_group(thread, &CLOSE, group->id, 0);
}

static Group *group_of(const Proxy *proxy, GroupId id) {
  return slots_find(&proxy->thread->all->main->groups, id);
}

// Removes closed groups from the list.
static void purge(Proxy *proxy) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < proxy->group_count; i++)
    if (group_of(proxy, proxy->groups[i])) proxy->groups[kept++] = proxy->groups[i];
  proxy->group_count = kept;
}

static GroupId *find(const Proxy *proxy, GroupId group) {
  for (uint32_t i = 0; i < proxy->group_count; i++)
    if (proxy->groups[i] == group) return &proxy->groups[i];
  return NULL;
}

void proxy_join(Endpoint *endpoint, Group *group) {
  Proxy *proxy = (Proxy *)endpoint;
  if (find(proxy, group->id)) return;
  if (proxy->group_count == proxy->group_capacity) purge(proxy);
  if (proxy->group_count == proxy->group_capacity)
    proxy->group_capacity =
        array_grow(&proxy->groups, proxy->group_capacity, sizeof *proxy->groups, 2);
  proxy->groups[proxy->group_count++] = group->id;
  IoThread *thread = proxy->thread;
  if (group_count_remote(thread->all->main, group, thread->remote.index, 1) == 1)
    post_group(thread, &OPEN, group->id, group->tag);
  post_group(thread, &JOIN, group->id, proxy->local);
}

void proxy_leave(Endpoint *endpoint, Group *group) {
  Proxy *proxy = (Proxy *)endpoint;
  GroupId *joined = find(proxy, group->id);
  if (!joined) return;
  *joined = proxy->groups[--proxy->group_count];
  post_group(proxy->thread, &LEAVE, group->id, proxy->local);
  remove_member(proxy->thread, group);
}

void proxy_leave_all(Proxy *proxy) {
  for (uint32_t i = 0; i < proxy->group_count; i++) {
    Group *group = group_of(proxy, proxy->groups[i]);
    if (group) remove_member(proxy->thread, group);
  }
  proxy->group_count = 0;
}

void threads_group_close(Remote *remote, const Group *group) {
  post_group((IoThread *)remote, &CLOSE, group->id, 0);
}

// --- Writing ---

typedef struct DownGroupWrite {
  GroupId group;
  uint32_t size;
  uint32_t except_count;
  uint64_t key;
  uint8_t priority, flags;
} DownGroupWrite;

static void run_group_write(Net *net, const void *body) {
  const DownGroupWrite *down = body;
  const ConnId *except = (const ConnId *)(down + 1);
  net_group_write(net, *own_id_of(net, down->group),
                  &(Out){.parts = {except + down->except_count},
                         .sizes = {down->size},
                         .priority = down->priority,
                         .flags = down->flags,
                         .key = down->key},
                  except, down->except_count);
}

// Returns the proxy of connection `id` if this thread serves it and it is a member of
// the group; otherwise NULL.
static const Proxy *find_member(const IoThread *thread, const Group *group, ConnId id) {
  Endpoint *endpoint = endpoint_find(thread->all->main, id);
  if (!endpoint || endpoint->ops->is_local) return NULL;
  const Proxy *proxy = (const Proxy *)endpoint;
  return proxy->thread == thread && find(proxy, group->id) ? proxy : NULL;
}

static uint32_t put_excepted(const IoThread *thread, const Group *group,
                             const ConnId *except, uint32_t count, ConnId *out) {
  uint32_t put = 0;
  for (uint32_t i = 0; i < count; i++) {
    const Proxy *proxy = find_member(thread, group, except[i]);
    if (proxy) out[put++] = proxy->local;
  }
  return put;
}

// Returns whether the thread has a member that gets the message. Often its only member
// is the sender, which is excepted.
static bool has_receivers(const IoThread *thread, const Group *group,
                          const ConnId *except, uint32_t except_count) {
  if (group->remote_members[thread->remote.index] != 1) return true;
  for (uint32_t i = 0; i < except_count; i++)
    if (find_member(thread, group, except[i])) return false;
  return true;
}

void threads_group_write(Remote *remote, const Group *group, const Out *out,
                         const ConnId *except, uint32_t except_count) {
  static const RemoteCall WRITE = {.run = run_group_write};
  IoThread *thread = (IoThread *)remote;
  if (!has_receivers(thread, group, except, except_count)) return;
  uint32_t size = out_size(out);
  DownGroupWrite *down = mailbox_add(
      &thread->calls, &WRITE, sizeof *down + except_count * sizeof *except + size);
  ConnId *ids = (ConnId *)(down + 1);
  *down = (DownGroupWrite){
      .group = group->id,
      .size = size,
      .except_count = put_excepted(thread, group, except, except_count, ids),
      .key = out->key,
      .priority = out->priority,
      .flags = out->flags};
  out_gather(out, (uint8_t *)(ids + down->except_count));
}
