/* From a wish to an encoded picture of the screen. A picture that was asked for is kept, in bands, under
 * the wish that it fulfils. */
#include "desktop/picture.h"

#include <string.h>

#include "cua/limits.h"
#include "desktop/bands.h"
#include "desktop/loop.h"

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

static bool wants_cursor(const cua_Args *args) {
	return args->has_cursor && args->cursor;
}

static int wish_from(
	const cua_Args *args, struct view screen, struct wish *ret, struct cua_err *err) {
	struct wish wish = {.format = args->has_format ? args->format : cua_Format_FORMAT_PNG,
		.quality = args->has_quality ? (int)args->quality : QUALITY,
		.cursor = wants_cursor(args)};
	int r = wish_part(args, screen, &wish.part, err);
	if (r < 0) {
		return r;
	}
	wish_size(args, &wish);
	if (wish.format == cua_Format_FORMAT_PNG) {
		wish.quality = 0; /* all are the same */
	}
	*ret = wish;
	return 0;
}

/* ---------------------------------------------------------------- what is kept */

/* One picture that is kept. */
struct entry {
	struct entry *next;
	struct wish wish;
	struct scale *scale; /* NULL: as large as the part */
	struct bands *bands;
	uint64_t used_ms;
};

struct picture_cache {
	struct encoder *encoder;
	struct memfiles *files;
	struct entry *entries; /* the last used first */
	struct entry *other; /* the last one of other pixels than the screen's */
	/* the pointer that was drawn last */
	struct frame *over;
	int over_x;
	int over_y;
	uint64_t over_number;
};

static struct entry *entry_free(struct entry *entry) {
	if (entry) {
		scale_free(entry->scale);
		bands_free(entry->bands);
	}
	free(entry);
	return NULL;
}

CUA_DEFINE_CLEANUP(struct entry *, entry_free)

static struct entry *entry_new(
	const struct picture_cache *cache, const struct wish *wish, struct cua_err *err) {
	_cleanup_(entry_free_p) struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory to keep a picture");
		return NULL;
	}
	entry->wish = *wish;
	int part[2] = {wish->part.width, wish->part.height};
	if (wish->size[0] != part[0] || wish->size[1] != part[1]) {
		entry->scale = scale_new(part, wish->size, err);
		if (!entry->scale) {
			return NULL;
		}
	}
	struct bands_config config = {.format = formats[wish->format],
		.width = wish->size[0],
		.height = wish->size[1],
		.quality = wish->quality,
		.files = cache->files};
	entry->bands = bands_new(&config, err);
	return entry->bands ? take_ptr(entry) : NULL;
}

static bool wish_equal(const struct wish *a, const struct wish *b) {
	return a->format == b->format && a->quality == b->quality && a->cursor == b->cursor &&
	       a->size[0] == b->size[0] && a->size[1] == b->size[1] && a->part.x == b->part.x &&
	       a->part.y == b->part.y && a->part.width == b->part.width &&
	       a->part.height == b->part.height;
}

/* Takes the picture that is kept for this wish out of the cache; NULL when there is none. */
static struct entry *take_entry(struct picture_cache *cache, const struct wish *wish) {
	for (struct entry **at = &cache->entries; *at; at = &(*at)->next) {
		struct entry *entry = *at;
		if (wish_equal(&entry->wish, wish)) {
			*at = entry->next;
			return entry;
		}
	}
	return NULL;
}

static void drop_from(struct entry **at) {
	while (*at) {
		struct entry *entry = *at;
		*at = entry->next;
		entry_free(entry);
	}
}

/* Puts the picture before all others, and drops what has become too much. */
static void put_entry(struct picture_cache *cache, struct entry *entry) {
	size_t count = 0;
	size_t bytes = 0;
	entry->used_ms = loop_now_us() / 1000;
	entry->next = cache->entries;
	cache->entries = entry;
	for (struct entry **at = &cache->entries; *at; at = &(*at)->next) {
		bytes += bands_file((*at)->bands).len;
		if (count++ > 0 && (count > CUA_PICTURES_MAX || bytes > CUA_PICTURES_BYTES)) {
			drop_from(at);
			return;
		}
	}
}

struct picture_cache *picture_cache_new(struct pool *pool, struct cua_err *err) {
	struct picture_cache *cache = calloc(1, sizeof(*cache));
	if (!cache) {
		(void)cua_err_set(err, CUA_EXHAUSTED, "no memory for pictures");
		return NULL;
	}
	cache->encoder = encoder_new(pool, err);
	cache->files = cache->encoder ? memfiles_new(err) : NULL;
	return cache->files ? cache : picture_cache_free(cache);
}

struct picture_cache *picture_cache_free(struct picture_cache *cache) {
	if (cache) {
		drop_from(&cache->entries);
		drop_from(&cache->other);
		encoder_free(cache->encoder);
		memfiles_free(cache->files);
		frame_unref(cache->over);
	}
	free(cache);
	return NULL;
}

void picture_cache_prepare(struct picture_cache *cache) {
	memfiles_prepare(cache->files);
}

