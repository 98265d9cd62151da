// The main thread's side of groups with members that servicers have: a servicer has a group
// of its own as long as it has members of it.
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/io_threads/io_threads_internal.h"

static void command(Servicer *servicer, CommandKind kind, GroupId group,
                    uint32_t value) {
  DownGroup *down = servicer_command(servicer, kind, sizeof *down);
  *down = (DownGroup){group, value};
}

static void add_member(const Servicer *servicer, Group *group) {
  const Servicers *all = servicer->main->servicers;
  if (!group->elsewhere)
    group->elsewhere = mem_zalloc(all->count * sizeof *group->elsewhere);
  if (group->elsewhere[servicer->index]++ == 0)
    command(&all->items[servicer->index], DOWN_GROUP_OPEN, group->id, group->tag);
}

static void remove_member(Servicer *servicer, const Group *group) {
  if (--group->elsewhere[servicer->index] == 0)
    command(servicer, DOWN_GROUP_CLOSE, group->id, 0);
}

// Those that are closed are forgotten when there is no more room.
static void purge(Client *client) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < client->group_count; i++)
    if (slots_find(&client->conn.net->groups, client->groups[i]))
      client->groups[kept++] = client->groups[i];
  client->group_count = kept;
}

static GroupId *find(const Client *client, GroupId group) {
  for (uint32_t i = 0; i < client->group_count; i++)
    if (client->groups[i] == group) return &client->groups[i];
  return NULL;
}

void client_join(Conn *conn, Group *group) {
  Client *client = client_of(conn);
  if (find(client, group->id)) return;
  if (client->group_count == client->group_capacity) purge(client);
  if (client->group_count == client->group_capacity)
    client->group_capacity =
        array_grow(&client->groups, client->group_capacity, sizeof *client->groups, 2);
  client->groups[client->group_count++] = group->id;
  add_member(conn->servicer, group);
  command(conn->servicer, DOWN_JOIN, group->id, client->local);
}

void client_leave(Conn *conn, Group *group) {
  Client *client = client_of(conn);
  GroupId *place = find(client, group->id);
  if (!place) return;
  *place = client->groups[--client->group_count];
  command(conn->servicer, DOWN_LEAVE, group->id, client->local);
  remove_member(conn->servicer, group);
}

void client_leave_all(Client *client) {
  for (uint32_t i = 0; i < client->group_count; i++) {
    const Group *group = slots_find(&client->conn.net->groups, client->groups[i]);
    if (group) remove_member(client->conn.servicer, group);
  }
  client->group_count = 0;
}

void servicers_close_group(Net *net, Group *group) {
  for (uint32_t i = 0; i < net->servicers->count; i++)
    if (group->elsewhere[i] > 0)
      command(&net->servicers->items[i], DOWN_GROUP_CLOSE, group->id, 0);
  mem_free(group->elsewhere);
  group->elsewhere = NULL;
}

// --- Writing ---

// The member of the group by that id, if the servicer has it.
static const Client *find_member(const Servicer *servicer, const Group *group,
                                 ConnId id) {
  Conn *conn = conn_find(servicer->main, id);
  if (!conn || conn->servicer != servicer) return NULL;
  const Client *client = client_of(conn);
  return find(client, group->id) ? client : NULL;
}

// Often a servicer has only the one who says it.
static bool has_receivers(const Servicer *servicer, const Group *group,
                          const ConnId *except, uint32_t except_count) {
  uint32_t count = group->elsewhere[servicer->index];
  if (count != 1) return count > 0;
  for (uint32_t i = 0; i < except_count; i++)
    if (find_member(servicer, group, except[i])) return false;
  return true;
}

static uint32_t put_excepted(const Servicer *servicer, const Group *group,
                             const ConnId *except, uint32_t count, ConnId *out) {
  uint32_t put = 0;
  for (uint32_t i = 0; i < count; i++) {
    const Client *client = find_member(servicer, group, except[i]);
    if (client) out[put++] = client->local;
  }
  return put;
}

static void write_to(Servicer *servicer, const Group *group, const Out *out,
                     const ConnId *except, uint32_t except_count) {
  uint32_t size = out_size(out);
  DownGroupWrite *down = servicer_command(
      servicer, DOWN_GROUP_WRITE, sizeof *down + except_count * sizeof *except + size);
  ConnId *ids = (ConnId *)(down + 1);
  *down = (DownGroupWrite){
      .group = group->id,
      .size = size,
      .except_count = put_excepted(servicer, group, except, except_count, ids),
      .key = out->key,
      .priority = out->priority,
      .flags = out->flags};
  out_gather(out, (uint8_t *)(ids + down->except_count));
}

void servicers_write_group(Net *net, const Group *group, const Out *out,
                           const ConnId *except, uint32_t except_count) {
  for (uint32_t i = 0; i < net->servicers->count; i++)
    if (has_receivers(&net->servicers->items[i], group, except, except_count))
      write_to(&net->servicers->items[i], group, out, except, except_count);
}
