// SPDX-License-Identifier: GPL-2.0-only
/*
 * size.c - sizes, counts and times as people write them
 *
 * Only digits begin a number: no sign, no space, no hexadecimal, nothing that
 * strtoull() would take in silence. Every step is checked for overflow.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/size.h"

#define NS_PER_THOUSANDTH	(NS_PER_S / 1000)

struct unit {
	const char *name;
	uint64_t factor;
};

static const char not_a_number[] = "is not a number";
static const char is_negative[] = "is negative";
static const char is_empty[] = "is empty";
static const char is_too_large[] = "is too large";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *@text, which moves behind them */
static const char *digits_parse(const char **text, uint64_t *number)
{
	const char *c = *text;
	uint64_t n = 0;

	if (!*c)
		return is_empty;
	if (*c == '-')
		return is_negative;
	if (!is_digit(*c))
		return not_a_number;
	for (; is_digit(*c); c++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
			return is_too_large;
	*text = c;
	*number = n;
	return NULL;
}

static const char *size_shift(const char *unit, unsigned int *shift)
{
	static const char names[] = "kmg";
	const char *name;

	*shift = 0;
	if (!*unit)
		return NULL;
	if (*unit == '.')
		return "is not a whole number";
	name = strchr(names, *unit | 0x20);
	if (!name || unit[1])
		return "has an unknown unit: use k, M or G (1024 each)";
	*shift = 10 * (unsigned int)(name - names + 1);
	return NULL;
}

const char *size_parse(const char *text, uint64_t *bytes)
{
	const char *reason;
	unsigned int shift;
	uint64_t n;

	reason = digits_parse(&text, &n);
	if (!reason)
		reason = size_shift(text, &shift);
	if (reason)
		return reason;
	if (n > UINT64_MAX >> shift)
		return is_too_large;
	*bytes = n << shift;
	return NULL;
}

const char *count_parse(const char *text, uint64_t max, uint64_t *count)
{
	const char *reason;
	uint64_t n;

	reason = digits_parse(&text, &n);
	if (reason)
		return reason;
	if (*text)
		return "is not a whole number without unit";
	if (n > max)
		return is_too_large;
	*count = n;
	return NULL;
}

static const char *list_add(struct size_list *list, uint64_t value)
{
	if (list->n == SIZE_LIST_MAX)
		return "has too many items";
	list->value[list->n++] = value;
	return NULL;
}

/* How one number of a list is read, and what comes next in a range */
struct list_kind {
	uint64_t max;
	bool sizes;	/* with units, and ranges double; else count up */
};

static const char *list_number(const struct list_kind *kind, const char *text,
			       uint64_t *number)
{
	if (kind->sizes)
		return size_parse(text, number);
	return count_parse(text, kind->max, number);
}

static const char *list_range(const struct list_kind *kind, uint64_t first,
			      uint64_t last, struct size_list *list)
{
	const char *reason;
	uint64_t value = first;

	if (first > last)
		return "has a range that runs backwards";
	if (kind->sizes && !first)
		return "has a range of doublings that begins with 0";
	for (;;) {
		reason = list_add(list, value);
		if (reason)
			return reason;
		if (kind->sizes ? value > last / 2 : value == last)
			return NULL;
		value += kind->sizes ? value : 1;
	}
}

/* One item, "A" or "A-B"; it is changed */
static const char *list_item(const struct list_kind *kind, char *item,
			     struct size_list *list)
{
	uint64_t first, last;
	const char *reason;
	char *dash;

	/* a dash in front is a sign, which the number refuses */
	dash = *item ? strchr(item + 1, '-') : NULL;
	if (dash)
		*dash = '\0';
	reason = list_number(kind, item, &first);
	if (reason)
		return reason;
	if (!dash)
		return list_add(list, first);
	if (!dash[1])
		return kind->sizes ? "has a range without an end: write 8-4M for 8 to 4M" :
				     "has a range without an end: write 0-3 for 0 to 3";
	reason = list_number(kind, dash + 1, &last);
	return reason ? reason : list_range(kind, first, last, list);
}

static const char *list_parse(const struct list_kind *kind, const char *text,
			      struct size_list *list)
{
	const char *reason;
	char item[64];
	size_t length;

	list->n = 0;
	for (;; text += length + 1) {
		length = strcspn(text, ",");
		if (length >= sizeof(item))
			return not_a_number;
		memcpy(item, text, length);
		item[length] = '\0';
		reason = list_item(kind, item, list);
		if (reason || !text[length])
			return reason;
	}
}

const char *size_list_parse(const char *text, struct size_list *list)
{
	static const struct list_kind kind = { .sizes = true };

	return list_parse(&kind, text, list);
}

const char *count_list_parse(const char *text, uint64_t max,
			     struct size_list *list)
{
	const struct list_kind kind = { .max = max };

	return list_parse(&kind, text, list);
}

static const struct unit time_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", NS_PER_S },
	{ "", NS_PER_S },
};

