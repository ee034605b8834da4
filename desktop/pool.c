/* The threads; see the header. One lock guards the whole state: a task has few pieces and each takes
 * long beside a lock. */
#include "desktop/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>

/* The deepest call is a compressor's. */
#ifdef CUAD_SANITIZE
#define STACK_BYTES (4u << 20)
#else
#define STACK_BYTES (256u << 10)
#endif

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* there is a piece, or the end has come */
	pthread_cond_t idle; /* a thread has started, or the last piece is done */
	pthread_t thread[POOL_MAX];
	size_t threads; /* without the caller's */
	size_t started;
	bool ending;
	/* the task */
	pool_fn *fn;
	void *ctx;
	size_t count;
	size_t next; /* the first piece that nobody has taken */
	size_t busy; /* threads that compute one */
};

/* Computes pieces while there are any. Called and left with the lock held. */
static void take_pieces(struct pool *pool, size_t slot) {
	while (pool->next < pool->count) {
		size_t i = pool->next++;
		pool->busy++;
		(void)pthread_mutex_unlock(&pool->lock);
		pool->fn(pool->ctx, slot, i);
		(void)pthread_mutex_lock(&pool->lock);
		pool->busy--;
	}
	if (pool->busy == 0) {
		(void)pthread_cond_signal(&pool->idle);
	}
}

static void *run(void *arg) {
	struct pool *pool = arg;
	(void)pthread_mutex_lock(&pool->lock);
	size_t slot = ++pool->started; /* the caller's is 0 */
	(void)pthread_cond_signal(&pool->idle);
	while (!pool->ending) {
		(void)pthread_cond_wait(&pool->work, &pool->lock);
		take_pieces(pool, slot);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static size_t cpus(void) {
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return count < POOL_MAX ? (size_t)count : POOL_MAX;
}

/* Signals stay with the caller's thread. */
static void start_threads(struct pool *pool, size_t count) {
	pthread_attr_t attr;
	sigset_t all;
	sigset_t before;
	if (pthread_attr_init(&attr) != 0) {
		return;
	}
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool->threads < count &&
		pthread_create(&pool->thread[pool->threads], &attr, run, pool) == 0) {
		pool->threads++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	(void)pthread_mutex_lock(&pool->lock);
	while (pool->started < pool->threads) {
		(void)pthread_cond_wait(&pool->idle, &pool->lock);
	}
	(void)pthread_mutex_unlock(&pool->lock);
}

struct pool *pool_new(struct cua_err *err) {
	struct pool *pool = calloc(1, sizeof(*pool));
	if (!pool) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for threads");
		return NULL;
	}
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->work, NULL);
	(void)pthread_cond_init(&pool->idle, NULL);
	start_threads(pool, cpus() - 1);
	return pool;
}

struct pool *pool_free(struct pool *pool) {
	if (!pool) {
		return NULL;
	}
	(void)pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	(void)pthread_cond_broadcast(&pool->work);
	(void)pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->threads; i++) {
		(void)pthread_join(pool->thread[i], NULL);
	}
	(void)pthread_cond_destroy(&pool->idle);
	(void)pthread_cond_destroy(&pool->work);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

size_t pool_size(const struct pool *pool) {
	return pool ? pool->threads + 1 : 1;
}

static void run_here(pool_fn *fn, void *ctx, size_t count) {
	for (size_t i = 0; i < count; i++) {
		fn(ctx, 0, i);
	}
}

void pool_run(struct pool *pool, pool_fn *fn, void *ctx, size_t count) {
	if (!pool || pool->threads == 0 || count < 2) {
		run_here(fn, ctx, count);
		return;
	}
	(void)pthread_mutex_lock(&pool->lock);
	pool->fn = fn;
	pool->ctx = ctx;
	pool->next = 0;
	pool->count = count;
	for (size_t i = 1; i < count && i <= pool->threads; i++) {
		(void)pthread_cond_signal(&pool->work);
	}
	take_pieces(pool, 0);
	while (pool->busy > 0) {
		(void)pthread_cond_wait(&pool->idle, &pool->lock);
	}
	pool->count = 0;
	(void)pthread_mutex_unlock(&pool->lock);
}
