/* Pictures kept in bands against whole ones: under random damage, pointers and sizes every file is
 * what other people's libraries make of it, byte for byte where the format has no loss. */
#include <check.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jpeglib.h>

#include "cua/limits.h"
#include "cua/msg.h"
#include "desktop/bands.h"
#include "tests/lib/decode.h"
#include "tests/lib/page.h"
#include "tests/lib/suite.h"

#define TILE 64

static struct cua_err err;
static struct pool *pool;
static struct encoder *encoder;
static struct memfiles *files;

static void setup(void) {
	pool = pool_new(&err);
	encoder = encoder_new(pool, &err);
	files = memfiles_new(&err);
	ck_assert_ptr_nonnull(encoder);
}

static void teardown(void) {
	encoder = encoder_free(encoder);
	files = memfiles_free(files);
	pool = pool_free(pool);
}

/* ---------------------------------------------------------------- a screen */

/* Pixels, and when each tile of them changed. */
struct screen {
	struct frame *frame;
	uint64_t *tiles;
	int columns;
	int rows;
	uint64_t now;
};

static struct screen screen_new(int width, int height) {
	struct screen s = {.frame = frame_new(width, height, &err), .now = 1};
	ck_assert_ptr_nonnull(s.frame);
	s.columns = (width + TILE - 1) / TILE;
	s.rows = (height + TILE - 1) / TILE;
	s.tiles = calloc((size_t)(s.columns * s.rows), sizeof(*s.tiles));
	page_draw(s.frame, (unsigned)rand());
	return s;
}

static void screen_done(struct screen *s) {
	frame_unref(s->frame);
	free(s->tiles);
}

static void touch(struct screen *s, struct rect r) {
	r = rect_intersect(r, (struct rect){0, 0, s->frame->width, s->frame->height});
	for (int y = r.y; y < r.y + r.height; y++) {
		for (int x = r.x; x < r.x + r.width; x++) {
			s->tiles[y / TILE * s->columns + x / TILE] = s->now;
		}
	}
}

static struct rect random_rect(int width, int height, int most) {
	struct rect r = {rand() % width, rand() % height, 1 + rand() % most, 1 + rand() % most};
	return rect_intersect(r, (struct rect){0, 0, width, height});
}

/* Draws something somewhere: a letter, a block, noise with a random top byte. */
static void damage(struct screen *s) {
	struct rect r = random_rect(s->frame->width, s->frame->height, rand() % 4 ? 40 : 400);
	s->now++;
	if (rand() % 3 == 0) {
		page_letter(s->frame, r.x, r.y, (unsigned)rand());
		touch(s, (struct rect){r.x, r.y, 8, 16});
		return;
	}
	bool flat = rand() % 2 == 0;
	uint32_t colour = (uint32_t)rand() << 8;
	for (int y = r.y; y < r.y + r.height; y++) {
		for (int x = r.x; x < r.x + r.width; x++) {
			s->frame->pixels[y * s->frame->width + x] =
				flat ? colour : (uint32_t)rand() << 16 ^ (uint32_t)rand();
		}
	}
	touch(s, r);
}

/* What is seen of it. */
struct seen {
	const struct screen *screen;
	struct rect part;
};

static uint64_t frame_of(const void *ctx, struct rect part) {
	const struct seen *seen = ctx;
	const struct screen *s = seen->screen;
	int x = part.x + seen->part.x;
	int y = part.y + seen->part.y;
	uint64_t last = 0;
	for (int row = y / TILE; row <= (y + part.height - 1) / TILE; row++) {
		for (int column = x / TILE; column <= (x + part.width - 1) / TILE; column++) {
			uint64_t frame = s->tiles[row * s->columns + column];
			last = frame > last ? frame : last;
		}
	}
	return last;
}

/* ---------------------------------------------------------------- a kept picture */

struct kept {
	struct seen seen;
	struct bands_config config;
	struct bands *bands;
	struct scale *scale;
	struct raster raster;
	uint64_t over;
};

static struct kept kept_new(
	const struct screen *s, struct rect part, const int size[2], enum encode_format format) {
	struct kept k = {.seen = {s, part}};
	k.config = (struct bands_config){
		format, size[0], size[1], 1 + rand() % 100, rand() & 1 ? files : NULL};
	k.bands = bands_new(&k.config, &err);
	ck_assert_ptr_nonnull(k.bands);
	if (size[0] != part.width || size[1] != part.height) {
		k.scale = scale_new((int[]){part.width, part.height}, size, &err);
		ck_assert_ptr_nonnull(k.scale);
	}
	k.raster = (struct raster){.view = view_part(frame_view(s->frame), part),
		.scale = k.scale,
		.width = size[0],
		.height = size[1]};
	return k;
}

