// See protocols.h.
#include "net/protocol/protocols.h"

#include "net/net.h"
#include "net/protocol/native.h"
#include "net/protocol/sniff.h"

const Protocol *const PROTOCOLS[] = {
    [FRAMING_PACKETS] = &NATIVE,
    [FRAMING_LINES] = &NATIVE,
    [FRAMING_SNIFF] = &SNIFF,
    [FRAMING_ADMIN] = &SNIFF_ADMIN,
};
