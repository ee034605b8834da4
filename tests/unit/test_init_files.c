/* File requests of cuad-init, over E5 to a real PID 1. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "tests/lib/guest.h"
#include "tests/lib/suite.h"

static struct guest guest;
static struct guest_output output;
static uint32_t serial; /* of the latest file request */

static void setup(void) {
	guest_start(&guest, "# nothing\n");
}

static void teardown(void) {
	ck_assert_uint_lt(guest_stop(&guest), 1000);
}

/* Sends a request; our end of its stream, or -1. */
static int request(cua_FileRequest body) {
	int pair[2] = {-1, -1};
	bool stream = body.op == cua_FileOp_FILE_READ || body.op == cua_FileOp_FILE_WRITE ||
		      body.op == cua_FileOp_FILE_APPEND;
	if (stream) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	}
	serial = ++guest.serial;
	body.serial = serial;
	body.has_destination = body.destination[0] != '\0';
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_FILE_REQUEST,
				   .body = &body,
				   .fd = &pair[1],
				   .fd_count = stream});
	if (stream) {
		(void)close(pair[1]);
	}
	return pair[0];
}

static const cua_FileResult *expect_result(void) {
	guest_expect(&guest, CUA_MSG_FILE_RESULT);
	ck_assert_uint_eq(guest.in.body.file_result.serial, serial);
	return &guest.in.body.file_result;
}

static const cua_FileResult *expect_done(void) {
	const cua_FileResult *result = expect_result();
	ck_assert_msg(!result->has_error, "%s", result->error.message);
	return result;
}

static void expect_error(enum cua_code code, const char *text) {
	const cua_FileResult *result = expect_result();
	ck_assert_msg(result->has_error, "no error");
	ck_assert_str_eq(cua_code_name(result->error.code), cua_code_name(code));
	ck_assert_msg(strstr(result->error.message, text) != NULL, "%s", result->error.message);
}

static void finish(uint64_t size, bool abort) {
	cua_FileEnd end = {.serial = serial, .size = size, .has_abort = true, .abort = abort};
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_FILE_END, .body = &end});
}

/* Where the request is refused, nobody may be there any more to take the text. */
static void put(cua_FileRequest body, const char *text) {
	int fd = request(body);
	ssize_t n = send(fd, text, strlen(text), MSG_NOSIGNAL);
	ck_assert(n == (ssize_t)strlen(text) || (n < 0 && errno == EPIPE));
	finish(strlen(text), false);
	(void)close(fd);
}

static void expect_shell(const char *script, const char *text) {
	guest_sh(&guest, script, &output);
	ck_assert_str_eq(output.out, text);
}

#define WRITE(...) ((cua_FileRequest){.op = cua_FileOp_FILE_WRITE, __VA_ARGS__})
#define APPEND(...) ((cua_FileRequest){.op = cua_FileOp_FILE_APPEND, __VA_ARGS__})
#define READ(...) ((cua_FileRequest){.op = cua_FileOp_FILE_READ, __VA_ARGS__})
#define OTHER(o, ...) ((cua_FileRequest){.op = cua_FileOp_FILE_##o, __VA_ARGS__})

/* Reads a stream to its end and compares it with a pattern; the number of bytes. */
static size_t check_stream(int fd, unsigned step) {
	static unsigned char chunk[65536];
	size_t total = 0;
	for (;;) {
		ssize_t n = fd_read_all(fd, chunk, sizeof(chunk));
		ck_assert_int_ge(n, 0);
		size_t same = 0;
		while (same < (size_t)n &&
			chunk[same] == (unsigned char)((total + same) * step >> 8)) {
			same++;
		}
		ck_assert_msg(same == (size_t)n, "byte %zu differs", total + same);
		total += (size_t)n;
		if (n < (ssize_t)sizeof(chunk)) {
			return total;
		}
	}
}

#define LARGE (50u << 20)

