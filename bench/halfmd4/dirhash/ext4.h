/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fs/ext4/hash.c takes from the kernel's headers, so that it can be built
 * as it stands in user space, once from the base and once from ours. The
 * headers that it names are empty files there, made by bench/halfmd4/dirhash.py.
 */
#ifndef BOOTHASH_DIRHASH_EXT4_H
#define BOOTHASH_DIRHASH_EXT4_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32, __u32;
typedef uint64_t u64, __u64;

#define fallthrough		__attribute__((__fallthrough__))

/* The numbers are those on the disk. */
#define DX_HASH_LEGACY			0
#define DX_HASH_HALF_MD4		1
#define DX_HASH_TEA			2
#define DX_HASH_LEGACY_UNSIGNED		3
#define DX_HASH_HALF_MD4_UNSIGNED	4
#define DX_HASH_TEA_UNSIGNED		5
#define DX_HASH_SIPHASH			6
#define EXT4_HTREE_EOF_32BIT		((1UL << (32 - 1)) - 1)

struct super_block;

struct inode {
	struct super_block *i_sb;
};

struct qstr {
	const char	*name;
	u32		len;
};

#define QSTR_INIT(n, l)	{ .name = n, .len = l }

struct dx_hash_info {
	u32 hash;
	u32 minor_hash;
	int hash_version;
	u32 *seed;
};

/* No directory here has a key. */
#define fscrypt_has_encryption_key(dir)		((void)(dir), 0)
#define fscrypt_fname_siphash(dir, name)	((void)(dir), (void)(name), 0)
#define ext4_warning_inode(inode, ...)		((void)(inode))
#define ext4_warning(sb, ...)			((void)(sb))

static inline u32 rol32(u32 word, unsigned int shift)
{
	return word << (shift & 31) | word >> (-shift & 31);
}

static inline u32 get_unaligned_be32(const void *p)
{
	u32 word;

	memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap32(word);
#endif
	return word;
}

typedef int dirhash(const struct inode *dir, const char *name, int len,
		    struct dx_hash_info *hinfo);

/* fs/ext4/hash.c is built three times, under these names. */
extern dirhash ext4fs_dirhash, base_dirhash, again_dirhash, ours_dirhash;

#endif /* BOOTHASH_DIRHASH_EXT4_H */
