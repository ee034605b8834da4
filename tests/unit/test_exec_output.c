/* The head and tail that are kept of a command's output. */
#include <string.h>

#include "server/front/exec_output.h"
#include "tests/lib/suite.h"

static void add(struct exec_output *output, const char *text, size_t len) {
	struct cua_err err;
	ck_assert_int_eq(
		exec_output_add(output, (struct cua_span){.data = text, .len = len}, &err), 0);
}

START_TEST(what_fits_is_kept_whole) {
	struct exec_output output;
	exec_output_init(&output, 10);
	size_t head = 1;
	ck_assert_uint_eq(exec_output_take(&output, &head).len, 0);
	add(&output, "01234", 5);
	add(&output, "", 0);
	add(&output, "56789", 5);
	ck_assert(!exec_output_cut(&output));
	struct cua_span kept = exec_output_take(&output, &head);
	ck_assert_uint_eq(kept.len, 10);
	ck_assert_mem_eq(kept.data, "0123456789", 10);
	exec_output_done(&output);
}
END_TEST

/* Every maximum, every size of the pieces: always the first and the last bytes. */
START_TEST(the_middle_is_cut) {
	char text[256];
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = (char)('!' + i % 90);
	}
	for (size_t max = 1; max < 40; max++) {
		for (size_t piece = 1; piece < 60; piece++) {
			struct exec_output output;
			exec_output_init(&output, max);
			for (size_t at = 0; at < sizeof(text); at += piece) {
				size_t left = sizeof(text) - at;
				add(&output, text + at, left < piece ? left : piece);
			}
			ck_assert_uint_eq(output.total, sizeof(text));
			ck_assert(exec_output_cut(&output));
			size_t head = 0;
			struct cua_span kept = exec_output_take(&output, &head);
			ck_assert_uint_eq(kept.len, max);
			ck_assert_uint_eq(head, max / 2);
			ck_assert_mem_eq(kept.data, text, head);
			ck_assert_mem_eq((const char *)kept.data + head,
				text + sizeof(text) - (max - head), max - head);
			exec_output_done(&output);
		}
	}
}
END_TEST

START_TEST(no_character_is_cut) {
	static const char text[] = "€€€€€€€€€€"; /* three bytes each */
	for (size_t max = 6; max < 29; max++) {
		struct exec_output output;
		exec_output_init(&output, max);
		add(&output, text, sizeof(text) - 1);
		size_t head = 0;
		struct cua_span kept = exec_output_take(&output, &head);
		ck_assert_uint_eq(kept.len % 3, 0);
		ck_assert_uint_eq(head % 3, 0);
		ck_assert_uint_ge(kept.len + 4, max);
		ck_assert_mem_eq(kept.data, text, kept.len);
		exec_output_done(&output);
	}
}
END_TEST

START_TEST(nothing_may_be_kept) {
	struct exec_output output;
	exec_output_init(&output, 0);
	add(&output, "abc", 3);
	size_t head = 0;
	ck_assert_uint_eq(exec_output_take(&output, &head).len, 0);
	ck_assert_uint_eq(output.total, 3);
	ck_assert(exec_output_cut(&output));
	exec_output_done(&output);
}
END_TEST

START_TEST(a_large_piece_after_a_small_one) {
	static char large[1 << 20];
	memset(large, 'b', sizeof(large));
	large[sizeof(large) - 1] = 'z';
	struct exec_output output;
	exec_output_init(&output, 1000);
	add(&output, "a", 1);
	add(&output, large, sizeof(large));
	size_t head = 0;
	struct cua_span kept = exec_output_take(&output, &head);
	const char *bytes = kept.data;
	ck_assert_uint_eq(kept.len, 1000);
	ck_assert(bytes[0] == 'a' && bytes[1] == 'b' && bytes[998] == 'b' && bytes[999] == 'z');
	ck_assert_uint_eq(output.total, sizeof(large) + 1);
	exec_output_done(&output);
}
END_TEST

int main(void) {
	const TTest *const tests[] = {what_fits_is_kept_whole, the_middle_is_cut,
		no_character_is_cut, nothing_may_be_kept, a_large_piece_after_a_small_one};
	return suite_run("exec_output", tests, CUA_COUNT(tests));
}
