// /proc/PID/task/*/schedstat, whose first number is the nanoseconds that a thread has run.
#include "cpu.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void add_thread(CpuTimes *times, const char *path, const char *id) {
  char file[384];
  unsigned long long ran = 0;
  snprintf(file, sizeof file, "%s/%s/schedstat", path, id);
  FILE *stat = fopen(file, "r");
  if (!stat) return;  // the thread has ended
  if (times->count < CPU_THREADS_MAX && fscanf(stat, "%llu", &ran) == 1) {
    times->threads[times->count].id = atoi(id);
    times->threads[times->count++].ns = ran;
  }
  fclose(stat);
}

CpuTimes cpu_times(int pid) {
  CpuTimes times = {.pid = pid};
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  if (!tasks) {
    fprintf(stderr, "no server with pid %d\n", pid);
    exit(1);
  }
  for (struct dirent *task; (task = readdir(tasks));)
    if (task->d_name[0] != '.') add_thread(&times, path, task->d_name);
  closedir(tasks);
  return times;
}

static uint64_t ran_before(const CpuTimes *times, int id) {
  for (uint32_t i = 0; i < times->count; i++)
    if (times->threads[i].id == id) return times->threads[i].ns;
  return 0;
}

CpuUse cpu_used(const CpuTimes *before) {
  CpuTimes now = cpu_times(before->pid);
  CpuUse use = {0};
  for (uint32_t i = 0; i < now.count; i++) {
    uint64_t ns = now.threads[i].ns - ran_before(before, now.threads[i].id);
    use.all_ns += ns;
    if (now.threads[i].id == now.pid) use.first_ns = ns;
    if (ns > use.busiest_ns) use.busiest_ns = ns;
  }
  return use;
}
