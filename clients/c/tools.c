// Tools for LLMs that this client offers on its plugin channels. Each new session offers
// them again.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "wire/json.h"

// Returns the value of a member of a JSON object, or an empty text. `name` includes the
// quotes.
static Text member_of(const char *json, const char *name) {
  Text object = json_trim(text_from(json)), key, value;
  if (!json_is_value(object) || object.bytes[0] != '{') return (Text){0};
  for (uint32_t at = 0; json_next(object, &at, &key, &value);)
    if (text_equals(key, text_from(name))) return value;
  return (Text){0};
}

static bool is_channel(const Channel *channel, Text id) {
  char number[8];
  snprintf(number, sizeof number, "%u", channel->id);
  Buf name = {0};
  bool has_text = json_read_text(id, &name);
  Text text =
      has_text ? (Text){(const char *)name.data, (uint32_t)name.size} : (Text){0};
  bool is = text_equals(id, text_from(number)) ||
            (has_text && text_equals(text, text_from(channel->name)));
  buf_deinit(&name);
  return channel->is_open && is;
}

// Returns the open channel that a tool names, or the only channel if the tool names
// none; otherwise NULL.
static Channel *find_channel(PerigeeClient *client, const char *json) {
  Text id = member_of(json, "\"channel\"");
  Channel *channel = client->channels;
  if (id.size == 0) return channel && !channel->next ? channel : NULL;
  while (channel && !is_channel(channel, id)) channel = channel->next;
  return channel;
}

static bool has_same_name(const Tool *tool, const char *json) {
  return text_equals(member_of(tool->json, "\"name\""), member_of(json, "\"name\""));
}

static void remove_from(Channel *channel, const char *json) {
  Tool **at = &channel->tools;
  while (*at && !has_same_name(*at, json)) at = &(*at)->next;
  Tool *tool = *at;
  if (!tool) return;
  *at = tool->next;
  mem_free(tool);
}

static void forget(PerigeeClient *client, const char *json) {
  for (Channel *channel = client->channels; channel; channel = channel->next)
    remove_from(channel, json);
}

static void keep(PerigeeClient *client, const char *json) {
  Channel *channel = find_channel(client, json);
  forget(client, json);
  if (!channel) return;
  size_t size = strlen(json) + 1;
  Tool *tool = mem_alloc(sizeof *tool + size);
  memcpy(tool->json, json, size);
  tool->next = channel->tools;
  channel->tools = tool;
}

bool take_tool(PerigeeClient *client, const Packet *packet) {
  Request *request = request_answered(client, packet, REQUEST_TOOL);
  if (!request) return true;
  PerigeeEvent event = {.type = PERIGEE_TOOL_CHANGED, .request = request->number};
  if (request->name) keep(client, request->name);
  if (request->number > 0) events_add(&client->events, &event, NULL);
  request_free(request);
  return true;
}

static int send_tool(PerigeeClient *client, ControlType type, const char *json,
                     Request *request) {
  buf_append(packet_begin(client), json, strlen(json));
  return packet_request(client, (Packet){.type = type}, request);
}

int perigee_add_tool(PerigeeClient *client, const char *json, uint32_t timeout_ms) {
  if (!json) return PERIGEE_BAD_ARGUMENT;
  Request *request = request_new(client, REQUEST_TOOL, timeout_ms);
  request->name = mem_strdup(json);
  return send_tool(client, CONTROL_TOOL_ADD, json, request);
}

int perigee_remove_tool(PerigeeClient *client, const char *json, uint32_t timeout_ms) {
  if (!json) return PERIGEE_BAD_ARGUMENT;
  forget(client, json);
  return send_tool(client, CONTROL_TOOL_REMOVE, json,
                   request_new(client, REQUEST_TOOL, timeout_ms));
}

// Appends a tool's fields, with the present number of its channel.
static void put_tool(Buf *buf, const char *json, uint16_t channel) {
  Text object = json_trim(text_from(json)), key, value;
  buf_printf(buf, "{\"channel\":%u", channel);
  for (uint32_t at = 0; json_next(object, &at, &key, &value);) {
    if (text_equals(key, text_from("\"channel\""))) continue;
    buf_u8(buf, ',');
    buf_append(buf, key.bytes, key.size);
    buf_u8(buf, ':');
    buf_append(buf, value.bytes, value.size);
  }
  buf_u8(buf, '}');
}

void tools_offer_again(PerigeeClient *client, const Channel *channel) {
  static const char TEXT[] = "too many requests to offer a tool again";
  for (const Tool *tool = channel->tools; tool; tool = tool->next) {
    Request *request = request_new(client, REQUEST_TOOL, 0);
    request->number = 0;
    put_tool(packet_begin(client), tool->json, channel->id);
    int err = packet_request(client, (Packet){.type = CONTROL_TOOL_ADD}, request);
    PerigeeEvent event = {.type = PERIGEE_ERROR, .code = err};
    if (err < 0) client_push_text(client, &event, TEXT, sizeof TEXT - 1);
  }
}

void tools_free(Channel *channel) {
  while (channel->tools) {
    Tool *next = channel->tools->next;
    mem_free(channel->tools);
    channel->tools = next;
  }
}
