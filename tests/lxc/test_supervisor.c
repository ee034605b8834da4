/* The supervisor as cuad sees it: life of a session, crashes of everybody, lies of everybody. Real
 * containers with the real cuad-init; cuad is the test, the worker a stand-in without X. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lxc/super_world.h"

#define GONE cua_State_STATE_GONE
#define RUNNING cua_State_STATE_RUNNING
#define STARTING cua_State_STATE_STARTING
#define STOPPED cua_State_STATE_STOPPED
#define STOPPING cua_State_STATE_STOPPING
#define FAILED cua_State_STATE_FAILED

/* Large, and each test runs in a process of its own. */
static struct world *world_new(const char *config) {
	struct world *w = calloc(1, sizeof(*w));
	ck_assert_ptr_nonnull(w);
	world_open(w, config);
	return w;
}

/* A running session, both edges up and greeted. */
static cua_SessionCreate run_session(struct world *w, const char *name) {
	cua_SessionCreate wanted = world_session(w, name);
	ck_assert_msg(world_create(w, &wanted) == CUA_OK, "%s", w->reply.message);
	(void)world_await(w, wanted.id, RUNNING);
	struct known *k = world_await_links(w, wanted.id, 1, 1);
	world_hello(w, k->e3, CUA_DIR_WORKER_TO_CUAD);
	world_hello(w, k->e5, CUA_DIR_INIT_TO_CUAD);
	return wanted;
}

static void remove_session(struct world *w, const char *id) {
	ck_assert_msg(world_delete(w, id) == CUA_OK, "%s", w->reply.message);
	ck_assert_int_eq(world_known(w, id)->told.state, GONE);
}

static bool has_usage(struct world *w, const void *arg) {
	return w->usage.serial == *(const uint32_t *)arg;
}

