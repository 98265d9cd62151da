// Bots: peers without a connection. The relay decides to which room each bot belongs,
// and the script plays the bots.

#include "base/log.h"
#include "base/mem.h"
#include "session/internal.h"

Peer *session_add_bot(Session *session, Text name) {
  Peer *bot = mem_zalloc(sizeof *bot);
  bot->id = slots_add(&session->peers, bot);
  if (bot->id == 0) {
    mem_free(bot);
    return NULL;
  }
  bot->owner = session;
  bot->is_bot = true;
  bot->state = PEER_CONNECTING;
  bot->framing = FRAMING_PACKETS;
  bot->transport = TRANSPORT_BOT;
  bot->last_packet_ms = net_now_ms(session->net);
  handshake_uuid(session->net, bot->session);
  peer_set_texts(bot, name, "", (Text){0});
  if (name.size > 0)
    peer_names_hold(session, bot);
  else
    peer_names_make(session, bot);
  return bot;
}

void session_start_bot(Peer *bot) {
  bot->state = PEER_BOT;
  log_debug("bot added", log_num("peer", bot->id),
            log_bytes("name", bot->name, bot->name_size));
}

void session_drop_bot(Session *session, Peer *bot) {
  peer_names_drop(session, bot);
  peer_free(session, bot);
}
