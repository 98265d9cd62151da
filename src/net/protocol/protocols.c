// See protocols.h.
#include "net/protocol/protocols.h"

#include "net/protocol/http/admin_calls.h"
#include "net/protocol/native.h"
#include "net/protocol/web_calls.h"

const Protocol *const PROTOCOLS[] = {
    [FRAMING_PACKETS] = &NATIVE,
    [FRAMING_LINES] = &NATIVE,
    [FRAMING_SNIFF] = &SNIFF,
    [FRAMING_ADMIN] = &ADMIN,
};