START_TEST(test_life) {
	struct world *w = world_new("max_sessions 5\n");
	world_start(w);
	ck_assert_uint_eq(w->listeners, 1);
	char path[300];
	struct stat st;
	(void)snprintf(path, sizeof(path), "%s/run/cuad.sock", w->dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	ck_assert(st.st_uid == 0 && st.st_gid == 65534);

	cua_SessionCreate s = run_session(w, "one");
	struct known *k = world_known(w, s.id);
	ck_assert_str_eq(k->told.name, "one");
	ck_assert_str_eq(k->told.address, "10.213.0.3");
	ck_assert_uint_eq(k->told.slot, 1);
	ck_assert(k->told.limits.has_memory && k->told.limits.memory == 256u << 20);
	for (size_t i = 0; i < k->told.phases_count; i++) {
		printf("%s %u us\n", k->told.phases[i].name, k->told.phases[i].us);
		ck_assert_str_ne(k->told.phases[i].name, "No Name");
	}
	const cua_UsageRequest ask = {.serial = ++w->serial};
	cua_UsageRequest usage = ask;
	memcpy(usage.id, s.id, sizeof(usage.id));
	world_send(w, CUA_MSG_USAGE_REQUEST, &usage);
	world_until(w, has_usage, &usage.serial, 10);
	ck_assert_msg(!w->usage.has_error, "%s", w->usage.error.message);
	ck_assert_uint_gt(w->usage.pids, 0);
	remove_session(w, s.id);
	remove_session(w, s.id); /* what is gone, is gone */
	world_close(w);
}
END_TEST

START_TEST(test_refusals) {
	struct world *w = world_new("max_sessions 2\n");
	world_start(w);
	cua_SessionCreate first = run_session(w, "first");
	cua_SessionCreate s = world_session(w, "first");
	ck_assert_int_eq(world_create(w, &s), CUA_CONFLICT);
	ck_assert_str_eq(w->reply.subject, "name");
	s = world_session(w, "Bad_Name");
	ck_assert_int_eq(world_create(w, &s), CUA_INVALID);
	s = world_session(w, "x");
	memcpy(s.id, "../../../etc", 13);
	ck_assert_int_eq(world_create(w, &s), CUA_INVALID);
	s = world_session(w, "x");
	memcpy(s.id, first.id, 13);
	ck_assert_int_eq(world_create(w, &s), CUA_CONFLICT);
	s = world_session(w, "x");
	(void)snprintf(s.template, sizeof(s.template), "../tiny");
	ck_assert_int_eq(world_create(w, &s), CUA_INVALID);
	s = world_session(w, "x");
	(void)snprintf(s.template, sizeof(s.template), "absent");
	ck_assert_int_eq(world_create(w, &s), CUA_NOT_FOUND);
	ck_assert_str_eq(w->reply.subject, "template");
	s = world_session(w, "x");
	s.screen.width = 5000;
	ck_assert_int_eq(world_create(w, &s), CUA_INVALID);
	s = world_session(w, "x");
	s.network = (cua_Network)7;
	ck_assert_int_eq(world_create(w, &s), CUA_INVALID);
	s = world_session(w, "x");
	s.limits = (cua_Limits){.has_pids = true, .pids = 0};
	ck_assert_int_eq(world_create(w, &s), CUA_INVALID);
	cua_SessionCreate second = run_session(w, "second");
	s = world_session(w, "third");
	ck_assert_int_eq(world_create(w, &s), CUA_EXHAUSTED);
	ck_assert_str_eq(w->reply.subject, "sessions");
	remove_session(w, first.id);
	remove_session(w, second.id);
	world_close(w);
}
END_TEST

START_TEST(test_memory_reserve) {
	struct world *w = world_new("reserve 9000000000000\n");
	world_start(w);
	cua_SessionCreate s = world_session(w, "x");
	ck_assert_int_eq(world_create(w, &s), CUA_EXHAUSTED);
	ck_assert_str_eq(w->reply.subject, "memory");
	world_close(w);
}
END_TEST

START_TEST(test_failed_start_leaves_a_reason) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = world_session(w, "x");
	(void)snprintf(s.template, sizeof(s.template), "hollow");
	ck_assert_int_eq(world_create(w, &s), CUA_OK);
	struct known *k = world_await(w, s.id, FAILED);
	ck_assert(k->told.has_reason);
	printf("reason: %s\n", k->told.reason);
	/* The name is free again, and the failure is still shown to a new cuad. */
	cua_SessionCreate again = run_session(w, "x");
	ck_assert_uint_eq(world_entries(w, "run/sessions"), 1);
	ck_assert_int_eq(kill(w->cuad, SIGKILL), 0);
	world_connect(w);
	ck_assert_int_eq(world_known(w, s.id)->told.state, FAILED);
	remove_session(w, s.id);
	remove_session(w, again.id);
	world_close(w);
}
END_TEST

START_TEST(test_start_has_a_deadline) {
	struct world *w = world_new("");
	world_desktop_mode(w, "mute");
	world_start(w);
	cua_SessionCreate s = world_session(w, "x");
	ck_assert_int_eq(world_create(w, &s), CUA_OK);
	struct known *k = world_await(w, s.id, FAILED);
	ck_assert_ptr_nonnull(strstr(k->told.reason, "not running after 30 s"));
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_delete_during_create) {
	struct world *w = world_new("");
	world_start(w);
	for (int i = 0; i < 6; i++) {
		cua_SessionCreate s = world_session(w, "x");
		world_send(w, CUA_MSG_SESSION_CREATE, &s);
		cua_SessionDelete d = {.serial = ++w->serial};
		memcpy(d.id, s.id, sizeof(d.id));
		world_send(w, CUA_MSG_SESSION_DELETE, &d);
		cua_SessionDelete e = d;
		e.serial = ++w->serial;
		world_send(w, CUA_MSG_SESSION_DELETE, &e);
		ck_assert_int_eq(world_await_reply(w, d.serial), CUA_OK);
		ck_assert_int_eq(world_await_reply(w, e.serial), CUA_OK);
		ck_assert_int_eq(world_known(w, s.id)->told.state, GONE);
	}
	world_close(w);
}
END_TEST

