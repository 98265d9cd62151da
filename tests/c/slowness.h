// How many times as long programs take in this build: so much less work for tests that do
// a lot, and more time for what is measured.
#pragma once

#if defined(__SANITIZE_THREAD__)
enum { SLOWNESS = 10 };
#else
enum { SLOWNESS = 1 };
#endif
