// Uses getrlimit and setrlimit. If a limit cannot be raised, it stays as it is.
#include "server/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

void descriptors_fill(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

void descriptors_raise(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void descriptors_check(uint32_t max_clients, uint32_t io_threads) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  int64_t fits = (int64_t)limit.rlim_cur - DESCRIPTORS_OWN -
                 (int64_t)DESCRIPTORS_OF_THREAD * io_threads;
  if (fits < 0) fits = 0;
  if ((int64_t)max_clients <= fits) return;
  log_warn("max_clients is more than the file descriptors allow; raise `ulimit -n`",
           log_num("max_clients", max_clients),
           log_num("descriptors", (int64_t)limit.rlim_cur), log_num("fit", fits));
}