START_TEST(test_worker_dies) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = run_session(w, "x");
	for (unsigned i = 0; i < 2; i++) {
		pid_t worker = world_find(w->supervisor, "cuad-desktop", s.id);
		ck_assert_int_gt(worker, 0);
		ck_assert_int_eq(kill(worker, SIGKILL), 0);
		struct known *k = world_await_links(w, s.id, 2 + i, 1);
		world_hello(w, k->e3, CUA_DIR_WORKER_TO_CUAD);
		ck_assert_int_eq(k->told.state, RUNNING);
		ck_assert_uint_eq(k->e5_count, 1);
	}
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

/* Lies on E2 cost the liar its life and nobody else anything. */
START_TEST(test_worker_lies) {
	static const char *const modes[] = {"lie", "cut", "die"};
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate good = run_session(w, "good");
	world_desktop_mode(w, modes[_i]);
	cua_SessionCreate s = world_session(w, "bad");
	ck_assert_int_eq(world_create(w, &s), CUA_OK);
	(void)world_await_links(w, s.id, 0, 1);
	ck_assert_int_eq(world_known(w, s.id)->told.state, STARTING);
	world_desktop_mode(w, "ready");
	(void)world_await(w, s.id, RUNNING);
	ck_assert_int_eq(world_known(w, good.id)->told.state, RUNNING);
	ck_assert_uint_eq(world_known(w, good.id)->e3_count, 1);
	remove_session(w, s.id);
	remove_session(w, good.id);
	world_close(w);
}
END_TEST

struct size_wanted {
	const char *id;
	uint32_t width;
};

static bool has_width(struct world *w, const void *arg) {
	const struct size_wanted *wanted = arg;
	return world_known(w, wanted->id)->told.screen.width == wanted->width;
}

/* The size that a worker tells is kept with the session. */
START_TEST(test_screen_changes) {
	struct world *w = world_new("");
	world_desktop_mode(w, "small");
	world_start(w);
	cua_SessionCreate s = run_session(w, "s");
	world_until(w, has_width, &(struct size_wanted){s.id, 640}, 10);
	ck_assert_uint_eq(world_known(w, s.id)->told.screen.height, 480);
	ck_assert_int_eq(world_known(w, s.id)->told.state, RUNNING);
	/* Written to disk soon after. */
	char command[200];
	(void)snprintf(command, sizeof(command),
		"until grep -q '^width=640$' %s/state/sessions/%s/record; do sleep 0.05; done",
		w->dir, s.id);
	ck_assert_int_eq(
		world_exec((const char *[]){"timeout", "10", "sh", "-c", command, NULL}), 0);
	world_desktop_mode(w, "ready");
	(void)world_stop(w, SIGTERM);
	world_start(w);
	ck_assert_uint_eq(world_known(w, s.id)->told.screen.width, 640);
	ck_assert_uint_eq(world_known(w, s.id)->told.screen.height, 480);
	(void)world_await_links(w, s.id, 1, 1);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_screen_lies) {
	static const char *const modes[] = {"huge", "restless"};
	struct world *w = world_new("");
	world_desktop_mode(w, modes[_i]);
	world_start(w);
	cua_SessionCreate s = run_session(w, "s");
	world_desktop_mode(w, "ready");
	/* Another worker came. */
	(void)world_await_links(w, s.id, 2, 1);
	ck_assert_uint_le(world_known(w, s.id)->told.screen.width, s.screen.max_width);
	ck_assert_int_eq(world_known(w, s.id)->told.state, RUNNING);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_cuad_dies) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate a = run_session(w, "a");
	cua_SessionCreate b = run_session(w, "b");
	ck_assert_int_eq(kill(w->cuad, SIGKILL), 0);
	world_connect(w);
	ck_assert_uint_eq(w->listeners, 1);
	ck_assert_int_eq(world_known(w, a.id)->told.state, RUNNING);
	ck_assert_int_eq(world_known(w, b.id)->told.state, RUNNING);
	struct known *k = world_await_links(w, a.id, 1, 1);
	world_hello(w, k->e3, CUA_DIR_WORKER_TO_CUAD);
	world_hello(w, k->e5, CUA_DIR_INIT_TO_CUAD);
	(void)world_await_links(w, b.id, 1, 1);
	remove_session(w, a.id);
	remove_session(w, b.id);
	world_close(w);
}
END_TEST

