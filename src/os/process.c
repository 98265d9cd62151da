#include "os/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STAT_SIZE = 1024 };

// Returns the number of open descriptors, without the one that reads the folder.
static uint64_t count_descriptors(void) {
  uint64_t count = 0;
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) return 0;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(folder);
  return count - 1;
}

// Returns the time at which the machine started, in seconds since 1970.
static double boot_s(void) {
  char line[STAT_SIZE];
  double seconds = 0;
  FILE *file = fopen("/proc/stat", "r");
  while (file != NULL && seconds == 0 && fgets(line, sizeof line, file) != NULL)
    sscanf(line, "btime %lf", &seconds);
  if (file != NULL) fclose(file);
  return seconds;
}

// Reads proc_pid_stat(5). The name of the process ends with the last bracket.
static void read_stat(ProcessFigures *figures) {
  static const char FIELDS[] =
      ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
      "%lf %lf %lf";
  char text[STAT_SIZE];
  double ticks, bytes, pages, boot = boot_s();
  FILE *file = fopen("/proc/self/stat", "r");
  if (file == NULL) return;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char *end = strrchr(text, ')');
  if (end == NULL || sscanf(end, FIELDS, &ticks, &bytes, &pages) != 3) return;
  if (boot > 0) figures->started_s = boot + ticks / (double)sysconf(_SC_CLK_TCK);
  figures->virtual_bytes = (uint64_t)bytes;
  figures->resident_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double seconds_of(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

double process_cpu_s(void) {
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used) != 0) return 0;
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

ProcessFigures process_figures(void) {
  struct rlimit limit;
  ProcessFigures figures = {.descriptors = count_descriptors(),
                            .cpu_s = process_cpu_s()};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.descriptors_max = limit.rlim_cur;
  read_stat(&figures);
  return figures;
}
