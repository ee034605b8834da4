/* The pump between a pseudo terminal and a socket. A buffer is read only when it is empty, so a
 * side that does not take its bytes stops the other side and nothing grows. */
#include "server/init/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "cua/fdio.h"
#include "server/init/loop.h"

#define END_OF_TRANSMISSION '\004'

static struct winsize size_of(unsigned columns, unsigned rows) {
	return (struct winsize){
		.ws_col = (unsigned short)(columns > 0 && columns <= 10000 ? columns : 80),
		.ws_row = (unsigned short)(rows > 0 && rows <= 10000 ? rows : 24),
	};
}

int pty_open(struct pty *pty, int peer, unsigned columns, unsigned rows, struct cua_err *err) {
	_cleanup_fd_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int unlocked = 0;
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0) {
		return cua_err_errno(err, errno, "cannot make a terminal");
	}
	/* Through the master, since the path of the other side belongs to another mount, perhaps. */
	_cleanup_fd_ int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios modes;
	if (slave < 0 || tcgetattr(slave, &modes) < 0) {
		return cua_err_errno(err, errno, "cannot open a terminal");
	}
	modes.c_iflag |= IUTF8;
	struct winsize size = size_of(columns, rows);
	if (tcsetattr(slave, TCSANOW, &modes) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0) {
		return cua_err_errno(err, errno, "cannot set up a terminal");
	}
	pty->master = take_fd(master);
	pty->slave = take_fd(slave);
	pty->peer = peer;
	pty->peer_done = false;
	pty->to_terminal.len = 0;
	pty->to_peer.len = 0;
	return 0;
}

void pty_resize(const struct pty *pty, unsigned columns, unsigned rows) {
	struct winsize size = size_of(columns, rows);
	if (pty->master >= 0) {
		(void)ioctl(pty->master, TIOCSWINSZ, &size);
	}
}

void pty_signal(const struct pty *pty, int signal) {
	pid_t group = 0;
	if (pty->master >= 0 && ioctl(pty->master, TIOCGPGRP, &group) == 0 && group > 1) {
		(void)kill(-group, signal);
	}
}

void pty_prepare(const struct pty *pty, struct pollfd ret[2]) {
	ret[0] = (struct pollfd){.fd = pty->peer};
	ret[1] = (struct pollfd){.fd = pty->master};
	if (pty->to_terminal.len > 0) {
		ret[1].events |= POLLOUT;
	} else if (!pty->peer_done) {
		ret[0].events |= POLLIN;
	}
	ret[pty->to_peer.len > 0 ? 0 : 1].events |= pty->to_peer.len > 0 ? POLLOUT : POLLIN;
}

static bool again(ssize_t n) {
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False when the other side is gone. */
static bool buffer_write(struct pty_buffer *buffer, int fd, bool is_socket) {
	while (buffer->len > 0) {
		const char *from = buffer->data + buffer->start;
		ssize_t n = is_socket ? send(fd, from, buffer->len, MSG_DONTWAIT | MSG_NOSIGNAL)
				      : write(fd, from, buffer->len);
		if (n <= 0) {
			return again(n);
		}
		buffer->start += (size_t)n;
		buffer->len -= (size_t)n;
	}
	return true;
}

/* Fills an empty buffer: bytes read, 0 at the end, -1 with errno. */
static ssize_t buffer_read(struct pty_buffer *buffer, int fd, bool is_socket) {
	ssize_t n = is_socket ? recv(fd, buffer->data, sizeof(buffer->data), MSG_DONTWAIT)
			      : read(fd, buffer->data, sizeof(buffer->data));
	buffer->start = 0;
	buffer->len = n > 0 ? (size_t)n : 0;
	return n;
}

static void close_fd(int *fd) {
	if (*fd >= 0) {
		(void)close(*fd);
	}
	*fd = -1;
}

/* Closing the master is the hang-up. */
static void hang_up(struct pty *pty) {
	close_fd(&pty->peer);
	close_fd(&pty->slave);
	close_fd(&pty->master);
	pty->to_terminal.len = 0;
	pty->to_peer.len = 0;
}

/* The peer sends no more but may still read: its programs get an end of file once. */
static void end_of_input(struct pty *pty) {
	pty->peer_done = true;
	pty->to_terminal.data[0] = END_OF_TRANSMISSION;
	pty->to_terminal.start = 0;
	pty->to_terminal.len = 1;
}

static bool pump_to_terminal(struct pty *pty) {
	if (pty->to_terminal.len == 0 && !pty->peer_done) {
		ssize_t n = buffer_read(&pty->to_terminal, pty->peer, true);
		if (n == 0) {
			end_of_input(pty);
		} else if (n < 0 && !again(n)) {
			return false;
		}
	}
	return buffer_write(&pty->to_terminal, pty->master, false);
}

static bool pump_to_peer(struct pty *pty) {
	if (pty->to_peer.len == 0) {
		ssize_t n = buffer_read(&pty->to_peer, pty->master, false);
		if (n <= 0) {
			return true;
		}
	}
	return buffer_write(&pty->to_peer, pty->peer, true);
}

void pty_pump(struct pty *pty, const struct pollfd polled[2]) {
	if (pty->peer < 0) {
		return;
	}
	bool gone = (polled[0].revents & (POLLHUP | POLLERR)) != 0;
	if (gone || !pump_to_terminal(pty) || !pump_to_peer(pty)) {
		hang_up(pty);
	}
}

/* One step of the drain; false when nothing is left or can be delivered. */
static bool drain_step(struct pty *pty, int timeout_ms) {
	struct pollfd wait = {.fd = pty->master, .events = POLLIN};
	if (pty->to_peer.len > 0) {
		wait = (struct pollfd){.fd = pty->peer, .events = POLLOUT};
	}
	if (poll(&wait, 1, timeout_ms) <= 0) {
		return false;
	}
	if (pty->to_peer.len == 0) {
		ssize_t n = buffer_read(&pty->to_peer, pty->master, false);
		return n > 0 || again(n);
	}
	return buffer_write(&pty->to_peer, pty->peer, true);
}

void pty_drain(struct pty *pty, unsigned ms) {
	close_fd(&pty->slave);
	uint64_t until = loop_now_us() + (uint64_t)ms * 1000;
	uint64_t now = loop_now_us();
	while (pty->peer >= 0 && now < until && drain_step(pty, (int)((until - now) / 1000) + 1)) {
		now = loop_now_us();
	}
}

void pty_done(struct pty *pty) {
	hang_up(pty);
}
