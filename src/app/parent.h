// Ends the processes that this program starts of itself together with it.
#pragma once

#include <stdbool.h>

/// Makes this process end, as with SIGTERM, when its parent ends in any way. Returns false if
/// `pid`, a decimal number, is not the parent's, for example because that has ended already.
bool parent_follow(const char *pid);