START_TEST(large_round_trip) {
	static unsigned char data[LARGE];
	for (size_t i = 0; i < LARGE; i++) {
		data[i] = (unsigned char)(i * 7 >> 8);
	}
	int fd = request(WRITE(.path = "big", .has_mode = true, .mode = 0600));
	ck_assert_int_eq(fd_write_all(fd, data, LARGE), 0);
	expect_shell("ls -A | grep -vc .cuad- || true", "0\n");
	finish(LARGE, false);
	ck_assert_uint_eq(expect_done()->size, LARGE);
	(void)close(fd);
	expect_shell("stat -c '%s %a %U %G' big; ls -A", "52428800 600 agent agent\nbig\n");
	fd = request(READ(.path = "~/big"));
	ck_assert_uint_eq(expect_done()->size, LARGE);
	ck_assert_uint_eq(check_stream(fd, 7), LARGE);
	const cua_FileResult *result = expect_done();
	ck_assert(result->done && result->eof);
	(void)close(fd);
	fd = request(READ(.path = "big", .has_offset = true, .offset = 1u << 20, .has_length = true,
		.length = 1000));
	(void)expect_done();
	ck_assert_uint_eq(check_stream(fd, 7), 1000);
	ck_assert(!expect_done()->eof);
	(void)close(fd);
}
END_TEST

START_TEST(read_corners) {
	guest_sh(&guest,
		"printf abc > f; : > empty; mkfifo fifo; ln -s f link; ln -s fifo pipe; "
		"printf x > shut; chmod 0 shut",
		&output);
	static const struct {
		const char *path;
		enum cua_code code;
		const char *text;
	} bad[] = {
		{"/home/agent", CUA_INVALID, "a directory"},
		{"fifo", CUA_INVALID, "a FIFO"},
		{"pipe", CUA_INVALID, "a FIFO"},
		{"/dev/zero", CUA_INVALID, "a character device"},
		{"missing", CUA_NOT_FOUND, "missing"},
		{"f/below", CUA_NOT_FOUND, "below"},
		{"shut", CUA_FORBIDDEN, "shut"},
		{"/proc/1/environ", CUA_FORBIDDEN, "environ"},
		{"", CUA_INVALID, "empty"},
	};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		cua_FileRequest body = {.op = cua_FileOp_FILE_READ};
		(void)snprintf(body.path, sizeof(body.path), "%s", bad[i].path);
		int fd = request(body);
		expect_error(bad[i].code, bad[i].text);
		(void)close(fd);
	}
	char byte[8];
	int fd = request(READ(.path = "link", .has_offset = true, .offset = 1));
	ck_assert_uint_eq(expect_done()->size, 3);
	ck_assert_int_eq(fd_read_all(fd, byte, sizeof(byte)), 2);
	ck_assert(expect_done()->eof);
	(void)close(fd);
	fd = request(READ(.path = "f", .has_offset = true, .offset = 1000));
	(void)expect_done();
	ck_assert_int_eq(fd_read_all(fd, byte, sizeof(byte)), 0);
	ck_assert(expect_done()->eof);
	(void)close(fd);
	fd = request(READ(.path = "/proc/self/status", .has_length = true, .length = 4));
	(void)expect_done();
	ck_assert_int_eq(fd_read_all(fd, byte, sizeof(byte)), 4);
	(void)expect_done();
	(void)close(fd);
}
END_TEST

START_TEST(write_corners) {
	put(WRITE(.path = "a"), "one");
	ck_assert_uint_eq(expect_done()->size, 3);
	expect_shell("stat -c %a a; cat a; chmod 750 a; ln -s a link", "644\none");
	put(WRITE(.path = "link"), "two");
	(void)expect_done();
	expect_shell("stat -c '%a %F' a link; cat a", "750 regular file\n777 symbolic link\ntwo");
	put(WRITE(.path = "d/e/f"), "x");
	expect_error(CUA_NOT_FOUND, "d/e/f");
	put(WRITE(.path = "d/e/f", .has_mkdirs = true, .mkdirs = true, .has_mode = true,
		    .mode = 04711),
		"x");
	(void)expect_done();
	expect_shell("stat -c %a d d/e d/e/f", "755\n755\n4711\n");
	put(WRITE(.path = "d"), "x");
	expect_error(CUA_INVALID, "a directory");
	put(WRITE(.path = "new/"), "x");
	expect_error(CUA_INVALID, "names a directory");
	put(WRITE(.path = "/etc/new"), "x");
	expect_error(CUA_FORBIDDEN, "/etc/new");
	guest_sh(&guest, "mkfifo fifo; ln -s nowhere dangling", &output);
	put(WRITE(.path = "fifo"), "x");
	expect_error(CUA_INVALID, "a FIFO");
	put(WRITE(.path = "dangling"), "x");
	expect_error(CUA_NOT_FOUND, "symbolic link");
	put(WRITE(.path = "a"), "");
	(void)expect_done();
	expect_shell("wc -c < a; ls -A", "0\na\nd\ndangling\nfifo\nlink\n");
}
END_TEST

