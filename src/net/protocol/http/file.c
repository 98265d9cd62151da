// Files of a game's folder. The thread pool opens and reads them, so that a slow disk
// delays no other connection. It reads the next piece of a file when the previous piece
// has been written. The file is closed between pieces, so that a slow client uses only
// one descriptor (its socket). If the file has been replaced meanwhile, the answer
// ends.
//
// A file is served if its path, with all symlinks resolved, lies in the folder. To find
// that path, the file is opened with O_PATH, which has no effect on the file itself.
// The rules in the ignore file beside the folder (wire/ignore.h) hide files. They apply
// to the requested path and to the resolved path.
#define _GNU_SOURCE  // O_PATH
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/least.h"
#include "base/mem.h"
#include "net/protocol/http/site.h"
#include "wire/ignore.h"

enum {
  FD_PATH_SIZE = 32,
  AGAIN_MS = 100,  // wait before the next attempt when no descriptor is free
};

typedef struct FileJob {
  uv_work_t request;
  Conn *conn;  // connection; NULL: it has ended
  bool is_working;
  bool is_folder;  // the requested path ends in a slash
  char *folder;    // owned
  char path[HTTP_PATH_MAX + sizeof "/index.html"];  // path inside the folder
  // Results of the thread:
  int err;  // 0 or an errno; EISDIR: the path is a folder
  struct stat info;
  uint8_t *chunk;  // piece of the content; NULL: the file was only checked so far
  size_t chunk_size;
  // Range of bytes that must still be sent.
  uint64_t at, left;
  Timer again;  // set while no descriptor is free
} FileJob;

// --- In a thread ---

// Stores the resolved path of an open file in `place`. Returns false if the file has
// none.
static bool locate(int fd, char place[PATH_MAX]) {
  char name[FD_PATH_SIZE];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(name, place, PATH_MAX - 1);
  if (size <= 0) return false;
  place[size] = '\0';
  return true;
}

static bool is_inside(const char *folder, const char *place) {
  size_t size = strlen(folder);
  if (strcmp(folder, "/") == 0) return true;
  return strncmp(folder, place, size) == 0 && place[size] == '/';
}

