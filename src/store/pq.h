// libpq, which the first `postgres://` loads. The server does not link libpq, because
// most games keep their documents in a file of SQLite. This file replaces libpq's
// headers. It declares the functions and numbers that the store uses, from the binary
// interface libpq.so.5 (of PostgreSQL 14 and later, because of the pipeline mode).
#pragma once

typedef struct PqConnection PqConnection;  // PGconn
typedef struct PqResult PqResult;          // PGresult

enum {
  PQ_CONNECTION_BAD = 1,
  PQ_DEFAULT = 1,
  PQ_VERBOSE = 2,
  PQ_SQLSTATE = 'C',
  PQ_MESSAGE = 'M'
};

typedef enum PqPolling {
  PQ_POLLING_FAILED,
  PQ_POLLING_READING,
  PQ_POLLING_WRITING,
  PQ_POLLING_OK,
} PqPolling;

typedef enum PqStatus {
  PQ_COMMAND_OK = 1,
  PQ_TUPLES_OK = 2,
  PQ_FATAL_ERROR = 7,
  PQ_PIPELINE_SYNC = 10,
  PQ_PIPELINE_ABORTED = 11,
} PqStatus;

/// Receives notices of the server.
typedef void PqOnNotice(void *data, const PqResult *result);

/// The functions of the library.
typedef struct Pq {
  PqConnection *(*connectStartParams)(const char *const *names,
                                      const char *const *values, int expand);
  int (*connectPoll)(PqConnection *connection);
  int (*connectionNeedsPassword)(const PqConnection *connection);
  int (*serverVersion)(const PqConnection *connection);
  void (*finish)(PqConnection *connection);
  int (*status)(const PqConnection *connection);
  char *(*errorMessage)(const PqConnection *connection);
  int (*socket)(const PqConnection *connection);
  int (*setErrorVerbosity)(PqConnection *connection, int verbosity);
  PqOnNotice *(*setNoticeReceiver)(PqConnection *connection, PqOnNotice *on_notice,
                                   void *data);
  int (*setnonblocking)(PqConnection *connection, int is_nonblocking);
  int (*enterPipelineMode)(PqConnection *connection);
  int (*pipelineSync)(PqConnection *connection);
  int (*sendPrepare)(PqConnection *connection, const char *name, const char *sql,
                     int count, const unsigned *types);
  int (*sendQueryPrepared)(PqConnection *connection, const char *name, int count,
                           const char *const *values, const int *sizes,
                           const int *formats, int format);
  int (*sendQueryParams)(PqConnection *connection, const char *sql, int count,
                         const unsigned *types, const char *const *values,
                         const int *sizes, const int *formats, int format);
  int (*flush)(PqConnection *connection);
  int (*consumeInput)(PqConnection *connection);
  int (*isBusy)(PqConnection *connection);
  PqResult *(*getResult)(PqConnection *connection);
  int (*resultStatus)(const PqResult *result);
  char *(*resultErrorField)(const PqResult *result, int field);
  char *(*cmdStatus)(PqResult *result);
  int (*ntuples)(const PqResult *result);
  int (*nfields)(const PqResult *result);
  char *(*fname)(const PqResult *result, int field);
  unsigned (*ftype)(const PqResult *result, int field);
  char *(*getvalue)(const PqResult *result, int row, int field);
  int (*getlength)(const PqResult *result, int row, int field);
  int (*getisnull)(const PqResult *result, int row, int field);
  void (*clear)(PqResult *result);
  void *(*conninfoParse)(const char *place, char **error);
  void (*conninfoFree)(void *options);
  void (*freemem)(void *memory);
} Pq;

/// Returns the library, or NULL if this machine does not have it. The process loads the
/// library only once. Any thread may call this function.
const Pq *pq_load(void);