/* Whatever goes wrong on the way, the old file stays and nothing else does. */
START_TEST(write_takes_back) {
	guest_sh(&guest, "printf old > a", &output);
	int fd = request(WRITE(.path = "a"));
	ck_assert_int_eq(fd_write_all(fd, "half", 4), 0);
	finish(4, true);
	expect_error(CUA_CONFLICT, "aborted");
	(void)close(fd);
	fd = request(WRITE(.path = "a"));
	ck_assert_int_eq(fd_write_all(fd, "half", 4), 0);
	(void)close(fd);
	finish(5, false);
	expect_error(CUA_INVALID, "4 bytes arrived where 5 were announced");
	fd = request(WRITE(.path = "a"));
	ck_assert_int_eq(fd_write_all(fd, "half and more", 13), 0);
	finish(5, false);
	expect_error(CUA_INVALID, "announced");
	(void)close(fd);
	fd = request(APPEND(.path = "a"));
	ck_assert_int_eq(fd_write_all(fd, "half", 4), 0);
	finish(0, true);
	expect_error(CUA_CONFLICT, "aborted");
	(void)close(fd);
	fd = request(WRITE(.path = "a"));
	ck_assert_int_eq(fd_write_all(fd, "half", 4), 0);
	guest_accept(&guest); /* the connection is lost in the middle */
	guest_until(&guest, "! pgrep cuad-file");
	(void)close(fd);
	expect_shell("cat a; ls -A", "olda\n");
}
END_TEST

START_TEST(append) {
	put(APPEND(.path = "log"), "one\n");
	ck_assert_uint_eq(expect_done()->size, 4);
	put(APPEND(.path = "log"), "two\n");
	ck_assert_uint_eq(expect_done()->size, 8);
	expect_shell("stat -c %a log; cat log; ls -A", "644\none\ntwo\nlog\n");
	guest_run(&guest,
		&(struct guest_command){.argv = (const char *const[]){"sh", "-c",
						"echo 1 > /var/log/x; chmod 666 /var/log/x", NULL},
			.user = "root"},
		&output);
	put(APPEND(.path = "/var/log/x"), "2\n");
	(void)expect_done();
	/* the X server's own is there for a moment */
	expect_shell("cat /var/log/x; find /tmp /var/tmp -type f ! -name 'server-*.xkm'", "1\n2\n");
	put(APPEND(.path = "/dev/null"), "2\n");
	expect_error(CUA_INVALID, "a character device");
}
END_TEST

START_TEST(list_and_stat) {
	guest_sh(&guest,
		"mkdir d; cd d; mkfifo fifo; ln -s x link; mkdir dir; printf 123 > b; : > a; "
		"touch -d @1000.5 a; chmod 640 a; : > \"$(printf 'n\\nl')\"; : > \"$(printf "
		"'\\377')\"",
		&output);
	(void)request(OTHER(LIST, .path = "d"));
	const cua_FileResult *result = expect_done();
	ck_assert(!result->truncated);
	struct cua_span rest = guest.in.blob[0];
	static const char *const names[] = {"a", "b", "dir", "fifo", "link", "n\nl", "\377"};
	static const char *const types[] = {"file", "file", "dir", "fifo", "link", "file", "file"};
	cua_FileEntry entry;
	struct cua_err err;
	for (size_t i = 0; i < CUA_COUNT(names); i++) {
		ck_assert_int_eq(cua_entry_next(&rest, &entry, &err), 1);
		ck_assert_str_eq(entry.name, names[i]);
		ck_assert_str_eq(entry.type, types[i]);
		if (i == 0) {
			ck_assert_int_eq(entry.mtime_ms, 1000500);
			ck_assert_uint_eq(entry.mode, 0640);
			ck_assert_uint_eq(entry.uid, 1000);
		}
	}
	ck_assert_int_eq(cua_entry_next(&rest, &entry, &err), 0);
	(void)request(OTHER(STAT, .path = "d/link"));
	result = expect_done();
	ck_assert_str_eq(result->entry.type, "link");
	ck_assert_str_eq(result->entry.name, "link");
	(void)request(OTHER(STAT, .path = "~"));
	ck_assert_str_eq(expect_done()->entry.name, "agent");
	(void)request(OTHER(STAT, .path = "d/none"));
	expect_error(CUA_NOT_FOUND, "none");
	(void)request(OTHER(LIST, .path = "d/b"));
	expect_error(CUA_INVALID, "no directory");
	(void)request(OTHER(LIST, .path = "none"));
	expect_error(CUA_NOT_FOUND, "none");
}
END_TEST

