// See found.h. The version of a find is a hash of the ids and versions of its
// documents. The version of a count is the number of documents.
#include "store/found.h"

#include "base/hash.h"

enum {
  VERSION_BITS = 53,    // number of bits that are exact in a Lua number
  SCAN_MAX = 256 << 10  // limit of the bytes of a scan; a script takes all at once
};

typedef struct Found {
  const StoreQuery *query;  // NULL: a scan
  StoreUnit *documents;     // found documents; NULL: only their hash is wanted
  uint32_t collection;
  uint32_t count;
  size_t bytes;
  uint64_t hash;
  Buf cursor;  // cursor behind the last document; empty: no more documents follow
} Found;

static bool on_row(void *data, const BackendRow *row) {
  Found *found = data;
  const StoreDocument *document = &row->document;
  const uint64_t key[2] = {found->hash, (uint64_t)document->version};
  found->hash = hash_bytes(key, row->id.bytes, row->id.size);
  found->bytes += row->id.size + document->value.size;
  found->count++;
  bool is_cut = found->bytes >= (found->query != NULL ? STORE_FOUND_MAX : SCAN_MAX);
  if (found->documents != NULL)
    unit_push(found->documents, &(StoreStep){.type = STORE_PUT,
                                             .collection = found->collection,
                                             .schema = document->schema,
                                             .version = document->version,
                                             .id = row->id,
                                             .value = document->value});
  if (found->query != NULL && (is_cut || found->count == found->query->limit))
    store_cursor_write(found->query, row, &found->cursor);
  return !is_cut;
}

static StoreCode find(const BackendOps *ops, Backend *backend, Found *found,
                      int64_t *version, StoreFault *fault) {
  StoreCode code = ops->find(backend, found->query, on_row, found, fault);
  *version = (int64_t)(found->hash & (((uint64_t)1 << VERSION_BITS) - 1));
  return code;
}

static StoreCode read_version(const BackendOps *ops, Backend *backend,
                              const StoreQuery *query, int64_t *version,
                              StoreFault *fault) {
  Found found = {.query = query};
  uint64_t count = 0;
  StoreCode code = query->is_count ? ops->count(backend, query, &count, fault)
                                   : find(ops, backend, &found, version, fault);
  if (query->is_count) *version = (int64_t)count;
  buf_deinit(&found.cursor);
  return code;
}

static void find_page(const BackendOps *ops, Backend *backend, const StoreQuery *query,
                      Request *request) {
  StoreAnswer *answer = &request->answer;
  Found found = {
      .query = query, .documents = &answer->found, .collection = query->collection};
  find(ops, backend, &found, &answer->version, &answer->fault);
  request->value = found.cursor;
  answer->cursor = (Text){(const char *)found.cursor.data, (uint32_t)found.cursor.size};
}

StoreCode found_find(const BackendOps *ops, Backend *backend, Request *request) {
  StoreAnswer *answer = &request->answer;
  StoreQuery query = *request_query(request);
  int64_t version = 0;
  bool has_writes = request->unit.size > 0;
  if (has_writes &&
      read_version(ops, backend, &query, &version, &answer->fault) != STORE_OK)
    return answer->fault.code;
  query.writes = has_writes ? &request->unit : NULL;
  if (query.is_count)
    ops->count(backend, &query, &answer->count, &answer->fault);
  else
    find_page(ops, backend, &query, request);
  if (query.is_count) answer->version = (int64_t)answer->count;
  if (has_writes) answer->version = version;
  return answer->fault.code;
}

StoreCode found_scan(const BackendOps *ops, Backend *backend, Request *request) {
  const StoreScan *scan = request_scan(request);
  Found found = {.documents = &request->answer.found, .collection = scan->collection};
  return ops->scan(backend, scan, on_row, &found, &request->answer.fault);
}

StoreCode found_check(const BackendOps *ops, Backend *backend, const StoreStep *step,
                      StoreFault *fault) {
  StoreQuery query;
  int64_t version = 0;
  if (!store_query_read(step->value, &query))
    return store_fault(fault, STORE_INVALID, "the query of a check is malformed");
  if (read_version(ops, backend, &query, &version, fault)) return fault->code;
  if (version == step->version) return STORE_OK;
  return store_fault(fault, STORE_CONFLICT, "another write came first");
}
