/* Edges: order, serials, deadlines, and what becomes of a peer that breaks the rules. The test is the
 * other side; the loop is cuad's own. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cua/action_json.h"
#include "cua/fdio.h"
#include "server/front/loop.h"
#include "server/front/peer.h"
#include "server/front/worker.h"
#include "tests/lib/suite.h"

struct fixture {
	struct loop *loop;
	struct peer *peer;
	int other;
	struct cua_msg scratch;
	struct cua_msg in; /* what the other side reads */
	unsigned answers;
	unsigned errors;
	unsigned events;
	bool down;
	bool more; /* an answer wants another one */
	bool free_in_answer;
	enum cua_code code; /* of the last error */
	uint32_t pid;
	unsigned left; /* until the loop ends */
};

/* Something that the test waits for. */
static void happened(struct fixture *f) {
	if (--f->left == 0) {
		loop_stop(f->loop);
	}
}

static int on_event(void *owner, struct cua_msg *msg, struct cua_err *err) {
	struct fixture *f = owner;
	(void)err;
	f->events++;
	ck_assert_str_eq(msg->body.service_event.name, "wm");
	happened(f);
	return 0;
}

static const struct peer_row rows[] = {
	PEER_ANSWER(CUA_MSG_REPLY, reply),
	PEER_ANSWER(CUA_MSG_EXEC_STARTED, exec_started),
	{.type = CUA_MSG_SERVICE_EVENT, .handle = on_event},
};

static void on_down(void *owner, const struct cua_err *why) {
	struct fixture *f = owner;
	f->down = true;
	f->code = why->code;
	f->peer = peer_free(f->peer);
	happened(f);
}

static struct fixture *fixture_new(void) {
	struct fixture *f = calloc(1, sizeof(*f));
	struct cua_err err;
	int pair[2];
	f->loop = loop_new(&err);
	ck_assert_ptr_nonnull(f->loop);
	ck_assert_int_eq(fd_seqpacket_pair(pair, &err), 0);
	f->other = pair[1];
	f->peer = peer_new(pair[0],
		&(struct peer_config){.loop = f->loop,
			.scratch = &f->scratch,
			.dirs = CUA_DIR_INIT_TO_CUAD,
			.rows = rows,
			.row_count = CUA_COUNT(rows),
			.on_down = on_down,
			.owner = f},
		&err);
	ck_assert_ptr_nonnull(f->peer);
	ck_assert(!peer_is_up(f->peer));
	return f;
}

static void fixture_free(struct fixture *f) {
	(void)peer_free(f->peer);
	if (f->other >= 0) {
		(void)close(f->other);
	}
	(void)loop_free(f->loop);
	free(f);
}

static void say(struct fixture *f, enum cua_msg_type type, const void *body) {
	struct cua_err err;
	ck_assert_int_eq(
		cua_msg_send(f->other, &(struct cua_out){.type = type, .body = body}, &err), 0);
}

static void say_hello(struct fixture *f) {
	struct cua_err err;
	ck_assert_int_eq(cua_hello_send(f->other, &err), 0);
}

static bool on_answer(void *data, struct cua_msg *msg, const struct cua_err *err) {
	struct fixture *f = data;
	f->answers += msg != NULL;
	f->errors += msg == NULL;
	f->code = msg ? CUA_OK : err->code;
	if (msg && msg->type == CUA_MSG_EXEC_STARTED) {
		f->pid = msg->body.exec_started.pid;
	}
	if (f->free_in_answer && msg) {
		f->peer = peer_free(f->peer);
	}
	happened(f);
	return f->more;
}

/* Asks for a command; its serial. */
static uint32_t ask(struct fixture *f, uint64_t deadline_ms) {
	cua_DesktopCommand body = {.serial = peer_serial(f->peer)};
	struct cua_err err;
	ck_assert_int_eq(
		peer_call(f->peer,
			&(struct peer_call){.serial = body.serial,
				.deadline_ms = deadline_ms,
				.answer = on_answer,
				.data = f},
			&(struct cua_out){.type = CUA_MSG_DESKTOP_COMMAND, .body = &body}, &err),
		0);
	return body.serial;
}

/* Runs the loop until so many things have happened; once in a test. */
static void run(struct fixture *f, unsigned things) {
	f->left = things;
	loop_run(f->loop);
}

/* ---------------------------------------------------------------- answers */

START_TEST(an_answer_finds_its_call) {
	struct fixture *f = fixture_new();
	say_hello(f);
	uint32_t first = ask(f, 0);
	uint32_t second = ask(f, 60000);
	ck_assert_uint_ne(first, second);
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = second});
	say(f, CUA_MSG_EXEC_STARTED, &(cua_ExecStarted){.serial = first, .pid = 7});
	run(f, 2);
	ck_assert(peer_is_up(f->peer));
	ck_assert_uint_eq(f->answers, 2);
	ck_assert_uint_eq(f->pid, 7);
	fixture_free(f);
}
END_TEST

