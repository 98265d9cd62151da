// Replaces libFuzzer in the normal test run, so that any compiler can replay the
// corpus: runs a fuzz target once on each file that is named on the command line or
// lies in a named folder. Ignores libFuzzer's options.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 1 << 20, PATH_SIZE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path) {
  perror(path);
  exit(1);
}

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail(path);
  uint8_t *data = malloc(INPUT_MAX);
  size_t size = data ? fread(data, 1, INPUT_MAX, file) : 0;
  if (!data || ferror(file)) fail(path);
  fclose(file);
  // Copies the input into memory of exactly its size, so that ASan sees each read past
  // the end.
  uint8_t *input = realloc(data, size ? size : 1);
  if (!input) fail(path);
  LLVMFuzzerTestOneInput(input, size);
  free(input);
  return 1;
}

static int replay_folder(const char *path, DIR *folder) {
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    char name[PATH_SIZE];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    count += replay_file(name);
  }
  return count;
}

int main(int argc, char **argv) {
  int count = 0;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-') continue;
    DIR *folder = opendir(argv[i]);
    count += folder ? replay_folder(argv[i], folder) : replay_file(argv[i]);
    if (folder) closedir(folder);
  }
  printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
