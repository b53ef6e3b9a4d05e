/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kinds of crowd whose tables the series leaves as they are. crowd.c includes
 * this file, which uses its options, members and paths.
 */
#ifndef BOOTHASH_KEPT_H
#define BOOTHASH_KEPT_H

#include <linux/audit.h>
#include <linux/fscrypt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_pppox.h>
#include <linux/netlink.h>

#define TRACING		"/sys/kernel/tracing/"
#define CALL_SIZE	5		/* the call of ftrace, which starts a function */
#define PREFIX_SIZE	16		/* more than that call and an endbr64 before it */
#define PPP_PROTOCOL	0x21		/* IPv4 */
#define PAYLOAD		40
#define NFS_PORT	2049

/* Probes: of functions that are not called, and of a few system calls. */

static const struct {
	const char *function;
	long number;
} calls[] = {
	{ "__x64_sys_getpid", SYS_getpid },
	{ "__x64_sys_getppid", SYS_getppid },
	{ "__x64_sys_gettid", SYS_gettid },
	{ "__x64_sys_getuid", SYS_getuid },
	{ "__x64_sys_geteuid", SYS_geteuid },
	{ "__x64_sys_getgid", SYS_getgid },
	{ "__x64_sys_getegid", SYS_getegid },
	{ "__x64_sys_getpgrp", SYS_getpgrp },
};

#define NR_CALLS	(sizeof(calls) / sizeof(*calls))

/* Where the kernel takes it; the file must not be truncated: that ends all probes. */
static int write_tracing(const char *name, const char *text)
{
	char path[2 * NAME_SIZE];
	int fd, done;

	snprintf(path, sizeof(path), TRACING "%s", name);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		fail(kind, path);
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* An address takes no offset. */
static int add_probe(const char *name, const char *where)
{
	char text[3 * NAME_SIZE];

	snprintf(text, sizeof(text), "p:crowd/%s %s\n", name, where);
	return write_tracing("kprobe_events", text);
}

static void probe_call(unsigned int call, unsigned int offset)
{
	char name[NAME_SIZE], where[NAME_SIZE], path[2 * NAME_SIZE];

	snprintf(name, sizeof(name), "call%u", call);
	/* Behind the start, where an instruction begins. */
	for (;; offset++) {
		snprintf(where, sizeof(where), "%s+%u", calls[call].function, offset);
		if (add_probe(name, where))
			break;
		if (!offset || offset == PREFIX_SIZE)
			fail(kind, where);
	}
	snprintf(path, sizeof(path), "events/crowd/%s/enable", name);
	if (!write_tracing(path, "1"))
		fail(kind, path);
}

/* The first of their chains, and so the last that a search finds. */
static void begin_probes(void)
{
	unsigned int call;

	for (call = 0; call < NR_CALLS; call++)
		probe_call(call, 0);
}

static void begin_traps(void)
{
	unsigned int call;

	for (call = 0; call < NR_CALLS; call++)
		probe_call(call, CALL_SIZE);
}

/* The next function that takes a probe. */
static void probe_next(const char *name)
{
	static FILE *functions;
	char line[256], where[32] = "0x";

	if (!functions)
		functions = fopen(TRACING "available_filter_functions_addrs", "re");
	if (!functions)
		fail(kind, "available_filter_functions_addrs");
	do {
		if (!fgets(line, sizeof(line), functions)) {
			errno = 0;
			fail(kind, "too few functions");
		}
		snprintf(where + 2, sizeof(where) - 2, "%.*s",
			 (int)strcspn(line, " "), line);
	} while (!add_probe(name, where));
}

static void add_member_probe(unsigned int member)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "member%u", member);
	probe_next(name);
}

static void hit_probe(unsigned int member)
{
	syscall(calls[member % NR_CALLS].number);
}

static void one_more_probe(unsigned int member)
{
	(void)member;
	probe_next("more");
	if (!write_tracing("kprobe_events", "-:crowd/more\n"))
		fail(kind, "removal of a probe");
}

/* PPPoE sessions, which end at veth0; packets for them enter by crowd0. */

