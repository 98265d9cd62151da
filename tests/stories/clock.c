#include "clock.h"

#ifdef _WIN32
#include <windows.h>

static double passed_seconds;

void clock_pass(double seconds) { passed_seconds += seconds; }

static BOOL WINAPI read_clock(LARGE_INTEGER *ticks) {
  LARGE_INTEGER each_second;
  FARPROC read =
      GetProcAddress(GetModuleHandleA("kernel32"), "QueryPerformanceCounter");
  BOOL is_good = ((BOOL(WINAPI *)(LARGE_INTEGER *))(void (*)(void))read)(ticks);
  QueryPerformanceFrequency(&each_second);
  ticks->QuadPart += (LONGLONG)(passed_seconds * (double)each_second.QuadPart);
  return is_good;
}

// Replaces the import in the library's os.c.
BOOL(WINAPI *__imp_QueryPerformanceCounter)(LARGE_INTEGER *) = read_clock;

#else
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND_NS = 1000000000;
static int64_t passed_ns;

void clock_pass(double seconds) { passed_ns += (int64_t)(seconds * 1e9); }

int clock_gettime(clockid_t id, struct timespec *now) {
  int code = (int)syscall(SYS_clock_gettime, id, now);
  if (code != 0) return code;
  int64_t later_ns = now->tv_sec * SECOND_NS + now->tv_nsec + passed_ns;
  *now = (struct timespec){.tv_sec = later_ns / SECOND_NS,
                           .tv_nsec = later_ns % SECOND_NS};
  return 0;
}
#endif
