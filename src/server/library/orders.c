// The list of orders. All threads append to it; the loop takes orders from it.
#include "base/mem.h"
#include "server/library/library.h"

void orders_init(Orders *orders) {
  pthread_mutex_init(&orders->lock, NULL);
  orders->end = &orders->first;
}

void order_free(Order *order) {
  buf_deinit(&order->commands);
  buf_deinit(&order->rooms);
  mem_free(order);
}

static void free_list(Order *first) {
  for (Order *next; first != NULL; first = next) {
    next = first->next;
    order_free(first);
  }
}

void orders_deinit(Orders *orders) {
  free_list(orders->first);
  free_list(orders->creating);
  pthread_mutex_destroy(&orders->lock);
}

int orders_push(perigee_server *self, Order *order, bool is_reported) {
  Orders *orders = &self->orders;
  size_t bytes = order->commands.size;
  pthread_mutex_lock(&orders->lock);
  int code = orders->is_over                        ? PERIGEE_SERVER_OVER
             : orders->bytes + bytes > ORDERS_BYTES ? PERIGEE_SERVER_LIMIT
                                                    : PERIGEE_SERVER_OK;
  bool is_first = orders->first == NULL;
  if (code == PERIGEE_SERVER_OK) {
    if (is_reported)  // positive, even when converted to an int
      order->request = orders->last_request = orders->last_request % INT32_MAX + 1;
    code = (int)order->request;
    *orders->end = order;
    orders->end = &order->next;
    orders->bytes += bytes;
    orders->is_any = true;
  }
  if (code >= 0 && is_first) bell_ring(self->bell);
  pthread_mutex_unlock(&orders->lock);
  if (code < 0) order_free(order);
  return code;
}

void orders_end(Orders *orders) {
  pthread_mutex_lock(&orders->lock);
  orders->is_over = true;
  pthread_mutex_unlock(&orders->lock);
}

Order *orders_take(Orders *orders) {
  if (!atomic_load_explicit(&orders->is_any, memory_order_acquire)) return NULL;
  pthread_mutex_lock(&orders->lock);
  Order *first = orders->first;
  orders->first = first->next;
  if (orders->first == NULL) orders->end = &orders->first;
  orders->bytes -= first->commands.size;
  orders->is_any = orders->first != NULL;
  pthread_mutex_unlock(&orders->lock);
  first->next = NULL;
  return first;
}