struct session_packet {
	struct ethhdr ethernet;
	struct pppoe_hdr session;
	unsigned char payload[PAYLOAD];
} __attribute__((packed));

static void client_address(unsigned char *address, unsigned int member)
{
	/* One to one, and in no relation to the number of the session. */
	unsigned int value = htonl(member * 2654435761U);

	address[0] = 2;
	address[1] = 0;
	memcpy(address + 2, &value, sizeof(value));
}

static int open_session(unsigned int number)
{
	struct sockaddr_pppox address = {
		.sa_family = AF_PPPOX,
		.sa_protocol = PX_PROTO_OE,
		.sa_addr.pppoe = { .sid = htons(number + 1), .dev = "veth0" },
	};
	int fd = socket(AF_PPPOX, SOCK_STREAM | SOCK_CLOEXEC, PX_PROTO_OE);

	client_address(address.sa_addr.pppoe.remote, number);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		fail(kind, "session on veth0");
	return fd;
}

static void add_session(unsigned int member)
{
	held[member] = open_session(member);
}

static void receive_packet(unsigned int member)
{
	static struct sockaddr_ll device = { .sll_family = AF_PACKET };
	static struct session_packet packet;
	static int fd = -1;
	char data[sizeof(packet)];

	if (fd < 0) {
		struct ifreq request = { .ifr_name = "veth0" };

		fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
		device.sll_ifindex = if_nametoindex("crowd0");
		if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request))
			fail(kind, "veth0");
		memcpy(packet.ethernet.h_dest, request.ifr_hwaddr.sa_data, ETH_ALEN);
		packet.ethernet.h_proto = htons(ETH_P_PPP_SES);
		packet.session.ver = 1;
		packet.session.type = 1;
		packet.session.length = htons(PAYLOAD);
		packet.payload[1] = PPP_PROTOCOL;
	}
	packet.session.sid = htons(member + 1);
	client_address(packet.ethernet.h_source, member);
	if (sendto(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&device,
		   sizeof(device)) != sizeof(packet))
		fail(kind, "crowd0");
	if (recv(held[member], data, sizeof(data), 0) <= 0)
		fail(kind, "recv");
}

static void one_more_session(unsigned int member)
{
	(void)member;
	close(open_session(60000));
}

/* Audit rules, which never record: what is measured is the search. */

static void add_rule(unsigned int list, unsigned int field, unsigned int operator,
		     unsigned int value, const char *text)
{
	struct {
		struct nlmsghdr head;
		struct audit_rule_data rule;
		char text[2 * NAME_SIZE];
	} request = {
		.rule = {
			.flags = list,
			.action = AUDIT_NEVER,
			.field_count = 1,
			.fields[0] = field,
			.fieldflags[0] = operator,
			.values[0] = text ? strlen(text) : value,
			.buflen = text ? strlen(text) : 0,
		},
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[sizeof(request)];
	} answer;
	static int fd = -1;

	if (fd < 0)
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	memset(request.rule.mask, 0xff, sizeof(request.rule.mask));
	if (text)
		memcpy(request.rule.buf, text, strlen(text));
	request.head.nlmsg_type = AUDIT_ADD_RULE;
	request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	request.head.nlmsg_len = NLMSG_LENGTH(sizeof(request.rule) + request.rule.buflen);
	if (fd < 0 || send(fd, &request, request.head.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_HDRLEN)
		fail(kind, "audit");
	errno = -answer.error.error;
	if (answer.head.nlmsg_type != NLMSG_ERROR || errno)
		fail(kind, "audit rule");
}

/* The log would have a line for each rule. */
static void begin_rules(void)
{
	add_rule(AUDIT_FILTER_EXCLUDE, AUDIT_MSGTYPE, AUDIT_GREATER_THAN_OR_EQUAL, 0,
		 NULL);
}

static void watched_path(char *path, unsigned int member)
{
	path_of(path, "crowd", member, DIR_FILES);
}

static void add_directory(unsigned int member)
{
	char path[2 * NAME_SIZE], file[3 * NAME_SIZE];

	make_dir_of("crowd", member, DIR_FILES);
	watched_path(path, member);
	snprintf(file, sizeof(file), "%s/file", path);
	if (mkdir(path, 0755))
		fail(kind, path);
	make_file(file);
	add_rule(AUDIT_FILTER_EXIT, AUDIT_DIR, AUDIT_EQUAL, 0, path);
}

static void add_watch(unsigned int member)
{
	char path[2 * NAME_SIZE];

	make_dir_of("crowd", member, DIR_FILES);
	watched_path(path, member);
	make_file(path);
	add_rule(AUDIT_FILTER_EXIT, AUDIT_WATCH, AUDIT_EQUAL, 0, path);
}

static void open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(kind, path);
	close(fd);
}

