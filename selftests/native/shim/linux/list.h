/* SPDX-License-Identifier: GPL-2.0-only */
/* Doubly linked lists: see types.h */
#ifndef SHIM_LIST_H
#define SHIM_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->next = list;
	entry->prev = list->prev;
	list->prev->next = entry;
	list->prev = entry;
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
	list_del_init(entry);
	list_add_tail(entry, list);
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *list)
{
	if (list_empty(from))
		return;
	from->next->prev = list->prev;
	list->prev->next = from->next;
	from->prev->next = list;
	list->prev = from->prev;
	INIT_LIST_HEAD(from);
}

#define list_entry(at, type, member)	container_of(at, type, member)
#define list_first_entry(list, type, member)				\
	list_entry((list)->next, type, member)
#define list_first_entry_or_null(list, type, member)			\
	(list_empty(list) ? NULL : list_first_entry(list, type, member))
#define list_for_each(at, list)						\
	for (at = (list)->next; at != (list); at = at->next)
#define list_for_each_entry(at, list, member)				\
	for (at = list_entry((list)->next, __typeof__(*at), member);	\
	     &at->member != (list);					\
	     at = list_entry(at->member.next, __typeof__(*at), member))
#define list_for_each_entry_safe(at, other, list, member)		\
	for (at = list_entry((list)->next, __typeof__(*at), member),	\
	     other = list_entry(at->member.next, __typeof__(*at), member); \
	     &at->member != (list);					\
	     at = other,						\
	     other = list_entry(at->member.next, __typeof__(*at), member))

#endif /* SHIM_LIST_H */
