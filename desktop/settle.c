/* One timer for all waits, set to the nearest moment at which one of them could end. */
#include "desktop/settle.h"

struct settle {
	struct loop_timer *timer;
	loop_fn *look;
	void *ctx;
	uint64_t changed_us; /* the last change */
	struct settle_wait head; /* a ring */
};

static uint64_t later(uint64_t a, uint64_t b) {
	return a > b ? a : b;
}

static uint64_t us(uint32_t ms) {
	return (uint64_t)ms * 1000;
}

static uint64_t quiet_at(const struct settle *settle, const struct settle_wait *wait) {
	const struct settle_want *want = &wait->want_;
	uint64_t quiet = later(wait->start_us, settle->changed_us) + us(want->quiet_ms);
	return settle->changed_us > want->since_us
		       ? quiet
		       : later(quiet, wait->start_us + us(want->first_ms));
}

static uint64_t ends_at(const struct settle *settle, const struct settle_wait *wait) {
	uint64_t quiet = quiet_at(settle, wait);
	uint64_t cap = wait->start_us + us(wait->want_.max_ms);
	return quiet < cap ? quiet : cap;
}

/* The first wait to end, or NULL. */
static struct settle_wait *nearest(struct settle *settle) {
	struct settle_wait *best = NULL;
	for (struct settle_wait *w = settle->head.next_; w != &settle->head; w = w->next_) {
		if (!best || ends_at(settle, w) < ends_at(settle, best)) {
			best = w;
		}
	}
	return best;
}

static void set_timer(struct settle *settle) {
	const struct settle_wait *wait = nearest(settle);
	if (!wait) {
		loop_timer_stop(settle->timer);
		return;
	}
	uint64_t now = loop_now_us();
	uint64_t end = ends_at(settle, wait);
	loop_timer_start(settle->timer, end > now ? (end - now + 999) / 1000 : 0);
}

static void on_timer(void *ctx) {
	struct settle *settle = ctx;
	settle->look(settle->ctx);
	for (;;) {
		struct settle_wait *wait = nearest(settle);
		uint64_t now = loop_now_us();
		if (!wait || ends_at(settle, wait) > now) {
			break;
		}
		bool settled = quiet_at(settle, wait) <= now;
		settle_cancel(wait);
		wait->fn_(wait, settled);
	}
	set_timer(settle);
}

struct settle *settle_new(struct loop *loop, loop_fn *look, void *ctx, struct cua_err *err) {
	_cleanup_free_ struct settle *settle = calloc(1, sizeof(*settle));
	if (!settle) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to wait for quiet");
		return NULL;
	}
	settle->timer = loop_timer_new(loop, on_timer, settle, err);
	if (!settle->timer) {
		return NULL;
	}
	settle->look = look;
	settle->ctx = ctx;
	settle->head.next_ = &settle->head;
	settle->head.previous_ = &settle->head;
	return take_ptr(settle);
}

struct settle *settle_free(struct settle *settle) {
	if (settle) {
		loop_timer_free(settle->timer);
	}
	free(settle);
	return NULL;
}

void settle_begin(struct settle *settle, struct settle_wait *wait, const struct settle_want *want,
	void (*fn)(struct settle_wait *wait, bool settled)) {
	*wait = (struct settle_wait){
		.next_ = &settle->head,
		.previous_ = settle->head.previous_,
		.settle_ = settle,
		.start_us = loop_now_us(),
		.want_ = *want,
		.fn_ = fn,
	};
	wait->previous_->next_ = wait;
	settle->head.previous_ = wait;
	set_timer(settle);
}

void settle_cancel(struct settle_wait *wait) {
	if (!wait->settle_) {
		return;
	}
	wait->previous_->next_ = wait->next_;
	wait->next_->previous_ = wait->previous_;
	wait->settle_ = NULL;
}

void settle_changed(struct settle *settle, uint64_t changed_us) {
	if (changed_us != settle->changed_us) {
		settle->changed_us = changed_us;
		set_timer(settle);
	}
}

bool settle_busy(const struct settle *settle) {
	return settle->head.next_ != &settle->head;
}