START_TEST(test_cuad_lies) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = run_session(w, "x");
	pid_t first = w->cuad;
	if (_i == 0) {
		ck_assert_int_eq(write(w->e1, "garbage", 7), 7);
	} else if (_i == 1) {
		/* In the right direction, but twice. */
		ck_assert_int_eq(cua_hello_send(w->e1, NULL), 0);
	} else {
		/* Somebody else's message. */
		const cua_WorkerState state = {.ready = true};
		world_send(w, CUA_MSG_WORKER_STATE, &state);
	}
	world_await_gone(first);
	world_connect(w);
	ck_assert_int_ne(w->cuad, first);
	ck_assert_int_eq(world_known(w, s.id)->told.state, RUNNING);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_supervisor_dies) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate a = run_session(w, "a");
	cua_SessionCreate b = run_session(w, "b");
	pid_t init = world_init(w, a.id);
	ck_assert_int_gt(init, 0);
	int status = world_stop(w, _i == 0 ? SIGKILL : SIGTERM);
	ck_assert(_i == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_int_eq(kill(init, 0), 0);
	world_start(w);
	struct known *k = world_known(w, a.id);
	ck_assert_int_eq(k->told.state, RUNNING);
	ck_assert_str_eq(k->told.name, "a");
	k = world_await_links(w, a.id, 1, 1);
	world_hello(w, k->e3, CUA_DIR_WORKER_TO_CUAD);
	world_hello(w, k->e5, CUA_DIR_INIT_TO_CUAD);
	(void)world_await_links(w, b.id, 1, 1);
	ck_assert_int_eq(kill(init, 0), 0);
	remove_session(w, a.id);
	remove_session(w, b.id);
	world_close(w);
}
END_TEST

/* How far a create or a delete has come, by what it leaves on the host. */
enum stage { STAGE_ASKED, STAGE_RECORD, STAGE_MOUNTS, STAGE_CONTAINER };

static void await_stage(const struct world *w, enum stage stage, bool there) {
	bool now = !there;
	for (int i = 0; i < 1000000 && now != there; i++) {
		(void)sched_yield();
		now = stage == STAGE_ASKED    ? there
		      : stage == STAGE_RECORD ? world_entries(w, "state/sessions") > 0
		      : stage == STAGE_MOUNTS ? world_entries(w, "run/sessions") > 0
					      : world_init(w, NULL) > 0;
	}
	ck_assert(now == there);
}

/* Cut off anywhere in a create or a delete: the next start leaves nothing of it. */
START_TEST(test_supervisor_dies_in_the_middle) {
	struct world *w = world_new("");
	world_desktop_mode(w, "mute"); /* it must not be running before it is cut off */
	world_start(w);
	cua_SessionCreate s = world_session(w, "x");
	ck_assert_int_eq(world_create(w, &s), CUA_OK);
	await_stage(w, (enum stage)_i, true);
	(void)world_stop(w, SIGKILL);
	world_start(w);
	if (world_known(w, s.id)->told.id[0]) {
		(void)world_await(w, s.id, GONE);
	}
	ck_assert_uint_eq(world_entries(w, "state/sessions"), 0);
	world_desktop_mode(w, "ready");
	cua_SessionCreate again = run_session(w, "x");
	cua_SessionDelete d = {.serial = ++w->serial};
	memcpy(d.id, again.id, sizeof(d.id));
	world_send(w, CUA_MSG_SESSION_DELETE, &d);
	await_stage(w, (enum stage)_i, false);
	(void)world_stop(w, SIGKILL);
	world_start(w);
	if (world_known(w, again.id)->told.id[0]) {
		remove_session(w, again.id);
	}
	world_close(w);
}
END_TEST