bool picture_cache_tidy(struct picture_cache *cache, uint64_t unused_ms) {
	uint64_t now_ms = loop_now_us() / 1000;
	struct entry **at = &cache->entries;
	while (*at && now_ms - (*at)->used_ms < unused_ms) {
		at = &(*at)->next;
	}
	drop_from(at); /* older ones come behind */
	drop_from(&cache->other);
	if (!cache->entries) {
		encoder_rest(cache->encoder);
		memfiles_rest(cache->files);
	}
	return cache->entries != NULL;
}

/* ---------------------------------------------------------------- the screen */

/* What bands_update() asks about. */
struct looked {
	const struct capture *capture;
	struct rect part;
};

static uint64_t frame_of(const void *ctx, struct rect part) {
	const struct looked *looked = ctx;
	part.x += looked->part.x;
	part.y += looked->part.y;
	return capture_frame_of(looked->capture, part);
}

static bool frame_equal(const struct frame *a, const struct frame *b) {
	return a && a->width == b->width && a->height == b->height &&
	       memcmp(a->pixels, b->pixels,
		       (size_t)a->width * (size_t)a->height * sizeof(*a->pixels)) == 0;
}

/* Another number for another image or place. */
int picture_look(struct capture *capture, const cua_Args *args, struct picture_cache *cache,
	struct cua_err *err) {
	struct capture_cursor cursor = {0};
	if (!wants_cursor(args)) {
		return 0;
	}
	int r = capture_cursor(capture, true, &cursor, err);
	if (r < 0) {
		return r;
	}
	if (!frame_equal(cache->over, cursor.image) || cache->over_x != cursor.image_x ||
		cache->over_y != cursor.image_y) {
		cache->over_number++;
	}
	frame_unref(cache->over);
	cache->over = cursor.image;
	cache->over_x = cursor.image_x;
	cache->over_y = cursor.image_y;
	return 0;
}

/* Brings a kept picture up to date. */
static int update(struct capture *capture, struct picture_cache *cache, struct entry *entry,
	struct cua_err *err) {
	const struct wish *wish = &entry->wish;
	struct raster raster = {.view = view_part(capture_view(capture), wish->part),
		.scale = entry->scale,
		.width = wish->size[0],
		.height = wish->size[1]};
	if (wish->cursor) {
		raster.over = cache->over;
		raster.over_x = cache->over_x - wish->part.x;
		raster.over_y = cache->over_y - wish->part.y;
	}
	struct looked looked = {.capture = capture, .part = wish->part};
	struct bands_now now = {.raster = &raster,
		.over = cache->over_number,
		.frame_of = frame_of,
		.ctx = &looked};
	return bands_update(entry->bands, cache->encoder, &now, err);
}

static int take(struct capture *capture, const struct wish *wish, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) {
	_cleanup_(entry_free_p) struct entry *entry = take_entry(cache, wish);
	if (!entry) {
		entry = entry_new(cache, wish, err);
	}
	int r = entry ? update(capture, cache, entry, err) : -CUA_EXHAUSTED;
	if (r < 0) {
		return r;
	}
	ret->bytes = bands_file(entry->bands);
	ret->memfd = bands_memfd(entry->bands);
	put_entry(cache, take_ptr(entry));
	return 0;
}

int picture_take(struct capture *capture, const cua_Args *args, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) {
	struct wish wish;
	int r = wish_from(args, capture_view(capture), &wish, err);
	if (r < 0) {
		return r;
	}
	struct picture picture = {.width = wish.size[0],
		.height = wish.size[1],
		.format = wish.format,
		.frame = capture_frame(capture)};
	/* The pointer moves without a new frame; a number from the future is not one of ours. */
	picture.unchanged = args->has_if_changed_since && !wish.cursor &&
			    args->if_changed_since >= capture_frame_of(capture, wish.part) &&
			    args->if_changed_since <= picture.frame;
	if (!picture.unchanged) {
		r = take(capture, &wish, cache, &picture, err);
	}
	if (r == 0) {
		*ret = picture;
	}
	return r;
}

/* ---------------------------------------------------------------- other pixels */

static uint64_t first_frame(const void *ctx, struct rect part) {
	(void)ctx;
	(void)part;
	return 1;
}

int picture_encode(struct view view, const cua_Args *args, struct picture_cache *cache,
	struct picture *ret, struct cua_err *err) {
	struct wish wish;
	int r = wish_from(args, view, &wish, err);
	if (r < 0) {
		return r;
	}
	drop_from(&cache->other);
	cache->other = entry_new(cache, &wish, err);
	if (!cache->other) {
		return -CUA_EXHAUSTED;
	}
	struct raster raster = {.view = view_part(view, wish.part),
		.scale = cache->other->scale,
		.width = wish.size[0],
		.height = wish.size[1]};
	struct bands_now now = {.raster = &raster, .frame_of = first_frame};
	r = bands_update(cache->other->bands, cache->encoder, &now, err);
	if (r < 0) {
		return r;
	}
	*ret = (struct picture){.bytes = bands_file(cache->other->bands),
		.memfd = bands_memfd(cache->other->bands),
		.width = wish.size[0],
		.height = wish.size[1],
		.format = wish.format};
	return 0;
}
