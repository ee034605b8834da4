/* The vocabulary: errors, names, descriptors, messages, the action table. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pb_encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cua/action.h"
#include "cua/err.h"
#include "cua/fdio.h"
#include "cua/ident.h"
#include "cua/msg.h"
#include "cua/parse.h"
#include "tests/lib/suite.h"

/* ---------------------------------------------------------------- errors */

START_TEST(err_codes_have_names_and_statuses) {
	for (int code = 1; code < CUA_CODE_MAX_; code++) {
		ck_assert_int_eq(cua_code_from_name(cua_code_name(code)), code);
		ck_assert_int_ge(cua_code_http(code), 400);
		ck_assert_int_gt(cua_code_exit(code), 0);
	}
	ck_assert_int_eq(cua_code_from_name("no such kind"), CUA_INTERNAL);
}
END_TEST

START_TEST(err_set_returns_the_code_and_prefix_keeps_it) {
	struct cua_err err;
	ck_assert_int_eq(cua_err_about(&err, CUA_INVALID, "x", "x is %d", 5), -CUA_INVALID);
	ck_assert_int_eq(cua_err_prefix(&err, "click"), -CUA_INVALID);
	ck_assert_str_eq(err.message, "click: x is 5");
	ck_assert_str_eq(err.subject, "x");
	ck_assert_int_eq(cua_err_errno(&err, -ENOENT, "open %s", "f"), -CUA_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.message, "No such file"));
}
END_TEST

START_TEST(err_survives_texts_that_are_too_long) {
	struct cua_err err;
	char text[2000];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)cua_err_set(&err, CUA_INTERNAL, "%s", text);
	(void)cua_err_prefix(&err, "%s", text);
	ck_assert_uint_lt(strlen(err.message), sizeof(err.message));
}
END_TEST

/* ---------------------------------------------------------------- names */

START_TEST(ident_accepts_and_refuses) {
	static const char *const good[] = {"a", "0", "task-12", "a2345678901234567890123456789012"};
	static const char *const bad[] = {
		"", "-a", "A", "a_b", "a b", "ä", "a/b", "..", "a23456789012345678901234567890123"};
	for (size_t i = 0; i < CUA_COUNT(good); i++) {
		ck_assert_msg(cua_name_ok(good[i]), "%s", good[i]);
	}
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		ck_assert_msg(!cua_name_ok(bad[i]), "%s", bad[i]);
	}
	ck_assert(!cua_name_ok(NULL));
	ck_assert(cua_env_key_ok("PATH", 4));
	ck_assert(!cua_env_key_ok("1A", 2));
	ck_assert(!cua_env_key_ok("A=B", 3));
}
END_TEST

START_TEST(ident_ids_are_valid_and_differ) {
	char a[CUA_ID_SIZE];
	char b[CUA_ID_SIZE];
	cua_id_new(a);
	cua_id_new(b);
	ck_assert(cua_id_ok(a));
	ck_assert(cua_id_ok(b));
	ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(ident_utf8) {
	static const struct {
		const char *bytes;
		bool ok;
	} cases[] = {{"", true}, {"plain", true}, {"\xc3\xa4", true}, {"\xf0\x9f\x98\x80", true},
		{"\xc3", false}, {"\xc0\x80", false}, {"\xed\xa0\x80", false},
		{"\xf4\x90\x80\x80", false}, {"\x80", false}, {"\xe2\x82", false}};
	for (size_t i = 0; i < CUA_COUNT(cases); i++) {
		ck_assert_int_eq(cua_utf8_ok(cases[i].bytes, strlen(cases[i].bytes)), cases[i].ok);
	}
	ck_assert(!cua_utf8_ok("a\0b", 3));
}
END_TEST

/* ---------------------------------------------------------------- descriptors */

START_TEST(fdio_map_refuses_what_is_not_sealed_or_has_another_size) {
	struct cua_err err;
	const void *map = NULL;
	int open_fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(open_fd, 4096), 0);
	ck_assert_int_lt(fd_map_sealed(open_fd, 4096, &map, &err), 0);
	int sealed = fd_memfd_sealed("hello", 5, &err);
	ck_assert_int_ge(sealed, 0);
	ck_assert_int_lt(fd_map_sealed(sealed, 6, &map, &err), 0);
	ck_assert_int_eq(fd_map_sealed(sealed, 5, &map, &err), 0);
	ck_assert_mem_eq(map, "hello", 5);
	ck_assert_int_lt(ftruncate(sealed, 0), 0);
}
END_TEST