START_TEST(list_is_bounded) {
	guest_sh(&guest, "mkdir many; cd many; seq 10500 | xargs touch", &output);
	(void)request(OTHER(LIST, .path = "many"));
	ck_assert(expect_done()->truncated);
	struct cua_span rest = guest.in.blob[0];
	cua_FileEntry entry;
	struct cua_err err;
	size_t count = 0;
	while (cua_entry_next(&rest, &entry, &err) == 1) {
		count++;
	}
	ck_assert_uint_eq(count, CUA_LIST_ENTRIES);
	cua_msg_done(&guest.in);
}
END_TEST

START_TEST(remove_and_move) {
	guest_sh(&guest,
		"mkdir -p out t/x/y; echo keep > out/f; ln -s ../out t/x/l; "
		"ln -s out direct; echo 1 > t/x/y/z",
		&output);
	(void)request(OTHER(REMOVE, .path = "t"));
	expect_error(CUA_CONFLICT, "recursive");
	(void)request(OTHER(REMOVE, .path = "t", .has_recursive = true, .recursive = true));
	(void)expect_done();
	(void)request(OTHER(REMOVE, .path = "direct/", .has_recursive = true, .recursive = true));
	(void)expect_done();
	expect_shell("ls; cat out/f", "out\nkeep\n");
	static const char *const silly[] = {"/", "//", "/.", "/..", "~/.", "out/.."};
	for (size_t i = 0; i < CUA_COUNT(silly); i++) {
		cua_FileRequest body = OTHER(REMOVE, .has_recursive = true, .recursive = true);
		(void)snprintf(body.path, sizeof(body.path), "%s", silly[i]);
		(void)request(body);
		expect_error(CUA_INVALID, "cannot be removed");
	}
	(void)request(OTHER(REMOVE, .path = "none", .has_recursive = true, .recursive = true));
	expect_error(CUA_NOT_FOUND, "none");
	(void)request(OTHER(REMOVE, .path = "/etc", .has_recursive = true, .recursive = true));
	expect_error(CUA_FORBIDDEN, "");
	(void)request(OTHER(MOVE, .path = "out", .destination = "in"));
	(void)expect_done();
	(void)request(OTHER(MOVE, .path = "in/f", .destination = "/dev/shm/f"));
	(void)expect_done();
	expect_shell("ls; cat /dev/shm/f", "in\nkeep\n");
	(void)request(OTHER(MOVE, .path = "in"));
	expect_error(CUA_INVALID, "destination");
	(void)request(OTHER(REMOVE, .path = "in"));
	(void)expect_done();
}
END_TEST

START_TEST(remove_stays_on_its_mount) {
	guest_run(&guest,
		&(struct guest_command){
			.argv = (const char *const[]){"sh", "-c",
				"mkdir -p /home/agent/t/m /srv; echo 1 > /srv/f; "
				"mount --bind /srv /home/agent/t/m; chown -R agent /home/agent/t",
				NULL},
			.user = "root"},
		&output);
	ck_assert_int_eq(output.exit.exit_code, 0);
	(void)request(OTHER(REMOVE, .path = "t", .has_recursive = true, .recursive = true));
	expect_error(CUA_CONFLICT, "mount point");
	expect_shell("cat /srv/f", "1\n");
}
END_TEST

START_TEST(make_directories) {
	(void)request(OTHER(MKDIR, .path = "a/b"));
	expect_error(CUA_NOT_FOUND, "a/b");
	for (int i = 0; i < 2; i++) {
		(void)request(OTHER(MKDIR, .path = "a/b", .has_mkdirs = true, .mkdirs = true));
		(void)expect_done();
	}
	(void)request(OTHER(MKDIR, .path = "a/b"));
	expect_error(CUA_CONFLICT, "a/b");
	(void)request(OTHER(MKDIR, .path = "w", .has_mode = true, .mode = 0777));
	(void)expect_done();
	expect_shell("stat -c %a a a/b w; : > f", "755\n755\n777\n");
	(void)request(OTHER(MKDIR, .path = "f/g", .has_mkdirs = true, .mkdirs = true));
	expect_error(CUA_NOT_FOUND, "f");
}
END_TEST

