/* SPDX-License-Identifier: GPL-2.0 */
/* What mm/boot_hash.c needs of the kernel, for a program. */
#ifndef KERNEL_H
#define KERNEL_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;

#define __init
#define __initdata
#define __ro_after_init
#define __setup(name, function)
#define late_initcall(function)
#define fallthrough		__attribute__((fallthrough))

#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define SZ_1M			(1UL << 20)
#define U64_MAX			UINT64_MAX
#define HASH_OPTIONAL		1
#define HASH_SOFT_LIMITS	2

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define clamp(a, low, high)	min(max(a, low), high)
#define div64_ul(a, b)		((a) / (b))

extern unsigned long max_pfn, max_possible_pfn;

static inline unsigned long rounddown_pow_of_two(unsigned long n)
{
	return 1UL << (63 - __builtin_clzl(n));
}

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n == rounddown_pow_of_two(n) ? n : rounddown_pow_of_two(n) << 1;
}

static inline int scnprintf(char *to, size_t size, const char *format, const char *word)
{
	int len = snprintf(to, size, format, word);

	return len < (int)size ? len : (int)size - 1;
}

static inline void strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
}

/* Like the kernel's: all of the text, no blank and no minus sign. */
static inline int kstrtoull(const char *text, unsigned int base, unsigned long long *number)
{
	char *end;

	if (!isxdigit(text[0]))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, base);
	if (*end)
		return -EINVAL;
	return -errno;
}

/* Counts the warnings, and reads all of each. */
extern unsigned int warnings;
__attribute__((format(printf, 1, 2))) void pr_warn(const char *format, ...);

#endif /* KERNEL_H */