START_TEST(fdio_replace_is_whole_or_nothing) {
	char dir[] = "/tmp/cua-test-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(dir));
	int dirfd = open(dir, O_DIRECTORY | O_CLOEXEC);
	struct cua_err err;
	ck_assert_int_eq(fd_replace_file(dirfd, "f", "one", 3, 0600, &err), 0);
	ck_assert_int_eq(fd_replace_file(dirfd, "f", "second", 6, 0600, &err), 0);
	char buf[16] = "";
	int fd = openat(dirfd, "f", O_RDONLY);
	ck_assert_int_eq(fd_read_all(fd, buf, sizeof(buf)), 6);
	ck_assert_str_eq(buf, "second");
	/* a planted symlink under the temporary name is not followed */
	ck_assert_int_eq(symlinkat("/tmp/cua-test-victim", dirfd, ".f.tmp"), 0);
	ck_assert_int_lt(fd_replace_file(dirfd, "f", "third", 5, 0600, &err), 0);
	ck_assert_int_ne(access("/tmp/cua-test-victim", F_OK), 0);
	(void)unlinkat(dirfd, ".f.tmp", 0);
	(void)unlinkat(dirfd, "f", 0);
	(void)rmdir(dir);
}
END_TEST

/* ---------------------------------------------------------------- messages */

static struct cua_msg msg; /* large: one for the whole program */

static void make_pair(int pair[2]) {
	struct cua_err err;
	ck_assert_int_eq(fd_seqpacket_pair(pair, &err), 0);
}

START_TEST(msg_travels_with_blobs_inline_and_in_memory) {
	static const size_t sizes[] = {0, 1, CUA_MSG_INLINE, CUA_MSG_INLINE + 1, 3 << 20};
	int pair[2];
	make_pair(pair);
	for (size_t i = 0; i < CUA_COUNT(sizes); i++) {
		char *bytes = malloc(sizes[i] + 1);
		memset(bytes, 'x', sizes[i]);
		struct cua_span blobs[2] = {{bytes, sizes[i]}, {"env=1", 6}};
		cua_ExecStart start = {.serial = 7};
		struct cua_err err;
		ck_assert_int_eq(cua_msg_send(pair[0],
					 &(struct cua_out){.type = CUA_MSG_EXEC_START,
						 .body = &start,
						 .blob = blobs,
						 .blob_count = 2},
					 &err),
			0);
		ck_assert_int_eq(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_INIT, &msg, &err), 1);
		ck_assert_uint_eq(msg.body.exec_start.serial, 7);
		ck_assert_uint_eq(msg.blob_count, 2);
		ck_assert_uint_eq(msg.blob[0].len, sizes[i]);
		ck_assert(sizes[i] == 0 || memcmp(msg.blob[0].data, bytes, sizes[i]) == 0);
		ck_assert_mem_eq(msg.blob[1].data, "env=1", 6);
		ck_assert_uint_eq(msg.fd_count, 0);
		cua_msg_done(&msg);
		free(bytes);
	}
}
END_TEST

/* The sender keeps the memory, and sends it as often as it likes. */
START_TEST(msg_shares_memory_of_the_sender) {
	static uint8_t bytes[3 * CUA_MSG_INLINE];
	struct cua_err err;
	int pair[2];
	make_pair(pair);
	memset(bytes, 'x', sizeof(bytes));
	struct iovec parts[3] = {{bytes, 5}, {bytes, 0}, {bytes, sizeof(bytes) - 5}};
	int memfd = fd_memfd_gather(parts, CUA_COUNT(parts), &err);
	ck_assert_int_ge(memfd, 0);
	for (size_t len = 10; len <= sizeof(bytes); len += sizeof(bytes) - 10) {
		struct cua_span blob = {bytes, len}; /* a short one travels inline */
		struct cua_out out = {.type = CUA_MSG_ACTION_RESULT,
			.body = &(cua_ActionResult){.serial = 9},
			.blob = &blob,
			.blob_count = 1,
			.memfd = &memfd};
		for (int i = 0; i < 3; i++) {
			ck_assert_int_eq(cua_msg_send(pair[0], &out, &err), 0);
			ck_assert_int_eq(
				cua_msg_recv(pair[1], CUA_DIR_WORKER_TO_CUAD, &msg, &err), 1);
			ck_assert_uint_eq(msg.blob[0].len, len);
			ck_assert_mem_eq(msg.blob[0].data, bytes, len);
			cua_msg_done(&msg);
		}
	}
	ck_assert_int_eq(close(memfd), 0);
}
END_TEST

