/* Netlink requests with one answer, dumps, and the nftables monitor. The kernel is trusted to frame
 * its messages; lengths are checked all the same. */
#include "server/supervisor/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cua/cleanup.h"

#define REQUEST_SIZE 512
#define ANSWER_SIZE 32768
#define FLOWS_AT_ONCE 256

/* A request under construction. */
struct request {
	union {
		struct nlmsghdr head;
		char bytes[REQUEST_SIZE];
	};
};

/* Called for every message of a dump; a negative result ends it. */
typedef int (*answer_fn)(const struct nlmsghdr *msg, void *data);

static void begin(struct request *q, uint16_t type, uint16_t flags, const void *body, size_t len) {
	memset(q, 0, sizeof(*q));
	q->head.nlmsg_len = NLMSG_LENGTH(len);
	q->head.nlmsg_type = type;
	q->head.nlmsg_flags = NLM_F_REQUEST | flags;
	q->head.nlmsg_seq = 1;
	memcpy(NLMSG_DATA(&q->head), body, len);
}

static void add_attr(struct request *q, uint16_t type, const void *data, size_t len) {
	size_t at = NLMSG_ALIGN(q->head.nlmsg_len);
	struct rtattr *attr = (struct rtattr *)(q->bytes + at);
	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	q->head.nlmsg_len = (uint32_t)(at + RTA_ALIGN(attr->rta_len));
}

static void add_string(struct request *q, uint16_t type, const char *text) {
	add_attr(q, type, text, strlen(text) + 1);
}

static int open_socket(int family) {
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);
	return fd < 0 ? -errno : fd;
}