// Returns whether the rules hide the requested path or the resolved path. If the rules
// cannot be read, every file is hidden.
static bool is_hidden(const FileJob *job, const char *inner_place) {
  const char *paths[] = {job->path, inner_place}, *slash = strrchr(job->folder, '/');
  const char *name = slash ? slash + 1 : job->folder;
  char place[2 * PATH_MAX];
  Buf text = {0};
  snprintf(place, sizeof place, "%.*s" IGNORE_FILE, (int)(name - job->folder),
           job->folder);
  bool is_hidden = file_read_if_any(place, &text) != 0;
  for (int i = 0; i < 2; i++) {
    snprintf(place, sizeof place, "%s/%s%s", name, paths[i],
             S_ISDIR(job->info.st_mode) ? "/" : "");
    is_hidden |= ignore_has(http_text(&text), place);
  }
  buf_deinit(&text);
  return is_hidden;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// Checks that the file may be served and, after the first piece, that it is still the
// same file.
static int check_held(FileJob *job, int folder, int held) {
  char root[PATH_MAX], place[PATH_MAX];
  struct stat info;
  if (fstat(held, &info) != 0) return errno;
  if (job->chunk) return is_same(&info, &job->info) ? 0 : ESTALE;
  job->info = info;
  if (!locate(folder, root) || !locate(held, place)) return ENOENT;
  if (!is_inside(root, place)) return EACCES;
  if (is_hidden(job, place + strlen(root))) return ENOENT;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return S_ISREG(info.st_mode) ? 0 : EACCES;
}

// Opens the file, and reads the next piece if one is needed.
static int read_held(FileJob *job, int held) {
  char name[FD_PATH_SIZE];
  snprintf(name, sizeof name, "/proc/self/fd/%d", held);
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  int err = 0;
  if (job->chunk) {
    size_t size = least(job->left, FILE_CHUNK_BYTES);
    ssize_t got = pread(fd, job->chunk, size, (off_t)job->at);
    job->chunk_size = got > 0 ? (size_t)got : 0;
    err = got < 0 ? errno : got == 0 ? EIO : 0;  // EIO: the file has become shorter
  }
  close(fd);
  return err;
}

static int work(FileJob *job) {
  int folder = open(job->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  int held = openat(folder, job->path, O_PATH | O_CLOEXEC);
  int err = held < 0 ? errno : check_held(job, folder, held);
  if (err == 0) err = read_held(job, held);
  if (held >= 0) close(held);
  close(folder);
  return err;
}

static void on_work(uv_work_t *request) {
  FileJob *job = request->data;
  job->err = work(job);
}

// --- On the loop ---

static void work_on(FileJob *job);

static void free_job(FileJob *job) {
  mem_free(job->chunk);
  mem_free(job->folder);
  mem_free(job);
}

// Frees a job whose request has been answered, or whose connection has ended.
static void drop(FileJob *job) {
  timers_stop(job->conn->net->timers, &job->again);
  job->conn = NULL;
  if (!job->is_working) free_job(job);
}

void file_gone(Conn *conn) { drop(http_of(conn)->job); }

void file_drained(Conn *conn) { work_on(http_of(conn)->job); }

// Makes a tag from time, size and inode of a file, which identify its version.
static HttpVersion version_of(const struct stat *info) {
  HttpVersion version = {.changed_s = info->st_mtim.tv_sec};
  unsigned long long changed_ns =
      (unsigned long long)info->st_mtim.tv_sec * 1000000000 +
      (unsigned long long)info->st_mtim.tv_nsec;
  snprintf(version.tag, sizeof version.tag, "\"%llx-%llx-%llx\"", changed_ns,
           (unsigned long long)info->st_size, (unsigned long long)info->st_ino);
  return version;
}

static bool lacks_descriptor(int err) { return err == EMFILE || err == ENFILE; }

static void answer_welcome(Conn *conn, const HttpRequest *request) {
  Buf body = {0};
  const Text *host = http_field(request, "host");
  page_put_welcome(&body, web_of(conn->net), host ? *host : (Text){"", 0});
  http_answer(conn, &(HttpAnswer){.status = 200,
                                  .type = "text/html; charset=utf-8",
                                  .body = http_text(&body)});
  buf_deinit(&body);
}

// Redirects to the path with a slash, because relative links would be wrong without it.
static void redirect(Conn *conn, const HttpRequest *request) {
  Text target = request->target;
  const char *query = memchr(target.bytes, '?', target.size);
  int size = query ? (int)(query - target.bytes) : (int)target.size;
  Buf fields = {0};
  http_put_field(&fields, "Location", "%.*s/", size, target.bytes);
  http_answer(conn, &(HttpAnswer){.status = 301, .fields = http_text(&fields)});
  buf_deinit(&fields);
}

static int decide(const HttpRequest *request, HttpAnswer *answer) {
  if (http_is_known(request, answer->version)) return 304;
  switch (http_read_part(request, answer->version, answer->size, &answer->first,
                         &answer->count)) {
    case PART_RANGE:
      return 206;
    case PART_IMPOSSIBLE:
      answer->count = 0;
      return 416;
    default:
      return 200;
  }
}

// Begins the answer with a file. Makes browsers ask for pages each time, so that a page
// and its files have the same version. Browsers may keep other files for a while,
// unless the files are being edited.
static void begin_answer(FileJob *job, const HttpRequest *request) {
  HttpVersion version = version_of(&job->info);
  const char *type = http_type(job->path);
  bool must_ask =
      web_of(job->conn->net)->is_watched || strncmp(type, "text/html", 9) == 0;
  HttpAnswer answer = {.version = &version,
                       .type = type,
                       .cache = must_ask ? "no-cache" : "max-age=60",
                       .size = (uint64_t)job->info.st_size};
  answer.status = decide(request, &answer);
  bool is_head_only = answer.status == 304 || request->method == METHOD_HEAD;
  Conn *conn = job->conn;
  if (answer.count == 0 || is_head_only) {
    drop(job);
  } else {
    answer.rest = HTTP_PIECES;
    job->at = answer.first;
    job->left = answer.count;
    job->chunk = mem_alloc(FILE_CHUNK_BYTES);
  }
  http_answer(conn, &answer);
}

static void on_checked(FileJob *job) {
  HttpRequest request;
  Conn *conn = job->conn;
  http_request(conn, &request);
  if (job->err == 0) {
    begin_answer(job, &request);
    return;
  }
  int err = job->err;
  bool is_folder = job->is_folder;
  bool is_root = is_folder && strcmp(job->path, "index.html") == 0;
  drop(job);
  if (err == EISDIR && !is_folder)
    redirect(conn, &request);
  else if (lacks_descriptor(err))
    http_refuse(conn, 503, "too many files are open");
  else if (err == ENOENT && is_root)
    answer_welcome(conn, &request);
  else
    http_refuse(conn, 404, "there is nothing here");
}

static void on_again(void *data, uint64_t now_ms) {
  (void)now_ms;
  work_on(data);
}

static void on_chunk(FileJob *job) {
  Conn *conn = job->conn;
  if (lacks_descriptor(job->err)) {
    Net *net = conn->net;
    timers_set(net->timers, &job->again, net_now_ms(net) + AGAIN_MS, on_again, job);
    return;
  }
  if (job->err) {
    conn_end(conn, END_BROKEN);  // the head contains the length of the whole body
    return;
  }
  uint8_t *chunk = job->chunk;
  Text bytes = {(char *)chunk, (uint32_t)job->chunk_size};
  job->at += bytes.size;
  job->left -= bytes.size;
  bool is_last = job->left == 0;
  if (is_last) job->chunk = NULL, drop(job);
  http_send(conn, bytes, is_last);
  if (is_last) mem_free(chunk);
}

static void on_worked(uv_work_t *request, int status) {
  FileJob *job = request->data;
  (void)status;
  job->is_working = false;
  if (!job->conn)
    free_job(job);
  else if (job->conn->self.listed & LISTED_ENDED)
    return;  // the end of the connection frees the job
  else if (job->chunk)
    on_chunk(job);
  else
    on_checked(job);
}

static void work_on(FileJob *job) {
  job->is_working = true;
  uv_queue_work(&job->conn->net->loop.uv, &job->request, on_work, on_worked);
}

void file_handle(Conn *conn, const HttpRequest *request) {
  const Web *web = web_of(conn->net);
  HttpPath path;
  http_read_path(request->target, &path);
  FileJob *job = mem_zalloc(sizeof *job);
  job->request.data = job;
  job->conn = conn;
  job->folder = mem_strdup(web->folder);
  job->is_folder = path.is_folder;
  snprintf(job->path, sizeof job->path, "%s%s%s", path.text,
           path.is_folder && path.text[0] ? "/" : "",
           path.is_folder ? "index.html" : "");
  http_of(conn)->job = job;
  work_on(job);
}
