/* From the captured screen to an encoded picture: cut, cursor, scale, encode. */
#include "desktop/picture.h"

#define QUALITY 80
#define SCALE_MIN 0.05

/* What is wanted, with the defaults filled in. */
struct wish {
	struct rect part;
	int size[2];
	cua_Format format;
	int quality;
	bool cursor;
};

static const enum encode_format formats[] = {
	[cua_Format_FORMAT_PNG] = ENCODE_PNG,
	[cua_Format_FORMAT_JPEG] = ENCODE_JPEG,
	[cua_Format_FORMAT_WEBP] = ENCODE_WEBP,
};

static int wish_part(
	const cua_Args *args, struct view screen, struct rect *ret, struct cua_err *err) {
	struct rect whole = {0, 0, screen.width, screen.height};
	*ret = whole;
	if (args->region_count != 4) {
		return 0;
	}
	const int32_t *r = args->region;
	/* Compared so that nothing can overflow. */
	if (r[0] < 0 || r[1] < 0 || r[2] < 1 || r[3] < 1 || r[0] >= whole.width ||
		r[1] >= whole.height || r[2] > whole.width - r[0] || r[3] > whole.height - r[1]) {
		return cua_err_about(err, CUA_OUT_OF_SCREEN, "region",
			"the region [%d,%d,%d,%d] is not inside the screen of %dx%d", r[0], r[1],
			r[2], r[3], whole.width, whole.height);
	}
	*ret = (struct rect){r[0], r[1], r[2], r[3]};
	return 0;
}

static void wish_size(const cua_Args *args, struct wish *wish) {
	double scale = args->has_scale ? args->scale : 1;
	if (scale < SCALE_MIN) {
		scale = SCALE_MIN;
	}
	if (scale < 1) {
		wish->size[0] = (int)(wish->part.width * scale + 0.5);
		wish->size[1] = (int)(wish->part.height * scale + 0.5);
	} else {
		wish->size[0] = wish->part.width;
		wish->size[1] = wish->part.height;
	}
	for (int i = 0; i < 2; i++) {
		wish->size[i] = wish->size[i] < 1 ? 1 : wish->size[i];
	}
	if (args->max_count == 2) {
		const int max[2] = {
			args->max[0] < 1 ? 1 : args->max[0], args->max[1] < 1 ? 1 : args->max[1]};
		frame_fit(wish->size[0], wish->size[1], max, wish->size);
	}
}

static int wish_from(
	const cua_Args *args, struct view screen, struct wish *ret, struct cua_err *err) {
	struct wish wish = {.format = args->has_format ? args->format : cua_Format_FORMAT_PNG,
		.quality = args->has_quality ? (int)args->quality : QUALITY,
		.cursor = args->has_cursor && args->cursor};
	int r = wish_part(args, screen, &wish.part, err);
	if (r < 0) {
		return r;
	}
	wish_size(args, &wish);
	*ret = wish;
	return 0;
}

static bool cached(const struct picture_cache *cache, const struct wish *wish, uint64_t frame) {
	return cache->filled && !wish->cursor && cache->frame == frame &&
	       cache->format == wish->format && cache->quality == wish->quality &&
	       cache->size[0] == wish->size[0] && cache->size[1] == wish->size[1] &&
	       cache->part.x == wish->part.x && cache->part.y == wish->part.y &&
	       cache->part.width == wish->part.width && cache->part.height == wish->part.height;
}

/* A copy of the part with the cursor drawn over it. */
static struct frame *with_cursor(
	struct capture *capture, const struct wish *wish, struct cua_err *err) {
	struct capture_cursor cursor = {0};
	int r = capture_cursor(capture, true, &cursor, err);
	if (r < 0) {
		return NULL;
	}
	_cleanup_(frame_unref_p) struct frame *image = cursor.image;
	struct frame *copy = frame_copy(view_part(capture_view(capture), wish->part), err);
	if (copy) {
		frame_blend(copy, frame_view(image), cursor.image_x - wish->part.x,
			cursor.image_y - wish->part.y);
	}
	return copy;
}

static int render(struct capture *capture, const struct wish *wish, struct encoded *ret,
	struct cua_err *err) {
	struct view view = view_part(capture_view(capture), wish->part);
	_cleanup_(frame_unref_p) struct frame *drawn = NULL;
	_cleanup_(frame_unref_p) struct frame *scaled = NULL;
	if (wish->cursor) {
		drawn = with_cursor(capture, wish, err);
		if (!drawn) {
			return -CUA_INTERNAL;
		}
		view = frame_view(drawn);
	}
	if (wish->size[0] != view.width || wish->size[1] != view.height) {
		scaled = frame_scale(view, wish->size[0], wish->size[1], err);
		if (!scaled) {
			return -CUA_EXHAUSTED;
		}
		view = frame_view(scaled);
	}
	return encode(formats[wish->format], view, wish->quality, ret, err);
}

static int fill(struct capture *capture, const struct wish *wish, struct picture_cache *cache,
	struct cua_err *err) {
	picture_cache_done(cache);
	int r = render(capture, wish, &cache->encoded, err);
	if (r < 0) {
		return r;
	}
	cache->frame = capture_frame_of(capture, wish->part);
	cache->part = wish->part;
	cache->size[0] = wish->size[0];
	cache->size[1] = wish->size[1];
	cache->format = wish->format;
	cache->quality = wish->quality;
	cache->filled = !wish->cursor;
	return 0;
}

int picture_take(struct capture *capture, const cua_Args *args, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) {
	struct wish wish;
	int r = wish_from(args, capture_view(capture), &wish, err);
	if (r < 0) {
		return r;
	}
	uint64_t changed = capture_frame_of(capture, wish.part);
	struct picture picture = {.width = wish.size[0],
		.height = wish.size[1],
		.format = wish.format,
		.frame = capture_frame(capture)};
	/* The pointer moves without a new frame; a number from the future is not one of ours. */
	if (args->has_if_changed_since && !wish.cursor && args->if_changed_since >= changed &&
		args->if_changed_since <= picture.frame) {
		picture.unchanged = true;
		*ret = picture;
		return 0;
	}
	if (!cached(cache, &wish, changed)) {
		r = fill(capture, &wish, cache, err);
		if (r < 0) {
			return r;
		}
	}
	picture.bytes = (struct cua_span){.data = cache->encoded.data, .len = cache->encoded.len};
	*ret = picture;
	return 0;
}

void picture_cache_done(struct picture_cache *cache) {
	encoded_done(&cache->encoded);
	*cache = (struct picture_cache){0};
}