START_TEST(what_is_asked_arrives_after_hello) {
	struct fixture *f = fixture_new();
	struct cua_err err;
	uint32_t serial = ask(f, 0);
	ck_assert_int_eq(cua_msg_recv(f->other, CUA_DIR_CUAD_TO_INIT, &f->in, &err), 1);
	ck_assert_int_eq(cua_hello_check(&f->in, &err), 0);
	ck_assert_int_eq(cua_msg_recv(f->other, CUA_DIR_CUAD_TO_INIT, &f->in, &err), 1);
	ck_assert_int_eq(f->in.type, CUA_MSG_DESKTOP_COMMAND);
	ck_assert_uint_eq(f->in.body.desktop_command.serial, serial);
	fixture_free(f); /* and the call ends with an error, not with a leak */
}
END_TEST

START_TEST(a_call_may_have_several_answers) {
	struct fixture *f = fixture_new();
	say_hello(f);
	f->more = true;
	uint32_t serial = ask(f, 60000);
	for (int i = 0; i < 3; i++) {
		say(f, CUA_MSG_EXEC_STARTED, &(cua_ExecStarted){.serial = serial, .pid = 1});
	}
	run(f, 3);
	ck_assert_uint_eq(f->answers, 3);
	ck_assert_uint_eq(f->errors, 0);
	f->left = 99;
	f->peer = peer_free(f->peer);
	ck_assert_uint_eq(f->errors, 1);
	fixture_free(f);
}
END_TEST

START_TEST(a_late_answer_is_dropped) {
	struct fixture *f = fixture_new();
	say_hello(f);
	uint32_t forgotten = ask(f, 0);
	uint32_t serial = ask(f, 0);
	peer_forget(f->peer, forgotten);
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = forgotten});
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = serial});
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = serial});
	say(f, CUA_MSG_SERVICE_EVENT, &(cua_ServiceEvent){.name = "wm"});
	run(f, 2);
	ck_assert_uint_eq(f->answers, 1);
	ck_assert_uint_eq(f->events, 1);
	ck_assert(!f->down);
	fixture_free(f);
}
END_TEST

START_TEST(a_peer_that_hangs_ends_in_a_timeout) {
	struct fixture *f = fixture_new();
	say_hello(f);
	(void)ask(f, 20);
	run(f, 1);
	ck_assert_uint_eq(f->errors, 1);
	ck_assert_int_eq(f->code, CUA_TIMEOUT);
	ck_assert(!f->down);
	fixture_free(f);
}
END_TEST

START_TEST(an_answer_may_free_the_peer) {
	struct fixture *f = fixture_new();
	say_hello(f);
	f->free_in_answer = true;
	f->more = true;
	uint32_t serial = ask(f, 0);
	(void)ask(f, 0);
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = serial});
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = serial + 1});
	run(f, 3); /* the answer, and an error for both */
	ck_assert_uint_eq(f->answers, 1);
	ck_assert_uint_eq(f->errors, 2);
	ck_assert_ptr_null(f->peer);
	fixture_free(f);
}
END_TEST

/* ---------------------------------------------------------------- the end of a peer */

START_TEST(a_lost_peer_fails_its_calls) {
	struct fixture *f = fixture_new();
	say_hello(f);
	(void)ask(f, 0);
	(void)ask(f, 60000);
	(void)close(f->other);
	f->other = -1;
	run(f, 3);
	ck_assert_uint_eq(f->errors, 2);
	ck_assert(f->down);
	fixture_free(f);
}
END_TEST

START_TEST(its_last_words_are_heard) {
	struct fixture *f = fixture_new();
	say_hello(f);
	uint32_t serial = ask(f, 0);
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = serial});
	(void)close(f->other); /* with our messages unread */
	f->other = -1;
	run(f, 2);
	ck_assert_uint_eq(f->answers, 1);
	ck_assert_uint_eq(f->errors, 0);
	ck_assert(f->down);
	fixture_free(f);
}
END_TEST

/* Sends something wrong and expects the peer to be dropped for it. */
static void expect_dropped(struct fixture *f) {
	run(f, 1);
	ck_assert(f->down);
	ck_assert_int_eq(f->code, CUA_BAD_REQUEST);
	fixture_free(f);
}

START_TEST(an_answer_to_nothing_drops_the_peer) {
	struct fixture *f = fixture_new();
	say_hello(f);
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = 5});
	expect_dropped(f);
}
END_TEST

START_TEST(serial_zero_drops_the_peer) {
	struct fixture *f = fixture_new();
	say_hello(f);
	say(f, CUA_MSG_REPLY, &(cua_Reply){.serial = 0});
	expect_dropped(f);
}
END_TEST

START_TEST(a_message_before_hello_drops_the_peer) {
	struct fixture *f = fixture_new();
	say(f, CUA_MSG_SERVICE_EVENT, &(cua_ServiceEvent){.name = "wm"});
	expect_dropped(f);
}
END_TEST

START_TEST(a_second_hello_drops_the_peer) {
	struct fixture *f = fixture_new();
	say_hello(f);
	say_hello(f);
	expect_dropped(f);
}
END_TEST

