/* SPDX-License-Identifier: GPL-2.0 */
/* Devices and IPv4 addresses by rtnetlink: one message, one answer. */
#ifndef BOOTHASH_NETLINK_H
#define BOOTHASH_NETLINK_H

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "common.h"

struct request {
	struct nlmsghdr head;
	char rest[256];
};

static int route_socket = -1;

static inline void *request_space(struct request *request, size_t size)
{
	void *at = (char *)request + NLMSG_ALIGN(request->head.nlmsg_len);

	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + size;
	return at;
}

static inline struct rtattr *put_attribute(struct request *request, int type,
					   const void *data, size_t size)
{
	struct rtattr *attr = request_space(request, RTA_LENGTH(size));

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(size);
	memcpy(RTA_DATA(attr), data, size);
	return attr;
}

static inline void begin_request(struct request *request, int type, int flags)
{
	memset(request, 0, sizeof(*request));
	request->head.nlmsg_len = NLMSG_HDRLEN;
	request->head.nlmsg_type = type;
	request->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

/* Fail unless the kernel did what it was asked for. */
static inline void send_request(struct request *request, const char *what)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} answer;

	if (route_socket < 0)
		route_socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				      NETLINK_ROUTE);
	if (route_socket < 0 ||
	    send(route_socket, request, request->head.nlmsg_len, 0) < 0 ||
	    recv(route_socket, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_HDRLEN)
		fail(what, "by netlink");
	errno = -answer.error.error;
	if (answer.head.nlmsg_type != NLMSG_ERROR || errno)
		fail(what, "by netlink");
}

/* A device that is down. */
static inline void add_dummy(const char *name)
{
	struct request request;
	struct ifinfomsg *info;
	struct rtattr *link;

	begin_request(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	info = request_space(&request, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	put_attribute(&request, IFLA_IFNAME, name, strlen(name) + 1);
	link = put_attribute(&request, IFLA_LINKINFO, "", 0);
	put_attribute(&request, IFLA_INFO_KIND, "dummy", strlen("dummy"));
	link->rta_len = (char *)&request + request.head.nlmsg_len - (char *)link;
	send_request(&request, name);
}

static inline void add_address(unsigned int device, unsigned int address)
{
	struct request request;
	struct ifaddrmsg *info;
	unsigned int value = htonl(address);

	begin_request(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	info = request_space(&request, sizeof(*info));
	info->ifa_family = AF_INET;
	info->ifa_prefixlen = 32;
	info->ifa_index = device;
	put_attribute(&request, IFA_LOCAL, &value, sizeof(value));
	send_request(&request, "an address");
}

#endif /* BOOTHASH_NETLINK_H */