#define TIME_UNITS	(sizeof(time_units) / sizeof(time_units[0]))

/* Digits behind the point, in units of 1e-9; *@text moves behind them */
static const char *fraction_parse(const char **text, uint64_t *fraction)
{
	uint64_t weight = NS_PER_S;
	const char *c = *text;

	*fraction = 0;
	if (*c != '.')
		return NULL;
	if (!is_digit(c[1]))
		return not_a_number;
	for (c++; is_digit(*c); c++) {
		weight /= 10;
		*fraction += weight * (uint64_t)(*c - '0');
	}
	*text = c;
	return NULL;
}

const char *time_parse(const char *text, uint64_t *ns)
{
	uint64_t whole, fraction, factor = 0;
	const char *reason;
	size_t i;

	reason = digits_parse(&text, &whole);
	if (!reason)
		reason = fraction_parse(&text, &fraction);
	if (reason)
		return reason;
	for (i = 0; i < TIME_UNITS; i++)
		if (!strcmp(text, time_units[i].name))
			factor = time_units[i].factor;
	if (!factor)
		return "has an unknown unit: use ns, us, ms or s";
	if (__builtin_mul_overflow(whole, factor, &whole) ||
	    __builtin_add_overflow(whole, fraction * factor / NS_PER_S, &whole))
		return is_too_large;
	*ns = whole;
	return NULL;
}

/* A decimal number is read as seconds: thousandths of it are milliseconds */
const char *scale_parse(const char *text, uint64_t *thousandths)
{
	const char *reason;
	uint64_t ns;

	if (text[strspn(text, "-.0123456789")])
		return "is not a number without unit";
	reason = time_parse(text, &ns);
	if (reason)
		return reason;
	if (ns % NS_PER_THOUSANDTH)
		return "has more than three decimals";
	if (ns / NS_PER_THOUSANDTH > UINT32_MAX)
		return "is too large";
	*thousandths = ns / NS_PER_THOUSANDTH;
	return NULL;
}

const char *share_parse(const char *text, uint64_t *ppm)
{
	uint64_t whole, fraction;
	const char *reason;

	reason = digits_parse(&text, &whole);
	if (!reason)
		reason = fraction_parse(&text, &fraction);
	if (reason)
		return reason;
	if (strcmp(text, "%") != 0 && (*text || whole || fraction))
		return "is not a share in percent: 0.5%";
	if (whole > 100 || (whole == 100 && fraction))
		return "is more than all: at most 100%";
	if (fraction % (NS_PER_S / 10000))
		return "has more than four decimals";
	*ppm = whole * 10000 + fraction / (NS_PER_S / 10000);
	return NULL;
}

char *share_print(uint64_t ppm, char *text)
{
	snprintf(text, SIZE_TEXT, "%.7g%%", (double)ppm / 10000);
	return text;
}

char *size_print(uint64_t bytes, char *text)
{
	static const char units[] = { '\0', 'k', 'M', 'G', '\0' };
	unsigned int i = 0;

	while (bytes && !(bytes & 1023) && units[i + 1]) {
		bytes >>= 10;
		i++;
	}
	snprintf(text, SIZE_TEXT, "%" PRIu64 "%.1s", bytes, &units[i]);
	return text;
}

char *time_print(double ns, char *text)
{
	size_t i = 0;

	/* the next unit begins where four digits would round up to it */
	while (i < 3 && ns >= 999.95 * (double)time_units[i].factor)
		i++;
	ns /= (double)time_units[i].factor;
	snprintf(text, SIZE_TEXT, ns < 9999.5 ? "%.4g%s" : "%.0f%s", ns,
		 time_units[i].name);
	return text;
}