static void open_below(unsigned int member)
{
	char path[2 * NAME_SIZE], file[3 * NAME_SIZE];

	watched_path(path, member);
	snprintf(file, sizeof(file), "%s/file", path);
	open_file(file);
}

static void open_watched(unsigned int member)
{
	char path[2 * NAME_SIZE];

	watched_path(path, member);
	open_file(path);
}

/* Files that IMA measures when they are opened for reading. */

static void measure_file(const char *path)
{
	int fd;

	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, path, strlen(path)) < 0)
		fail(kind, path);
	close(fd);
	open_file(path);
}

static void add_measured(unsigned int member)
{
	char path[2 * NAME_SIZE];

	make_dir_of("crowd", member, DIR_FILES);
	path_of(path, "crowd", member, DIR_FILES);
	measure_file(path);
}

static void one_more_measured(unsigned int member)
{
	static unsigned int made;
	char path[2 * NAME_SIZE];

	(void)member;
	/* Another name and content each time, so another measurement. */
	name_of(path, "more", made++);
	measure_file(path);
	if (unlink(path))
		fail(kind, path);
}

/* Keys of encrypted directories. */

static struct fscrypt_key_specifier *keys;

static int key_directory(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(opt.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail(kind, opt.dir);
	return fd;
}

static void add_key(unsigned int member)
{
	struct {
		struct fscrypt_add_key_arg arg;
		unsigned char raw[FSCRYPT_MAX_KEY_SIZE];
	} request = {
		.arg.key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER,
		.arg.raw_size = FSCRYPT_MAX_KEY_SIZE,
	};

	memcpy(request.arg.raw, &member, sizeof(member));
	if (ioctl(key_directory(), FS_IOC_ADD_ENCRYPTION_KEY, &request))
		fail(kind, "FS_IOC_ADD_ENCRYPTION_KEY");
	keys = realloc(keys, (member + 1) * sizeof(*keys));
	if (!keys)
		fail(kind, "realloc");
	keys[member] = request.arg.key_spec;
}

static void find_key(unsigned int member)
{
	struct fscrypt_get_key_status_arg request = { .key_spec = keys[member] };

	if (ioctl(key_directory(), FS_IOC_GET_ENCRYPTION_KEY_STATUS, &request))
		fail(kind, "FS_IOC_GET_ENCRYPTION_KEY_STATUS");
	if (request.status != FSCRYPT_KEY_STATUS_PRESENT) {
		errno = 0;
		fail(kind, "an absent key");
	}
}

/* Clients of this machine's NFS server, each with one session of NFS 4.1. */

enum { EXCHANGE_ID = 42, CREATE_SESSION = 43, DESTROY_SESSION = 44, SEQUENCE = 53 };

struct nfs_session {
	unsigned int id[4];
	unsigned int sequence;
};

static struct nfs_client {
	unsigned int id[2];
	unsigned int sequence;
	struct nfs_session session;
} *nfs_clients;

#define NFS_WORDS	128

static unsigned int nfs_words[NFS_WORDS], nfs_length;

static void put_word(unsigned int value)
{
	nfs_words[nfs_length++] = htonl(value);
}

static void put_words(const unsigned int *from, unsigned int number)
{
	memcpy(nfs_words + nfs_length, from, number * sizeof(*from));
	nfs_length += number;
}

/* A call with one operation, without credentials. */
static void begin_call(unsigned int operation)
{
	static const unsigned int rest[] = { 0, 2, 100003, 4, 1, 0, 0, 0, 0, 0, 1, 1 };
	static unsigned int transaction;
	unsigned int i;

	nfs_length = 0;
	put_word(0);	/* the length, when it is known */
	put_word(++transaction);
	for (i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		put_word(rest[i]);
	put_word(operation);
}

static void exchange(void *data, size_t size, int out)
{
	static int fd = -1;
	ssize_t done;

	if (fd < 0) {
		struct sockaddr_in address = {
			.sin_family = AF_INET,
			.sin_port = htons(NFS_PORT),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};

		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
			fail(kind, "connect");
	}
	done = out ? send(fd, data, size, MSG_NOSIGNAL) : recv(fd, data, size, MSG_WAITALL);
	if (done != (ssize_t)size)
		fail(kind, out ? "send" : "recv");
}

/* What follows the status of the operation. */
static const unsigned int *end_call(const char *what)
{
	enum { ACCEPTED = 5, STATUS = 6, RESULT = 11 };
	unsigned int size;

	nfs_words[0] = htonl(0x80000000 | (nfs_length - 1) * sizeof(*nfs_words));
	exchange(nfs_words, nfs_length * sizeof(*nfs_words), 1);
	exchange(&size, sizeof(size), 0);
	size = ntohl(size) & 0x7fffffff;
	if (size > sizeof(nfs_words))
		size = 0;
	exchange(nfs_words, size, 0);
	if (size < (STATUS + 1) * sizeof(*nfs_words) || nfs_words[ACCEPTED] ||
	    nfs_words[STATUS]) {
		fprintf(stderr, "crowd: status %u\n", ntohl(nfs_words[STATUS]));
		errno = 0;
		fail(kind, what);
	}
	return nfs_words + RESULT;
}

static void put_channel(void)
{
	/* Padding, sizes of request, response and kept response, operations, requests. */
	static const unsigned int attributes[] = { 0, 4096, 4096, 1024, 8, 1, 0 };
	unsigned int i;

	for (i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		put_word(attributes[i]);
}

static struct nfs_session create_session(struct nfs_client *client)
{
	struct nfs_session session = {};

	begin_call(CREATE_SESSION);
	put_words(client->id, 2);
	put_word(client->sequence++);
	put_word(0);			/* no way back */
	put_channel();
	put_channel();
	put_word(0x40000000);		/* program of callbacks */
	put_word(1);
	put_word(0);			/* without credentials */
	memcpy(session.id, end_call("CREATE_SESSION"), sizeof(session.id));
	return session;
}

static void add_client(unsigned int member)
{
	const unsigned int *result;
	struct nfs_client *client;

	nfs_clients = realloc(nfs_clients, (member + 1) * sizeof(*nfs_clients));
	if (!nfs_clients)
		fail(kind, "realloc");
	client = &nfs_clients[member];
	begin_call(EXCHANGE_ID);
	put_word(1);			/* verifier */
	put_word(1);
	put_word(sizeof(member));	/* name */
	put_word(member);
	put_word(0);			/* flags, protection, implementation */
	put_word(0);
	put_word(0);
	result = end_call("EXCHANGE_ID");
	memcpy(client->id, result, sizeof(client->id));
	client->sequence = ntohl(result[2]);
	client->session = create_session(client);
}

static void send_sequence(unsigned int member)
{
	struct nfs_session *session = &nfs_clients[member].session;

	begin_call(SEQUENCE);
	put_words(session->id, 4);
	put_word(++session->sequence);
	put_word(0);			/* slots, and nothing to keep */
	put_word(0);
	put_word(0);
	end_call("SEQUENCE");
}

static void one_more_nfs_session(unsigned int member)
{
	struct nfs_session session = create_session(&nfs_clients[member]);

	begin_call(DESTROY_SESSION);
	put_words(session.id, 4);
	end_call("DESTROY_SESSION");
}

#endif /* BOOTHASH_KEPT_H */