START_TEST(hostile_requests) {
	(void)request((cua_FileRequest){.op = (cua_FileOp)99, .path = "x"});
	expect_error(CUA_INVALID, "99");
	(void)request(OTHER(MKDIR, .path = "x", .has_mode = true, .mode = 077777));
	expect_error(CUA_INVALID, "mode");
	cua_FileRequest bare = READ(.path = "x");
	guest_send(&guest, &(struct cua_out){.type = CUA_MSG_FILE_REQUEST, .body = &bare});
	guest_expect_closed(&guest);
	guest_accept(&guest);
	finish(5, false); /* of nothing */
	expect_shell("echo alive", "alive\n");
}
END_TEST

START_TEST(many_at_once) {
	static int fds[CUA_FILE_OPS];
	for (size_t i = 0; i < CUA_COUNT(fds); i++) {
		fds[i] = request(WRITE(.path = "same"));
	}
	int surplus = request(WRITE(.path = "same"));
	expect_error(CUA_EXHAUSTED, "64");
	(void)close(surplus);
	guest_accept(&guest);
	guest_until(&guest, "! pgrep cuad-file");
	for (size_t i = 0; i < CUA_COUNT(fds); i++) {
		(void)close(fds[i]);
	}
	expect_shell("ls -A", "");
}
END_TEST

/* Who connects must be the agent in the container's own numbers. */
static void check_peer(const char *path) {
	char uid[16] = "";
	cua_FileRequest body = {.op = cua_FileOp_FILE_CONNECT};
	(void)snprintf(body.path, sizeof(body.path), "%s", path);
	(void)request(body);
	(void)expect_done();
	ck_assert_uint_eq(guest.in.fd_count, 1);
	int fd = take_fd(guest.in.fd[0]);
	ck_assert(fd_is_stream_socket(fd));
	ck_assert_int_eq(fd_set_nonblock(fd, 0), 0);
	ck_assert_int_eq(fd_read_all(fd, uid, sizeof(uid) - 1), 4);
	ck_assert_str_eq(uid, "1000");
	(void)close(fd);
}

START_TEST(connects) {
	static const char server[] =
		"import os, socket, struct\n"
		"os.chdir('/home/agent')\n"
		"ends = [socket.socket(socket.AF_UNIX) for _ in range(2)]\n"
		"ends[1].bind('\\0name of it')\n"
		"ends[0].bind('sock')\n"
		"[end.listen() for end in ends]\n"
		"for end in ends:\n"
		"    peer = end.accept()[0]\n"
		"    who = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)\n"
		"    peer.sendall(str(struct.unpack('3i', who)[1]).encode())\n"
		"    peer.close()\n";
	const char *const argv[] = {"/usr/bin/python3", "-c", server, NULL};
	struct guest_exec exec =
		guest_exec_start(&guest, &(struct guest_command){.argv = argv, .detach = true});
	guest_expect(&guest, CUA_MSG_EXEC_STARTED);
	guest_exec_close(&exec);
	guest_until(&guest, "test -S sock");
	check_peer("sock");
	check_peer("@name of it");
	static const struct {
		const char *path;
		enum cua_code code;
		const char *text;
	} bad[] = {
		{"nothing", CUA_NOT_FOUND, "nothing"},
		{"@nothing", CUA_INTERNAL, "@nothing"},
		{"/etc/passwd", CUA_FORBIDDEN, "passwd"},
		{"", CUA_INVALID, "empty"},
	};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		cua_FileRequest body = {.op = cua_FileOp_FILE_CONNECT};
		(void)snprintf(body.path, sizeof(body.path), "%s", bad[i].path);
		(void)request(body);
		expect_error(bad[i].code, bad[i].text);
	}
	cua_FileRequest body = {.op = cua_FileOp_FILE_CONNECT};
	memset(body.path, 'x', 300);
	(void)request(body);
	expect_error(CUA_INVALID, "too long");
}
END_TEST

int main(void) {
	const TTest *const tests[] = {large_round_trip, read_corners, write_corners,
		write_takes_back, append, list_and_stat, list_is_bounded, remove_and_move,
		remove_stays_on_its_mount, make_directories, hostile_requests, many_at_once,
		connects};
	const struct suite_case cases[] = {
		{.name = "files",
			.setup = setup,
			.teardown = teardown,
			.seconds = 120,
			.tests = tests,
			.count = CUA_COUNT(tests)},
	};
	return suite_run_cases("init_files", cases, CUA_COUNT(cases));
}
