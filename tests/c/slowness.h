// The factor by which programs are slower in this build. Long tests do less work by it,
// and tests that measure allow more time.
#pragma once

#if defined(__SANITIZE_THREAD__)
enum { SLOWNESS = 10 };
#else
enum { SLOWNESS = 1 };
#endif