START_TEST(test_container_ends_by_itself) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = run_session(w, "x");
	pid_t init = world_init(w, s.id);
	ck_assert_int_gt(init, 0);
	ck_assert_int_eq(kill(init, SIGKILL), 0);
	struct known *k = world_await(w, s.id, STOPPED);
	ck_assert(k->told.has_reason);
	ck_assert_uint_eq(world_entries(w, "run/sessions"), 0);
	ck_assert_uint_eq(world_entries(w, "state/sessions"), 1);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_damaged_record) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = run_session(w, "x");
	(void)world_stop(w, SIGTERM);
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/state/sessions/%s/record", w->dir, s.id);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_eq(write(fd, "cuad-session 1\nname=", 20), 20);
	(void)close(fd);
	world_start(w);
	struct known *k = world_await(w, s.id, FAILED);
	printf("reason: %s\n", k->told.reason);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_halt) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = run_session(w, "x");
	(void)world_stop(w, SIGTERM);
	ck_assert_int_eq(world_run(w, "--halt"), 0);
	ck_assert_int_eq(world_init(w, NULL), 0);
	ck_assert_uint_eq(world_entries(w, "run/sessions"), 0);
	ck_assert_uint_eq(world_entries(w, "state/sessions"), 1);
	world_start(w);
	(void)world_await(w, s.id, STOPPED);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

static int table_is_there(void) {
	return world_exec(
		(const char *const[]){"sh", "-c", "nft list tables | grep -q cuad", NULL});
}

static bool table_is_back(struct world *w, const void *arg) {
	(void)w;
	(void)arg;
	return table_is_there() == 0;
}

START_TEST(test_firewall_is_mended) {
	struct world *w = world_new("");
	world_start(w);
	cua_SessionCreate s = run_session(w, "x");
	ck_assert_int_eq(table_is_there(), 0);
	/* The watch is told by an event; a request answered after it shows that the loop lives. */
	ck_assert_int_eq(world_exec((const char *const[]){"nft", "flush", "ruleset", NULL}), 0);
	for (int i = 0; i < 50 && !table_is_back(w, NULL); i++) {
		(void)world_delete(w, "aaaaaaaaaaaa");
	}
	ck_assert_int_eq(table_is_there(), 0);
	remove_session(w, s.id);
	world_close(w);
}
END_TEST

START_TEST(test_templates) {
	struct world *w = world_new("");
	char path[300];
	(void)snprintf(path, sizeof(path), "%s/libexec/cuad-build", w->dir);
	FILE *f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	(void)fputs("#!/bin/sh\necho \"phase $1\"\necho done\n[ $1$6 = fresh ] || [ $1$6 = "
		    "stale--force ] || exit 3\n"
		    "mkdir -p $3/templates/$1/rootfs && echo $1 >$3/templates/$1/layers\n",
		f);
	(void)fclose(f);
	ck_assert_int_eq(chmod(path, 0755), 0);
	world_start(w);
	cua_SessionCreate s = run_session(w, "user-of-tiny");
	ck_assert_int_eq(world_template(w, 1, "tiny"), CUA_CONFLICT);
	ck_assert_ptr_nonnull(strstr(w->reply.message, "user-of-tiny"));
	ck_assert_int_eq(world_template(w, 1, "absent"), CUA_NOT_FOUND);
	ck_assert_int_eq(world_template(w, 1, ".."), CUA_INVALID);
	ck_assert_int_eq(world_template(w, 0, "--help"), CUA_INVALID);
	ck_assert_int_eq(world_template(w, 2, "tiny"), CUA_INVALID);
	ck_assert_int_eq(world_template(w, 0, "fresh"), CUA_OK);
	ck_assert_uint_eq(w->progress, 2);
	ck_assert_int_eq(world_template(w, 0, "stale"), CUA_INTERNAL);
	ck_assert_ptr_nonnull(strstr(w->reply.message, "done"));
	w->force = true;
	ck_assert_int_eq(world_template(w, 0, "stale"), CUA_OK);
	ck_assert_int_eq(world_template(w, 1, "stale"), CUA_OK);
	ck_assert_int_eq(world_template(w, 1, "fresh"), CUA_OK);
	remove_session(w, s.id);
	ck_assert_int_eq(world_template(w, 1, "tiny"), CUA_OK);
	ck_assert_uint_eq(world_entries(w, "state/templates"), 1);
	world_close(w);
}
END_TEST

