/* MIT-SHM in the form that passes a descriptor, which only xcb speaks. What the pixels are of is not
 * known here. */
#include "desktop/shm.h"

#include <sys/mman.h>
#include <xcb/shm.h>

#include "cua/fdio.h"
#include "desktop/x11_priv.h"

void shm_done(struct shm *shm, struct x11 *x) {
	if (shm->segment && x11_alive(x)) {
		(void)xcb_shm_detach(x->xcb, shm->segment);
	}
	if (shm->pixels) {
		(void)munmap(shm->pixels, shm->len);
	}
	*shm = (struct shm){0};
}

/* The server gets its own descriptor of the memory; ours is closed once it is mapped. */
int shm_make(struct shm *shm, struct x11 *x, size_t len, struct cua_err *err) {
	shm_done(shm, x);
	void *map = NULL;
	_cleanup_fd_ int fd = fd_memfd_mapped(len, &map, err);
	if (fd < 0) {
		return fd;
	}
	shm->pixels = map;
	shm->len = len;
	shm->segment = xcb_generate_id(x->xcb);
	/* xcb closes the descriptor that it sends. */
	xcb_void_cookie_t cookie = xcb_shm_attach_fd_checked(x->xcb, shm->segment, take_fd(fd), 0);
	_cleanup_free_ xcb_generic_error_t *error = xcb_request_check(x->xcb, cookie);
	if (error) {
		shm->segment = 0;
		shm_done(shm, x);
		return cua_err_set(err, CUA_INTERNAL,
			"the X server refuses shared memory (error %d)", error->error_code);
	}
	int r = x11_sync(x, err);
	if (r < 0) {
		shm_done(shm, x);
	}
	return r;
}

int shm_get(const struct shm *shm, struct x11 *x, const struct shm_part *part, uint32_t offset) {
	xcb_shm_get_image_cookie_t cookie =
		xcb_shm_get_image(x->xcb, (xcb_drawable_t)part->drawable, (int16_t)part->x,
			(int16_t)part->y, (uint16_t)part->width, (uint16_t)part->height, ~0u,
			XCB_IMAGE_FORMAT_Z_PIXMAP, shm->segment, offset);
	_cleanup_free_ xcb_generic_error_t *error = NULL;
	_cleanup_free_ xcb_shm_get_image_reply_t *reply =
		xcb_shm_get_image_reply(x->xcb, cookie, &error);
	/* Other depths have pixels of other sizes. */
	return !reply || (reply->depth != 24 && reply->depth != 32);
}