START_TEST(a_message_without_a_row_drops_the_peer) {
	struct fixture *f = fixture_new();
	say_hello(f);
	say(f, CUA_MSG_FILE_RESULT, &(cua_FileResult){.serial = 1});
	expect_dropped(f);
}
END_TEST

START_TEST(rubbish_drops_the_peer) {
	struct fixture *f = fixture_new();
	say_hello(f);
	ck_assert_int_eq(write(f->other, "rubbish", 7), 7);
	expect_dropped(f);
}
END_TEST

START_TEST(another_build_is_refused) {
	struct fixture *f = fixture_new();
	say(f, CUA_MSG_HELLO, &(cua_Hello){.build = "0.0.0-other"});
	run(f, 1);
	ck_assert(f->down);
	ck_assert_int_eq(f->code, CUA_CONFLICT);
	fixture_free(f);
}
END_TEST

/* The other side never reads: the queue is bounded, and the peer is given up for it, but not from
 * inside the send. */
START_TEST(a_peer_that_does_not_read_is_given_up) {
	struct fixture *f = fixture_new();
	say_hello(f);
	cua_ExecSignal body = {.serial = 1, .signal = 2};
	const struct cua_out out = {.type = CUA_MSG_EXEC_SIGNAL, .body = &body};
	struct cua_err err;
	int r = 0;
	for (unsigned i = 0; r == 0 && i < 100000; i++) {
		r = peer_send(f->peer, &out, &err);
	}
	ck_assert_int_eq(r, -CUA_EXHAUSTED);
	ck_assert(!f->down);
	run(f, 1);
	ck_assert(f->down);
	fixture_free(f);
}
END_TEST

/* An action may take as long as it says, and a worker that hangs is noticed soon after. */
START_TEST(a_worker_has_the_time_that_its_action_takes) {
	static const struct {
		const char *action;
		uint64_t ms; /* that it takes by itself */
	} kinds[] = {
		{"{\"action\":\"screen_size\"}", 0},
		{"{\"action\":\"wait\",\"ms\":60000}", 60000},
		{"{\"action\":\"wait_settled\",\"quiet\":900,\"max\":30000}", 30000},
		{"{\"action\":\"drag\",\"path\":[[1,1],[2,2]],\"duration\":9000}", 9000},
		{"{\"action\":\"move\",\"x\":1,\"y\":1,\"settle\":9000,\"settle_max\":20000}",
			20000},
		{"{\"action\":\"key\",\"keys\":[\"a\",\"b\"],\"repeat\":5,\"hold\":1000}",
			10000 + CUA_KEYBOARD_MS},
		{"{\"action\":\"type\",\"text\":\"abcdefghij\",\"delay\":500}",
			5000 + CUA_KEYBOARD_MS},
		{"{\"action\":\"click\",\"modifiers\":[\"ctrl\"]}", CUA_KEYBOARD_MS},
		{"{\"action\":\"paste\",\"text\":\"a\"}", CUA_KEYBOARD_MS},
		{"{\"action\":\"wait_for\",\"text\":\"x\",\"timeout\":60000}", 60000},
		{"{\"action\":\"ui_set_value\",\"name\":\"x\",\"value\":\"y\",\"timeout\":15000}",
			45000 + CUA_KEYBOARD_MS},
	};
	for (size_t i = 0; i < CUA_COUNT(kinds); i++) {
		json_t *json = json_loads(kinds[i].action, 0, NULL);
		static struct cua_call call;
		struct cua_call_mem mem;
		struct cua_err err;
		ck_assert_msg(cua_call_from_object(json, &call, &mem, &err) == 0, "%s: %s",
			kinds[i].action, err.message);
		uint64_t ms = worker_deadline_ms(&call);
		ck_assert_msg(ms >= kinds[i].ms + CUA_ACTION_SPARE_MS, "%s: %llu", kinds[i].action,
			(unsigned long long)ms);
		ck_assert_msg(ms <= kinds[i].ms + 2ull * CUA_ACTION_SPARE_MS, "%s: %llu",
			kinds[i].action, (unsigned long long)ms);
		cua_call_mem_done(&mem);
		json_decref(json);
	}
}
END_TEST

int main(void) {
	const TTest *const tests[] = {an_answer_finds_its_call, what_is_asked_arrives_after_hello,
		a_call_may_have_several_answers, a_late_answer_is_dropped,
		a_peer_that_hangs_ends_in_a_timeout, an_answer_may_free_the_peer,
		a_lost_peer_fails_its_calls, its_last_words_are_heard,
		an_answer_to_nothing_drops_the_peer, serial_zero_drops_the_peer,
		a_message_before_hello_drops_the_peer, a_second_hello_drops_the_peer,
		a_message_without_a_row_drops_the_peer, rubbish_drops_the_peer,
		another_build_is_refused, a_peer_that_does_not_read_is_given_up,
		a_worker_has_the_time_that_its_action_takes};
	return suite_run("peer", tests, CUA_COUNT(tests));
}
