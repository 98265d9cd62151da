// What this program starts of itself ends with it, however that ends.
#pragma once

#include <stdbool.h>

/// Has this process end, as with SIGTERM, when its parent does, killed or not. False when
/// `pid`, a number in decimal, is not the parent's, be it that the parent has ended already.
bool parent_follow(const char *pid);