/* One datagram's messages. 1 when the answer is complete, 0 when more follow, else -errno. */
static int take_messages(char *buf, size_t size, answer_fn fn, void *data) {
	uint32_t left = (uint32_t)size;
	for (struct nlmsghdr *m = (struct nlmsghdr *)buf; NLMSG_OK(m, left);
		m = NLMSG_NEXT(m, left)) {
		if (m->nlmsg_type == NLMSG_DONE) {
			return 1;
		}
		if (m->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = NLMSG_DATA(m);
			return e->error < 0 ? e->error : 1;
		}
		int r = fn ? fn(m, data) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int talk(int fd, const struct request *q, answer_fn fn, void *data) {
	if (send(fd, q, q->head.nlmsg_len, 0) < 0) {
		return -errno;
	}
	char buf[ANSWER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
	int r = 0;
	while (r == 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		r = n < 0 ? 0 : take_messages(buf, (size_t)n, fn, data);
	}
	return r < 0 ? r : 0;
}

static int talk_once(int family, const struct request *q, answer_fn fn, void *data) {
	_cleanup_fd_ int fd = open_socket(family);
	return fd < 0 ? take_fd(fd) : talk(fd, q, fn, data);
}

int netlink_link_delete(const char *name) {
	struct ifinfomsg info = {.ifi_family = AF_UNSPEC};
	struct request q;
	begin(&q, RTM_DELLINK, NLM_F_ACK, &info, sizeof(info));
	add_string(&q, IFLA_IFNAME, name);
	int r = talk_once(NETLINK_ROUTE, &q, NULL, NULL);
	return r == -ENODEV ? 0 : r;
}

int netlink_address(const char *interface, uint32_t address, bool add) {
	struct ifaddrmsg info = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = 32,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = if_nametoindex(interface),
	};
	uint32_t wire = htonl(address);
	struct request q;
	begin(&q, add ? RTM_NEWADDR : RTM_DELADDR,
		NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0), &info, sizeof(info));
	add_attr(&q, IFA_LOCAL, &wire, sizeof(wire));
	add_attr(&q, IFA_ADDRESS, &wire, sizeof(wire));
	int r = talk_once(NETLINK_ROUTE, &q, NULL, NULL);
	return !add && r == -EADDRNOTAVAIL ? 0 : r;
}

/* ---- tracked connections ---- */

struct flows {
	uint32_t address; /* network order */
	size_t count;
	char tuple[FLOWS_AT_ONCE][128]; /* CTA_TUPLE_ORIG attributes as the kernel sent them */
};

static const struct rtattr *find_attr(const struct rtattr *first, size_t size, uint16_t type) {
	int left = (int)size;
	for (const struct rtattr *a = first; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if ((a->rta_type & NLA_TYPE_MASK) == type) {
			return a;
		}
	}
	return NULL;
}

static const struct rtattr *nested(const struct rtattr *outer, uint16_t type) {
	return outer ? find_attr(RTA_DATA(outer), RTA_PAYLOAD(outer), type) : NULL;
}

static const struct rtattr *message_attr(const struct nlmsghdr *m, uint16_t type) {
	const char *body = NLMSG_DATA(m);
	size_t head = NLMSG_ALIGN(sizeof(struct nfgenmsg));
	if (m->nlmsg_len < NLMSG_LENGTH(head)) {
		return NULL;
	}
	return find_attr(
		(const struct rtattr *)(body + head), m->nlmsg_len - NLMSG_LENGTH(head), type);
}

static int keep_flow(const struct nlmsghdr *m, void *data) {
	struct flows *flows = data;
	const struct rtattr *tuple = message_attr(m, CTA_TUPLE_ORIG);
	const struct rtattr *source = nested(nested(tuple, CTA_TUPLE_IP), CTA_IP_V4_SRC);
	uint32_t address = 0;
	if (!source || RTA_PAYLOAD(source) != sizeof(address)) {
		return 0;
	}
	memcpy(&address, RTA_DATA(source), sizeof(address));
	if (address == flows->address && flows->count < FLOWS_AT_ONCE &&
		tuple->rta_len <= sizeof(flows->tuple[0])) {
		memcpy(flows->tuple[flows->count++], tuple, tuple->rta_len);
	}
	return 0;
}

static int delete_flow(int fd, const char *kept) {
	const struct rtattr *tuple = (const struct rtattr *)kept;
	const struct nfgenmsg info = {.nfgen_family = AF_INET, .version = NFNETLINK_V0};
	struct request q;
	begin(&q, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE, NLM_F_ACK, &info,
		sizeof(info));
	add_attr(&q, CTA_TUPLE_ORIG | NLA_F_NESTED, RTA_DATA(tuple), RTA_PAYLOAD(tuple));
	int r = talk(fd, &q, NULL, NULL);
	return r == -ENOENT ? 0 : r;
}

static int delete_some(int fd, struct flows *flows) {
	const struct nfgenmsg info = {.nfgen_family = AF_INET, .version = NFNETLINK_V0};
	struct request q;
	begin(&q, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP, &info, sizeof(info));
	flows->count = 0;
	int r = talk(fd, &q, keep_flow, flows);
	for (size_t i = 0; i < flows->count && r == 0; i++) {
		r = delete_flow(fd, flows->tuple[i]);
	}
	return r;
}

int netlink_flows_delete(uint32_t address) {
	_cleanup_free_ struct flows *flows = calloc(1, sizeof(*flows));
	_cleanup_fd_ int fd = open_socket(NETLINK_NETFILTER);
	if (!flows || fd < 0) {
		return flows ? take_fd(fd) : -ENOMEM;
	}
	flows->address = htonl(address);
	int r = 0;
	do {
		r = delete_some(fd, flows);
	} while (r == 0 && flows->count == FLOWS_AT_ONCE);
	/* A kernel without connection tracking tracks nothing. */
	return r == -EINVAL || r == -EOPNOTSUPP ? 0 : r;
}

/* ---- nftables ---- */

static int count_rule(const struct nlmsghdr *m, void *data) {
	(void)m;
	++*(int *)data;
	return 0;
}

int netlink_rules_count(uint8_t family, const char *table, const char *chain) {
	const struct nfgenmsg info = {.nfgen_family = family, .version = NFNETLINK_V0};
	struct request q;
	int count = 0;
	begin(&q, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE, NLM_F_DUMP, &info, sizeof(info));
	add_string(&q, NFTA_RULE_TABLE, table);
	add_string(&q, NFTA_RULE_CHAIN, chain);
	int r = talk_once(NETLINK_NETFILTER, &q, count_rule, &count);
	if (r == -ENOENT) {
		return 0;
	}
	return r < 0 ? r : count;
}

int netlink_nft_listen(void) {
	_cleanup_fd_ int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);
	const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	int group = NFNLGRP_NFTABLES;
	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
		setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0) {
		return -errno;
	}
	return take_fd(fd);
}

static int note_deletion(const struct nlmsghdr *m, void *data) {
	const char *wanted = *(const char **)data;
	/* Attribute 1 is the table's name in messages about tables, chains and rules alike. */
	const struct rtattr *name = message_attr(m, NFTA_TABLE_NAME);
	switch (m->nlmsg_type & 0xff) {
	case NFT_MSG_DELTABLE:
	case NFT_MSG_DELCHAIN:
	case NFT_MSG_DELRULE:
		return name && RTA_PAYLOAD(name) == strlen(wanted) + 1 &&
				       strcmp(RTA_DATA(name), wanted) == 0
			       ? -EEXIST
			       : 0;
	default:
		return 0;
	}
}

int netlink_nft_heard(int fd, const char *table) {
	char buf[ANSWER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
	int heard = 0;
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return heard || errno == ENOBUFS;
		}
		heard |= take_messages(buf, (size_t)n, note_deletion, &table) == -EEXIST;
	}
}
