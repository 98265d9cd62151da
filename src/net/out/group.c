// A group stores its messages once for all members. Each member has a cursor, and a
// short list of messages that this member does not get.
#include <assert.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/conn.h"

static Group *find_group(const Net *net, GroupId id) {
  return slots_find(&net->groups, id);
}

GroupId net_group_open(Net *net, uint32_t tag) {
  Group *group = mem_zalloc(sizeof *group);
  group->tag = tag;
  group->id = slots_add(&net->groups, group);
  assert(group->id);
  return group->id;
}

static Member *member_of(const Group *group, const Conn *conn) {
  for (uint32_t i = 0; i < conn->out.group_count; i++)
    if (conn->out.groups[i].group == group)
      return &group->members[conn->out.groups[i].index];
  return NULL;
}

void group_add(Group *group, Conn *conn) {
  if (member_of(group, conn)) return;
  if (group->count == group->capacity)
    group->capacity =
        array_grow(&group->members, group->capacity, sizeof *group->members, 4);
  if (conn->out.group_count == conn->out.group_capacity)
    conn->out.group_capacity = (uint16_t)array_grow(
        &conn->out.groups, conn->out.group_capacity, sizeof *conn->out.groups, 1);
  Member *member = &group->members[group->count];
  *member = (Member){.conn = conn, .ref = conn->out.group_count};
  for (int i = 0; i < PRIORITY_COUNT; i++) {
    const Outbuf *outbuf = group->source.outbufs[i];
    member->cursor[i] = group->base[i] + (outbuf ? outbuf->count : 0);
  }
  conn->out.groups[conn->out.group_count++] = (GroupRef){group, group->count++};
}

// Removes a member from the group's list, and the group from the member's list. In each
// list the last entry fills the gap, so its index in the other list changes.
static void remove_member(Group *group, uint32_t index) {
  Member *member = &group->members[index];
  Conn *conn = member->conn;
  uint32_t ref = member->ref;
  mem_free(member->skips);
  *member = group->members[--group->count];
  if (index < group->count) member->conn->out.groups[member->ref].index = index;

  conn->out.groups[ref] = conn->out.groups[--conn->out.group_count];
  if (ref < conn->out.group_count) {
    const GroupRef *moved = &conn->out.groups[ref];
    moved->group->members[moved->index].ref = ref;
  }
}

void group_remove(Group *group, Conn *conn) {
  const Member *member = member_of(group, conn);
  if (!member) return;
  flush_conn(conn, PRIORITIES_ALL);
  remove_member(group, (uint32_t)(member - group->members));
}

void group_leave_all(Conn *conn) {
  while (conn->out.group_count)
    remove_member(conn->out.groups[0].group, conn->out.groups[0].index);
  mem_free(conn->out.groups);
  conn->out.groups = NULL;
  conn->out.group_capacity = 0;
}

uint32_t group_count_remote(const Net *net, Group *group, uint32_t index, int change) {
  if (!group->remote_members)
    group->remote_members =
        mem_zalloc(net->remote_count * sizeof *group->remote_members);
  return group->remote_members[index] += (uint32_t)change;
}

void net_group_close(Net *net, GroupId id) {
  Group *group = find_group(net, id);
  if (!group) return;
  flush_group(net, group, PRIORITIES_ALL);
  while (group->count) remove_member(group, group->count - 1);
  for (uint32_t i = 0; group->remote_members && i < net->remote_count; i++)
    if (group->remote_members[i] > 0)
      net->remotes[i]->ops->group_close(net->remotes[i], group);
  mem_free(group->remote_members);
  if (group->source.is_dirty) list_remove(&net->dirty_groups, group);
  slots_remove(&net->groups, id);
  mem_free(group->members);
  mem_free(group);
}

static void purge_skips(const Group *group, Member *member) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < member->skip_count; i++) {
    Skip skip = member->skips[i];
    // Compares by distance, because the numbers wrap around.
    bool is_past = (int32_t)(skip.to - group->base[skip.priority]) <= 0;
    if (!is_past) member->skips[kept++] = skip;
  }
  member->skip_count = kept;
}

// Makes the member skip the newest message of a priority, which is `number`.
static void leave_out(const Group *group, Member *member, uint8_t priority,
                      uint32_t number) {
  if (member->skip_count) {
    Skip *last = &member->skips[member->skip_count - 1];
    if (last->priority == priority && last->to == number) {
      last->to++;
      return;
    }
  }
  if (member->skip_count == member->skip_capacity) purge_skips(group, member);
  if (member->skip_count == member->skip_capacity)
    member->skip_capacity =
        array_grow(&member->skips, member->skip_capacity, sizeof(Skip), 2);
  member->skips[member->skip_count++] = (Skip){number, number + 1, priority};
}

void net_group_write(Net *net, GroupId id, const Out *out, const ConnId *except,
                     uint32_t except_count) {
  Group *group = find_group(net, id);
  if (!group) return;
  for (uint32_t i = 0; group->remote_members && i < net->remote_count; i++)
    if (group->remote_members[i] > 0)
      net->remotes[i]->ops->group_write(net->remotes[i], group, out, except,
                                        except_count);
  if (group->count == 0) return;
  Outbuf *outbuf = outbuf_of(net, &group->source, out->priority);
  uint32_t number = group->base[out->priority] + outbuf->count;
  if (outbuf_append(outbuf, out, net->sequence++)) net->replaced += group->count;
  for (uint32_t i = 0; i < except_count; i++) {
    Conn *conn = conn_find(net, except[i]);
    Member *member = conn ? member_of(group, conn) : NULL;
    if (member) leave_out(group, member, out->priority, number);
  }
  if (out->flags & OUT_URGENT) group->is_urgent = true;
  if (!group->source.is_dirty) {
    group->source.is_dirty = true;
    list_add(&net->dirty_groups, group);
  }
  if (outbuf->bytes.size > NET_OUTBUF_BYTES) flush_group(net, group, PRIORITIES_ALL);
}
