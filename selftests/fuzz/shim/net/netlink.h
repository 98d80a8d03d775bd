/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netlink.h - what the driver's netlink files take from the kernel, for fuzz_netlink.c
 *
 * Attributes as the kernel checks those of a family without exceptions: each has its
 * length, or at least it, none is cut short, a nest says that it is one, and there is nothing
 * behind the last. What a policy cannot say the driver has to check.
 */
#ifndef SHIM_NETLINK_H
#define SHIM_NETLINK_H

#include <errno.h>
#include <string.h>

#include <linux/types.h>

#define NLA_HDRLEN		4U
#define NLA_ALIGN(length)	(((length) + 3U) & ~3U)
#define NLA_F_NESTED		0x8000U
#define NLA_TYPE_MASK		0x3fffU

enum {
	NLA_UNSPEC,
	NLA_U8,
	NLA_U16,
	NLA_U32,
	NLA_U64,
	NLA_FLAG,
	NLA_NUL_STRING,
	NLA_BINARY,
	NLA_NESTED,
};

struct nlattr {
	u16 nla_len;
	u16 nla_type;
};

struct nla_policy {
	u8 type;
	u16 len;
	bool limited;
	u64 max;
	const struct nla_policy *nested;
};

#define NLA_POLICY_MAX(kind, most)	{ .type = (kind), .limited = true, .max = (most) }
#define NLA_POLICY_NESTED(inner) \
	{ .type = NLA_NESTED, .len = ARRAY_SIZE(inner) - 1, .nested = (inner) }

struct netlink_ext_ack {
	const char *_msg;
	const struct nlattr *bad_attr;
};

#define NL_SET_ERR_MSG(extack, text)		((extack)->_msg = (text))
#define NL_SET_BAD_ATTR(extack, attr)		((extack)->bad_attr = (attr))
#define NL_SET_ERR_MSG_ATTR(extack, attr, text) \
	(NL_SET_ERR_MSG(extack, text), NL_SET_BAD_ATTR(extack, attr))

static inline int nla_len(const struct nlattr *attr)
{
	return attr->nla_len - (int)NLA_HDRLEN;
}

static inline void *nla_data(const struct nlattr *attr)
{
	return (u8 *)attr + NLA_HDRLEN;
}

static inline u32 nla_get_u32(const struct nlattr *attr)
{
	u32 value;

	memcpy(&value, nla_data(attr), sizeof(value));
	return value;
}

static inline u64 nla_get_u64(const struct nlattr *attr)
{
	u64 value;

	memcpy(&value, nla_data(attr), sizeof(value));
	return value;
}

static inline u16 nla_get_u16(const struct nlattr *attr)
{
	u16 value;

	memcpy(&value, nla_data(attr), sizeof(value));
	return value;
}

int nla_parse(struct nlattr **attrs, int most, const void *bytes, int length,
	      const struct nla_policy *policy, struct netlink_ext_ack *extack);

static inline int nla_parse_nested(struct nlattr **attrs, int most, const struct nlattr *nest,
				   const struct nla_policy *policy,
				   struct netlink_ext_ack *extack)
{
	return nla_parse(attrs, most, nla_data(nest), nla_len(nest), policy, extack);
}

/* Answers are not made here */
struct sk_buff;

static inline struct nlattr *nla_nest_start(struct sk_buff *skb, int type)
{
	(void)skb;
	(void)type;
	return NULL;
}

static inline void nla_nest_end(struct sk_buff *skb, struct nlattr *nest)
{
	(void)skb;
	(void)nest;
}

static inline int nla_put_string(struct sk_buff *skb, int type, const char *text)
{
	(void)skb;
	(void)type;
	(void)text;
	return -EMSGSIZE;
}

static inline int nla_put_u32(struct sk_buff *skb, int type, u32 value)
{
	(void)skb;
	(void)type;
	(void)value;
	return -EMSGSIZE;
}

static inline int nla_put_u64_64bit(struct sk_buff *skb, int type, u64 value, int pad)
{
	(void)skb;
	(void)type;
	(void)value;
	(void)pad;
	return -EMSGSIZE;
}

#endif /* SHIM_NETLINK_H */