static void kept_done(struct kept *k) {
	bands_free(k->bands);
	scale_free(k->scale);
}

/* With memory ready for the file or without. */
static int update(struct kept *k) {
	if (rand() & 1) {
		memfiles_prepare(files);
	}
	struct bands_now now = {
		.raster = &k->raster, .over = k->over, .frame_of = frame_of, .ctx = &k->seen};
	int r = bands_update(k->bands, encoder, &now, &err);
	ck_assert_msg(r >= 0, "%s", err.message);
	return r;
}

/* ---------------------------------------------------------------- whole pictures */

/* All rows of a picture, without a top byte. */
static struct frame *all_rows(const struct raster *raster) {
	struct raster_room room = {0};
	struct view view;
	ck_assert_int_eq(raster_rows(raster, (int[]){0, raster->height}, &room, &view, &err), 0);
	struct frame *frame = frame_copy(view, &err);
	for (int i = 0; i < frame->width * frame->height; i++) {
		frame->pixels[i] &= 0xffffff;
	}
	raster_room_done(&room);
	return frame;
}

/* A JPEG as libjpeg writes it in one go, with a restart behind every row of blocks. */
static unsigned char *whole_jpeg(const struct frame *frame, int quality, unsigned long *ret_len) {
	struct jpeg_error_mgr errors;
	struct jpeg_compress_struct c = {.err = jpeg_std_error(&errors)};
	unsigned char *data = NULL;
	jpeg_create_compress(&c);
	*ret_len = 0;
	jpeg_mem_dest(&c, &data, ret_len);
	c.image_width = (JDIMENSION)frame->width;
	c.image_height = (JDIMENSION)frame->height;
	c.input_components = 4;
	c.in_color_space = JCS_EXT_BGRX;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, quality, TRUE);
	c.restart_in_rows = 1;
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height) {
		JSAMPROW row = (JSAMPROW)(uintptr_t)(frame->pixels + (size_t)c.next_scanline *
									     (size_t)frame->width);
		(void)jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	return data;
}

static void check_png(struct cua_span file, const struct frame *expected) {
	struct decoded in;
	ck_assert(decode_png(file.data, file.len, &in));
	ck_assert_int_eq(in.width, expected->width);
	ck_assert_int_eq(in.height, expected->height);
	ck_assert_mem_eq(in.pixels, expected->pixels,
		(size_t)in.width * (size_t)in.height * sizeof(uint32_t));
	free(in.pixels);
}

static void check_jpeg(struct cua_span file, const struct frame *expected, int quality) {
	unsigned long len = 0;
	unsigned char *whole = whole_jpeg(expected, quality, &len);
	struct decoded in;
	ck_assert_uint_eq(file.len, len);
	ck_assert_mem_eq(file.data, whole, len);
	ck_assert(decode_jpeg(file.data, file.len, &in)); /* no warning either */
	free(in.pixels);
	free(whole);
}

/* The file is the one that a cache without a past would have made. */
static void check_anew(const struct kept *k) {
	struct kept anew = *k;
	anew.bands = bands_new(&k->config, &err);
	(void)update(&anew);
	struct cua_span a = bands_file(k->bands);
	struct cua_span b = bands_file(anew.bands);
	ck_assert_uint_eq(a.len, b.len);
	ck_assert_mem_eq(a.data, b.data, a.len);
	bands_free(anew.bands);
}

static void check_kept(const struct kept *k) {
	struct frame *expected = all_rows(&k->raster);
	struct cua_span file = bands_file(k->bands);
	struct decoded in;
	switch (k->config.format) {
	case ENCODE_PNG:
		check_png(file, expected);
		break;
	case ENCODE_JPEG:
		check_jpeg(file, expected, k->config.quality);
		break;
	default:
		ck_assert(decode_webp(file.data, file.len, &in));
		ck_assert_int_eq(in.width, expected->width);
		ck_assert_int_eq(in.height, expected->height);
		free(in.pixels);
	}
	check_anew(k);
	frame_unref(expected);
}

/* ---------------------------------------------------------------- tests */

START_TEST(test_every_size) {
	for (int width = 1; width < 70; width++) {
		struct screen s = screen_new(width, 1 + width * 7 % 70);
		struct rect all = {0, 0, s.frame->width, s.frame->height};
		for (int i = 0; i < 4; i++) {
			damage(&s);
		}
		for (enum encode_format format = ENCODE_PNG; format < ENCODE_MAX_; format++) {
			struct kept k = kept_new(&s, all, (int[]){all.width, all.height}, format);
			ck_assert_int_gt(update(&k), 0);
			check_kept(&k);
			ck_assert_int_eq(update(&k), 0);
			kept_done(&k);
		}
		screen_done(&s);
	}
}
END_TEST