START_TEST(msg_refuses_wrong_direction_and_descriptors) {
	int pair[2];
	make_pair(pair);
	struct cua_err err;
	cua_Synced synced = {.sessions = 1};
	ck_assert_int_eq(cua_msg_send(pair[0],
				 &(struct cua_out){.type = CUA_MSG_SYNCED, .body = &synced}, &err),
		0);
	ck_assert_int_lt(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_SUPERVISOR, &msg, &err), 0);
	cua_SessionLink link = {.id = "abcdefghijkl", .edge = 3};
	ck_assert_int_lt(
		cua_msg_send(pair[0],
			&(struct cua_out){.type = CUA_MSG_SESSION_LINK, .body = &link}, &err),
		0);
	int fds[1] = {STDIN_FILENO};
	ck_assert_int_eq(cua_msg_send(pair[0],
				 &(struct cua_out){.type = CUA_MSG_SESSION_LINK,
					 .body = &link,
					 .fd = fds,
					 .fd_count = 1},
				 &err),
		0);
	ck_assert_int_eq(cua_msg_recv(pair[1], CUA_DIR_SUPERVISOR_TO_CUAD, &msg, &err), 1);
	ck_assert_uint_eq(msg.fd_count, 1);
	ck_assert_int_ge(msg.fd[0], 0);
	cua_msg_done(&msg);
}
END_TEST

START_TEST(msg_refuses_every_truncation) {
	int pair[2];
	make_pair(pair);
	struct cua_err err;
	cua_ExecStart start = {.serial = 300, .has_user = true, .user = "agent"};
	struct cua_span blob = {"true", 5};
	ck_assert_int_eq(cua_msg_send(pair[0],
				 &(struct cua_out){.type = CUA_MSG_EXEC_START,
					 .body = &start,
					 .blob = &blob,
					 .blob_count = 1},
				 &err),
		0);
	uint8_t whole[4096];
	ssize_t len = recv(pair[1], whole, sizeof(whole), 0);
	ck_assert_int_gt(len, 20);
	for (ssize_t cut = 1; cut < len; cut++) {
		ck_assert_int_eq(send(pair[0], whole, (size_t)cut, 0), cut);
		ck_assert_int_lt(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_INIT, &msg, &err), 0);
	}
	whole[len] = 0; /* one byte too many */
	ck_assert_int_eq(send(pair[0], whole, (size_t)len + 1, 0), len + 1);
	ck_assert_int_lt(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_INIT, &msg, &err), 0);
}
END_TEST

START_TEST(msg_closes_surplus_descriptors) {
	int pair[2];
	make_pair(pair);
	int before = open("/dev/null", O_RDONLY);
	(void)close(before);
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * 5)];
	} control = {0};
	char byte = 1;
	struct iovec iov = {&byte, 1};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&mh);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int) * 5);
	memset(CMSG_DATA(cmsg), 0, sizeof(int) * 5);
	ck_assert_int_eq(sendmsg(pair[0], &mh, 0), 1);
	struct cua_err err;
	ck_assert_int_lt(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_INIT, &msg, &err), 0);
	int after = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(after, before);
}
END_TEST

START_TEST(msg_tells_nothing_and_gone) {
	int pair[2];
	make_pair(pair);
	struct cua_err err;
	ck_assert_int_eq(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_INIT, &msg, &err), 0);
	(void)close(pair[0]);
	ck_assert_int_eq(cua_msg_recv(pair[1], CUA_DIR_CUAD_TO_INIT, &msg, &err), -CUA_NOT_FOUND);
}
END_TEST