START_TEST(test_configuration) {
	static const char *const bad[] = {"listen 0.0.0.0:7999\n", "error line 3: no such key\n",
		"listen 127.0.0.1:70000\n", "max_sessions 0\n"};
	for (size_t i = 0; i < CUA_COUNT(bad); i++) {
		struct world *w = world_new(bad[i]);
		ck_assert_int_eq(world_run(w, NULL), 1);
		world_close(w);
	}
	struct world *w = world_new("listen 127.0.0.1:7999\nlisten ::1:7999\n");
	world_close(w);
	w = world_new("listen 127.0.0.1:7999\n");
	world_start(w);
	ck_assert_uint_eq(w->listeners, 2);
	/* A second supervisor on the same directories is refused, after it has waited. */
	ck_assert_int_eq(world_run(w, "--halt"), 1);
	world_close(w);
}
END_TEST

START_TEST(test_many) {
	enum { COUNT = 20 };
	struct world *w = world_new("max_sessions 20\n");
	world_start(w);
	cua_SessionCreate s[COUNT];
	for (int i = 0; i < COUNT; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "many-%d", i);
		s[i] = world_session(w, name);
		world_send(w, CUA_MSG_SESSION_CREATE, &s[i]);
	}
	for (int i = 0; i < COUNT; i++) {
		(void)world_await(w, s[i].id, RUNNING);
	}
	for (int i = 0; i < COUNT; i++) {
		cua_SessionDelete d = {.serial = ++w->serial};
		memcpy(d.id, s[i].id, sizeof(d.id));
		world_send(w, CUA_MSG_SESSION_DELETE, &d);
	}
	for (int i = 0; i < COUNT; i++) {
		(void)world_await(w, s[i].id, GONE);
	}
	world_close(w);
}
END_TEST

/* A case of its own for each, so that CK_RUN_CASE runs one. */
static void add(Suite *suite, const char *name, const TTest *test, int times) {
	TCase *tc = tcase_create(name);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test, 0, times);
	suite_add_tcase(suite, tc);
}

int main(void) {
	Suite *suite = suite_create("supervisor");
	add(suite, "life", test_life, 1);
	add(suite, "refusals", test_refusals, 1);
	add(suite, "memory_reserve", test_memory_reserve, 1);
	add(suite, "failed_start", test_failed_start_leaves_a_reason, 1);
	add(suite, "deadline", test_start_has_a_deadline, 1);
	add(suite, "delete_during_create", test_delete_during_create, 1);
	add(suite, "worker_dies", test_worker_dies, 1);
	add(suite, "worker_lies", test_worker_lies, 3);
	add(suite, "screen_changes", test_screen_changes, 1);
	add(suite, "screen_lies", test_screen_lies, 2);
	add(suite, "cuad_dies", test_cuad_dies, 1);
	add(suite, "cuad_lies", test_cuad_lies, 3);
	add(suite, "supervisor_dies", test_supervisor_dies, 2);
	add(suite, "dies_in_the_middle", test_supervisor_dies_in_the_middle, 4);
	add(suite, "container_ends", test_container_ends_by_itself, 1);
	add(suite, "damaged_record", test_damaged_record, 1);
	add(suite, "halt", test_halt, 1);
	add(suite, "firewall", test_firewall_is_mended, 1);
	add(suite, "templates", test_templates, 1);
	add(suite, "configuration", test_configuration, 1);
	add(suite, "many", test_many, 1);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