#define KEPT 9

/* Pictures of all kinds of one screen: whole, of a part, scaled, with something drawn over them. */
static void keep_many(const struct screen *s, struct kept kept[KEPT]) {
	int width = s->frame->width;
	int height = s->frame->height;
	struct rect all = {0, 0, width, height};
	for (int i = 0; i < KEPT; i++) {
		struct rect part = i < 3 ? all : random_rect(width, height, width);
		int size[2] = {part.width, part.height};
		if (i >= 6) {
			size[0] = 1 + rand() % size[0];
			size[1] = 1 + rand() % size[1];
		}
		static const enum encode_format formats[] = {ENCODE_PNG, ENCODE_JPEG, ENCODE_WEBP};
		kept[i] = kept_new(s, part, size, formats[i % 3]);
	}
}

/* Something to draw over a picture, with every kind of alpha. */
static struct frame *pointer(void) {
	struct frame *image = frame_new(1 + rand() % 30, 1 + rand() % 40, &err);
	for (int i = 0; i < image->width * image->height; i++) {
		uint32_t alpha = rand() % 3 ? 255 * (uint32_t)(rand() % 2) : (uint32_t)rand() % 256;
		image->pixels[i] = alpha << 24 | ((uint32_t)rand() % (alpha + 1)) * 0x010101;
	}
	return image;
}

static void move_pointer(struct kept *k, const struct frame *image) {
	if (rand() % 3 == 0) {
		k->raster.over = rand() % 4 ? image : NULL;
		k->raster.over_x = rand() % (k->raster.view.width + 40) - 20;
		k->raster.over_y = rand() % (k->raster.view.height + 40) - 20;
		k->over++;
	}
}

static void random_life(int width, int height, int steps) {
	struct screen s = screen_new(width, height);
	struct frame *image = pointer();
	struct kept kept[KEPT];
	keep_many(&s, kept);
	for (int step = 0; step < steps; step++) {
		for (int i = rand() % 4; i > 0; i--) {
			damage(&s);
		}
		for (int i = 0; i < KEPT; i++) {
			if (rand() % 2) {
				continue; /* it misses some */
			}
			move_pointer(&kept[i], image);
			(void)update(&kept[i]);
			check_kept(&kept[i]);
			ck_assert_int_eq(update(&kept[i]), 0);
		}
		if (rand() % 10 == 0) {
			encoder_rest(encoder);
		}
	}
	for (int i = 0; i < KEPT; i++) {
		kept_done(&kept[i]);
	}
	frame_unref(image);
	screen_done(&s);
}

START_TEST(test_random_damage) {
	srand((unsigned)_i);
	random_life(1 + rand() % 700, 1 + rand() % 500, 12);
}
END_TEST

/* A change costs the bands that it is in, and no other. */
START_TEST(test_few_bands) {
	struct screen s = screen_new(1280, 800);
	struct rect all = {0, 0, 1280, 800};
	int whole[2] = {1280, 800};
	int half[2] = {640, 400};
	struct kept png = kept_new(&s, all, whole, ENCODE_PNG);
	struct kept jpeg = kept_new(&s, all, whole, ENCODE_JPEG);
	struct kept small = kept_new(&s, all, half, ENCODE_PNG);
	ck_assert_int_eq(update(&png), 25);
	ck_assert_int_eq(update(&jpeg), 50);
	ck_assert_int_eq(update(&small), 13);
	s.now++;
	page_letter(s.frame, 300, 200, 7);
	touch(&s, (struct rect){300, 200, 8, 16});
	ck_assert_int_eq(update(&png), 2); /* a tile is 64 pixels high */
	ck_assert_int_eq(update(&jpeg), 4);
	ck_assert_int_eq(update(&small), 1);
	check_kept(&png);
	check_kept(&jpeg);
	check_kept(&small);
	kept_done(&png);
	kept_done(&jpeg);
	kept_done(&small);
	screen_done(&s);
}
END_TEST

/* The file that could not be made leaves the last one as it was. */
START_TEST(test_failure_keeps_the_old) {
	struct screen s = screen_new(64, 64);
	struct kept k = kept_new(&s, (struct rect){0, 0, 64, 64}, (int[]){64, 64}, ENCODE_WEBP);
	ck_assert_int_eq(update(&k), 1);
	struct cua_span before = bands_file(k.bands);
	struct raster wide = k.raster;
	wide.view.width = 20000; /* more than WebP has; it refuses before it looks at pixels */
	struct bands_now now = {.raster = &wide, .frame_of = frame_of, .ctx = &k.seen};
	struct screen other = {.frame = s.frame,
		.tiles = calloc(400, sizeof(uint64_t)),
		.columns = 400,
		.rows = 1};
	other.tiles[0] = 9;
	struct seen seen = {&other, {0, 0, 64, 64}};
	now.ctx = &seen;
	ck_assert_int_eq(bands_update(k.bands, encoder, &now, &err), -CUA_INTERNAL);
	ck_assert_ptr_eq(bands_file(k.bands).data, before.data);
	ck_assert_uint_eq(bands_file(k.bands).len, before.len);
	free(other.tiles);
	kept_done(&k);
	screen_done(&s);
}
END_TEST