START_TEST(chan_keeps_order_and_is_bounded) {
	int pair[2];
	make_pair(pair);
	struct cua_chan chan;
	cua_chan_init(&chan, pair[0]);
	struct cua_err err;
	uint32_t sent = 0;
	for (;;) {
		cua_BuildProgress progress = {.serial = sent};
		memset(progress.line, 'x', 200);
		if (cua_chan_send(&chan,
			    &(struct cua_out){.type = CUA_MSG_BUILD_PROGRESS, .body = &progress},
			    &err) < 0) {
			break;
		}
		sent++;
		ck_assert_uint_lt(sent, 100000);
	}
	ck_assert(cua_chan_pending(&chan));
	for (uint32_t got = 0; got < sent; got++) {
		int r = cua_msg_recv(pair[1], CUA_DIR_SUPERVISOR_TO_CUAD, &msg, &err);
		if (r == 0) {
			ck_assert_int_eq(cua_chan_flush(&chan, &err), 0);
			r = cua_msg_recv(pair[1], CUA_DIR_SUPERVISOR_TO_CUAD, &msg, &err);
		}
		ck_assert_int_eq(r, 1);
		ck_assert_uint_eq(msg.body.build_progress.serial, got);
		cua_msg_done(&msg);
	}
	ck_assert(!cua_chan_pending(&chan));
	cua_chan_done(&chan);
}
END_TEST

START_TEST(msg_error_round_trip) {
	struct cua_err err;
	struct cua_err back;
	(void)cua_err_about(&err, CUA_EXHAUSTED, "sessions", "no room");
	cua_Error wire = cua_error_to_wire(&err);
	ck_assert_int_eq(cua_error_from_wire(&wire, &back), -CUA_EXHAUSTED);
	ck_assert_str_eq(back.subject, "sessions");
	wire.code = 9999;
	ck_assert_int_eq(cua_error_from_wire(&wire, &back), -CUA_INTERNAL);
}
END_TEST

START_TEST(msg_strings) {
	struct cua_err err;
	struct cua_span list = {"a\0bb\0\0", 6};
	char **words = cua_strings_split(list, 10, &err);
	ck_assert_ptr_nonnull(words);
	ck_assert_str_eq(words[0], "a");
	ck_assert_str_eq(words[1], "bb");
	ck_assert_str_eq(words[2], "");
	ck_assert_ptr_null(words[3]);
	free(words);
	ck_assert_int_lt(cua_strings_count((struct cua_span){"ab", 2}, 10, &err), 0);
	ck_assert_int_lt(cua_strings_count(list, 2, &err), 0);
}
END_TEST

/* ---------------------------------------------------------------- numbers in text */

START_TEST(parse_numbers_strictly) {
	static const char *const wrong[] = {
		"", "+1", "-1", " 1", "1 ", "1x", "0x1", "18446744073709551616", "101", "4"};
	uint64_t n = 7;
	for (size_t i = 0; i < CUA_COUNT(wrong); i++) {
		ck_assert_msg(!parse_number(wrong[i], 5, 100, &n) && n == 7, "%s", wrong[i]);
	}
	ck_assert(parse_number("5", 5, 100, &n) && n == 5);
	ck_assert(parse_number("0100", 5, 100, &n) && n == 100);
	ck_assert(parse_number("18446744073709551615", 0, UINT64_MAX, &n) && n == UINT64_MAX);
	ck_assert(!parse_number("1", 0, 0, &n));
	uint64_t row[3];
	ck_assert(parse_row("\t 0  100000 65536 more", 3, row));
	ck_assert(row[0] == 0 && row[1] == 100000 && row[2] == 65536);
	ck_assert(!parse_row("1 2", 3, row));
	ck_assert(!parse_row("1 -2 3", 3, row));
}
END_TEST

