// Reads the lines of text peers, and makes texts of other peers safe to show.
#include "wire/line.h"

#include <string.h>

#include "base/text.h"

typedef enum Operand {
  OPERAND_NONE,         // the rest of the line is ignored
  OPERAND_OBJECT,       // the rest of the line, if it begins with `{`
  OPERAND_NAME,         // the whole rest of the line
  OPERAND_WORD,         // the text up to a space
  OPERAND_NAME_OBJECT,  // the text up to a space and a `{`
} Operand;

typedef struct Command {
  const char *name;
  LineVerb verb;
  Operand operand;
} Command;

static const Command commands[] = {
    {"/join", LINE_JOIN, OPERAND_NAME},
    {"/join_with", LINE_JOIN_WITH, OPERAND_NAME_OBJECT},
    {"/leave", LINE_LEAVE, OPERAND_NAME},
    {"/rooms", LINE_ROOMS, OPERAND_OBJECT},
    {"/name", LINE_NAME, OPERAND_NAME},
    {"/send", LINE_SEND, OPERAND_WORD},
    {"/login", LINE_LOGIN, OPERAND_NAME},
    {"/quit", LINE_QUIT, OPERAND_NONE},
};

static bool is_space(char c) { return c == ' ' || c == '\t'; }

// Removes the first word from `text`, and the spaces around the rest.
static Text take_word(Text *text) {
  Text word = {text->bytes, 0};
  while (word.size < text->size && !is_space(word.bytes[word.size])) word.size++;
  Text rest = {text->bytes + word.size, text->size - word.size};
  while (rest.size > 0 && is_space(rest.bytes[0])) rest.bytes++, rest.size--;
  while (rest.size > 0 && is_space(rest.bytes[rest.size - 1])) rest.size--;
  *text = rest;
  return word;
}

// Removes the text before the first object from `text`. Returns the removed text
// without the spaces at its end.
static Text take_until_object(Text *text) {
  Text name = *text;
  for (uint32_t at = 1; at < text->size; at++) {
    if (text->bytes[at] != '{' || !is_space(text->bytes[at - 1])) continue;
    name.size = at;
    break;
  }
  *text = (Text){text->bytes + name.size, text->size - name.size};
  while (name.size > 0 && is_space(name.bytes[name.size - 1])) name.size--;
  return name;
}

static const Command *find_command(Text word) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const char *name = commands[i].name;
    if (strlen(name) == word.size && memcmp(name, word.bytes, word.size) == 0)
      return &commands[i];
  }
  return NULL;
}

Line line_read(const char *text, size_t size) {
  const Text none = {"", 0};
  if (size == 0 || text[0] != '/')
    return (Line){LINE_TEXT, none, {text, (uint32_t)size}};
  Text rest = {text, (uint32_t)size};
  Text word = take_word(&rest);
  const Command *command = find_command(word);
  if (!command) return (Line){LINE_UNKNOWN, word, none};
  if (command->operand == OPERAND_NONE) return (Line){command->verb, none, none};
  bool has_object = rest.size > 0 && rest.bytes[0] == '{';
  if (command->operand == OPERAND_OBJECT)
    return (Line){command->verb, none, has_object ? rest : none};
  if (rest.size == 0) return (Line){LINE_INCOMPLETE, word, none};
  if (command->operand == OPERAND_NAME) return (Line){command->verb, rest, none};
  Text operand = command->operand == OPERAND_NAME_OBJECT ? take_until_object(&rest)
                                                         : take_word(&rest);
  return (Line){command->verb, operand, rest};
}

bool line_is_http_request(const char *text, size_t size) {
  static const char end[] = " HTTP/1.";
  size_t end_size = sizeof end - 1;
  size_t method_size = 0;
  while (method_size < size && text[method_size] >= 'A' && text[method_size] <= 'Z')
    method_size++;
  return method_size > 0 && size > method_size + 1 + end_size + 1 &&
         text[method_size] == ' ' &&
         memcmp(text + size - 1 - end_size, end, end_size) == 0 &&
         text[size - 1] >= '0' && text[size - 1] <= '9';
}

void line_append_safe(Buf *buf, const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    uint32_t code;
    size_t length = text_read_char(text + at, size - at, &code);
    if (length == 0 || text_is_control(code) || text_is_separator(code)) {
      buf_u8(buf, '?');
      at += length ? length : 1;
    } else {
      buf_append(buf, text + at, length);
      at += length;
    }
  }
}

void line_append_name(Buf *buf, const char *name, size_t size) {
  size_t start = buf->size;
  line_append_safe(buf, name, size);
  char *shown = (char *)buf->data + start;
  size_t shown_size = buf->size - start;
  for (size_t i = 0; i < shown_size; i++) {
    bool is_last = i + 1 == shown_size;
    if ((i == 0 && strchr("!*/", shown[i])) || shown[i] == '"' ||
        (shown[i] == ':' && (is_last || shown[i + 1] == ' ')))
      shown[i] = '?';
  }
}