START_TEST(test_largest_pictures) {
	struct frame *f = frame_new(CUA_SCREEN_MAX_W, CUA_SCREEN_MAX_H, &err);
	f->pixels[CUA_SCREEN_MAX_W * CUA_SCREEN_MAX_H - 1] = 0x123456;
	struct screen s = {.frame = f, .columns = CUA_SCREEN_MAX_W / TILE};
	s.rows = (CUA_SCREEN_MAX_H + TILE - 1) / TILE;
	s.tiles = calloc((size_t)(s.columns * s.rows), sizeof(*s.tiles));
	struct rect all = {0, 0, f->width, f->height};
	for (enum encode_format format = ENCODE_PNG; format < ENCODE_MAX_; format++) {
		struct kept k = kept_new(&s, all, (int[]){f->width, f->height}, format);
		ck_assert_int_gt(update(&k), 0);
		struct cua_span file = bands_file(k.bands);
		ck_assert_uint_gt(file.len, 100);
		if (format == ENCODE_PNG) {
			check_png(file, f);
		}
		kept_done(&k);
	}
	screen_done(&s);
}
END_TEST

/* ---------------------------------------------------------------- a second opinion */

#define OPINIONS 24

static void write_file(const char *dir, int i, const char *kind, struct cua_span bytes) {
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/%d.%s", dir, i, kind);
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
	ck_assert_int_eq(fclose(file), 0);
}

static void write_pair(const char *dir, int i, const struct kept *k) {
	struct frame *expected = all_rows(&k->raster);
	size_t count = (size_t)expected->width * (size_t)expected->height;
	write_file(dir, i, "png", bands_file(k->bands));
	write_file(dir, i, "bgrx", (struct cua_span){expected->pixels, count * sizeof(uint32_t)});
	frame_unref(expected);
}

/* Python's imaging library has a reader of its own; its strict chunks catch what libpng forgives. */
static const char script[] = "import sys\n"
			     "from PIL import Image\n"
			     "for i in range(int(sys.argv[2])):\n"
			     "    name = f'{sys.argv[1]}/{i}'\n"
			     "    Image.open(name + '.png').verify()\n"
			     "    image = Image.open(name + '.png')\n"
			     "    image.load()\n"
			     "    assert image.mode == 'RGB', image.mode\n"
			     "    want = Image.frombytes('RGB', image.size, open(name + '.bgrx', "
			     "'rb').read(), 'raw', 'BGRX')\n"
			     "    assert image.tobytes() == want.tobytes(), name\n";

START_TEST(test_another_decoder) {
	char dir[] = "/tmp/cuad-test-png-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (int i = 0; i < OPINIONS; i++) {
		struct screen s = screen_new(1 + rand() % 600, 1 + rand() % 300);
		struct rect all = {0, 0, s.frame->width, s.frame->height};
		struct kept k = kept_new(&s, all, (int[]){all.width, all.height}, ENCODE_PNG);
		for (int step = 0; step < 4; step++) {
			damage(&s);
			(void)update(&k);
		}
		write_pair(dir, i, &k);
		kept_done(&k);
		screen_done(&s);
	}
	pid_t child = fork();
	if (child == 0) {
		char count[16];
		(void)snprintf(count, sizeof(count), "%d", OPINIONS);
		(void)execl("/usr/bin/python3", "python3", "-c", script, dir, count, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	for (int i = 0; i < OPINIONS; i++) {
		char path[300];
		(void)snprintf(path, sizeof(path), "%s/%d.png", dir, i);
		(void)unlink(path);
		(void)snprintf(path, sizeof(path), "%s/%d.bgrx", dir, i);
		(void)unlink(path);
	}
	(void)rmdir(dir);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

#ifdef CUAD_SANITIZE
#define LIVES 12
#else
#define LIVES 40
#endif

int main(void) {
	Suite *suite = suite_create("encode");
	TCase *tc = tcase_create("encode");
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_every_size);
	tcase_add_loop_test(tc, test_random_damage, 1, LIVES);
	tcase_add_test(tc, test_few_bands);
	tcase_add_test(tc, test_failure_keeps_the_old);
	tcase_add_test(tc, test_another_decoder);
	tcase_add_test(tc, test_largest_pictures);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
