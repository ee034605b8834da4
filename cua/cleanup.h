/* The one cleanup idiom: declare with an attribute, fill, take on success. */
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline void cua_cleanup_free(void *p) {
	free(*(void **)p);
}

static inline void cua_cleanup_fd(const int *fd) {
	if (*fd >= 0) {
		(void)close(*fd);
	}
}

/* Frees a heap pointer at the end of the scope. */
#define _cleanup_free_ __attribute__((cleanup(cua_cleanup_free), unused))
/* Closes a descriptor at the end of the scope; -1 means empty. */
#define _cleanup_fd_ __attribute__((cleanup(cua_cleanup_fd), unused))
/* Any other destructor: `_cleanup_(fn)` calls fn(&variable). */
#define _cleanup_(fn) __attribute__((cleanup(fn), unused))

/* Defines `name_p` for use with _cleanup_ from a destructor that takes the pointer itself. */
#define CUA_DEFINE_CLEANUP(type, fn)                                                               \
	static inline void fn##_p(type *p) {                                                       \
		if (*p) {                                                                          \
			(void)fn(*p);                                                              \
		}                                                                                  \
	}

/* Moves a pointer or a descriptor out of a variable that has a cleanup attribute. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})
#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

#define CUA_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CUA_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define CUA_CHECK __attribute__((warn_unused_result))
