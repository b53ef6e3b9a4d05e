/* SPDX-License-Identifier: GPL-2.0 */
/* A table of pointers that is larger than what the allocator has in one piece. */
#ifndef BOOTHASH_PIECES_H
#define BOOTHASH_PIECES_H

#include <linux/minmax.h>
#include <linux/string.h>

#include "../../lib/um/um_bench.h"

#define PIECES_MAX	32
#define PER_PIECE	(CHUNK_SIZE / sizeof(void *))

struct pieces {
	void **piece[PIECES_MAX];
};

static __always_inline void **slot_of(const struct pieces *pieces, unsigned long n)
{
	return pieces->piece[n / PER_PIECE] + n % PER_PIECE;
}

/* Make the table so large; pieces are kept for the table that comes next. */
static inline int take_pieces(struct pieces *pieces, unsigned long slots)
{
	unsigned long n;

	if (slots > PIECES_MAX * PER_PIECE)
		return -ENOSPC;
	for (n = 0; n * PER_PIECE < slots; n++) {
		if (!pieces->piece[n])
			pieces->piece[n] = get_chunk();
		if (!pieces->piece[n])
			return -ENOMEM;
	}
	return 0;
}

static inline void clear_pieces(struct pieces *pieces, unsigned long slots)
{
	unsigned long n;

	for (n = 0; n < slots; n += PER_PIECE)
		memset(slot_of(pieces, n), 0,
		       min(slots - n, PER_PIECE) * sizeof(void *));
}

#endif /* BOOTHASH_PIECES_H */