START_TEST(parse_pairs_and_networks) {
	static const char *const no_pair[] = {
		"", "1", "1x", "x1", "1x2x", "1 x2", "1x100000", "1X2"};
	static const char *const no_network[] = {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8",
		"10.0.0.0/+8", "10.0.0.0/8 ", "010.0.0.0.0/8", "1000.0.0.0/8",
		"255.255.255.255255/8", "::1/8"};
	uint32_t pair[2];
	struct ipv4_network net;
	for (size_t i = 0; i < CUA_COUNT(no_pair); i++) {
		ck_assert_msg(!parse_pair(no_pair[i], pair), "%s", no_pair[i]);
	}
	for (size_t i = 0; i < CUA_COUNT(no_network); i++) {
		ck_assert_msg(!parse_network(no_network[i], &net), "%s", no_network[i]);
	}
	ck_assert(parse_pair("1280x800", pair) && pair[0] == 1280 && pair[1] == 800);
	ck_assert(parse_network("10.1.2.3", &net) && net.address == 0x0a010203 && net.bits == 32);
	ck_assert_uint_eq(ipv4_mask(&net), UINT32_MAX);
	ck_assert(parse_network("10.1.2.3/8", &net) && net.bits == 8);
	ck_assert_uint_eq(ipv4_mask(&net), 0xff000000);
	ck_assert(parse_network("0.0.0.0/0", &net));
	ck_assert_uint_eq(ipv4_mask(&net), 0);
}
END_TEST

/* ---------------------------------------------------------------- the action table */

static void check_param(const struct cua_action *action, const struct cua_param *p) {
	ck_assert_msg(
		p->name && p->help && p->help[0], "%s has a parameter without help", action->name);
	bool kept_as_json = p->kind == CUA_PARAM_ACTIONS || p->kind == CUA_PARAM_PICTURE;
	ck_assert_msg(kept_as_json || p->presence != 0 || p->field != 0, "%s.%s has no field",
		action->name, p->name);
	ck_assert_msg(
		p->kind != CUA_PARAM_ENUM || p->names, "%s.%s has no names", action->name, p->name);
	ck_assert_msg(p->kind != CUA_PARAM_STRING || p->item_size > 0, "%s.%s has no size",
		action->name, p->name);
	ck_assert_msg(
		p->min <= p->max || p->max == 0, "%s.%s has an empty range", action->name, p->name);
}

START_TEST(action_rows_are_complete) {
	for (unsigned id = 0; id < CUA_ACTION_MAX_; id++) {
		const struct cua_action *action = cua_action_get(id);
		ck_assert_msg(action->name, "action %u has no row", id);
		ck_assert(action->help && action->help[0]);
		ck_assert_int_eq(cua_action_find(action->name), (int)id);
		ck_assert_int_ne(action->role, CUA_ROLE_NONE);
		for (size_t i = 0; i < action->param_count; i++) {
			check_param(action, &action->params[i]);
			ck_assert_ptr_eq(cua_action_param(action, action->params[i].name),
				&action->params[i]);
		}
	}
	ck_assert_ptr_null(cua_action_get(CUA_ACTION_MAX_));
	ck_assert_int_eq(cua_action_find("nothing"), -1);
	ck_assert_ptr_nonnull(cua_action_param(cua_action_get(CUA_ACTION_CLICK), "settle"));
	ck_assert_ptr_null(cua_action_param(cua_action_get(CUA_ACTION_EXEC), "settle"));
}
END_TEST

int main(void) {
	const TTest *const tests[] = {err_codes_have_names_and_statuses,
		err_set_returns_the_code_and_prefix_keeps_it, err_survives_texts_that_are_too_long,
		ident_accepts_and_refuses, ident_ids_are_valid_and_differ, ident_utf8,
		fdio_map_refuses_what_is_not_sealed_or_has_another_size,
		fdio_replace_is_whole_or_nothing, msg_travels_with_blobs_inline_and_in_memory,
		msg_shares_memory_of_the_sender, msg_refuses_wrong_direction_and_descriptors,
		msg_refuses_every_truncation, msg_closes_surplus_descriptors,
		msg_tells_nothing_and_gone, chan_keeps_order_and_is_bounded, msg_error_round_trip,
		msg_strings, parse_numbers_strictly, parse_pairs_and_networks,
		action_rows_are_complete};
	return suite_run("cua", tests, CUA_COUNT(tests));
}
