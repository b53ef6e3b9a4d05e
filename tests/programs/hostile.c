// SPDX-License-Identifier: GPL-2.0
/*
 * hostile - use copies of a file system in which someone has damaged metadata
 *
 * Each copy of IMAGE goes to DEVICE, with a few fields changed in blocks of
 * extended attributes or in roots of directory indices. It is mounted, attributes
 * and names are read and changed, and it is unmounted. Any call may fail; the
 * kernel must survive. What is damaged is a function of the arguments alone.
 *
 * The image is one of ext2 or ext4 with blocks of 1 KiB and without checksums,
 * which would keep damaged blocks from the code that is under test. It has files
 * with attributes, as xattr_bench makes them, and a folder "names".
 *
 * Prints "name: value" lines. `attributes` and `indices` are blocks that can be
 * damaged; `refused` are mounts; `failed` are calls on mounted copies, and of these
 * `damaged` are those that found the damage.
 */
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common.h"

#define BLOCK		1024
#define DIR_PATH	"/mnt"
#define FILES		DIR_PATH "/proc-0/dir-0"
#define NAMES		DIR_PATH "/names"
#define ATTRIBUTE	"user.boothash"
#define ATTRIBUTES_MAGIC	0xea020000	/* h_magic */
#define DOTS_SIZE	24			/* of the entries "." and ".." */
#define MOST_DAMAGE	4			/* fields of a copy */
#define VALUES		8
#define VALUE_SIZE	256
#define USED		40			/* entries of a folder */

static struct {
	const char *image, *device, *type;
	unsigned long copies, seed;
} opt = { .copies = 10, .seed = 1 };

static unsigned char *image;
static size_t image_size;
static size_t *blocks;		/* offsets of what can be damaged */
static unsigned long nr_blocks, indices;
static unsigned long refused, calls, failed, damaged;
static unsigned long long state;

static unsigned long below(unsigned long limit)
{
	return next(&state) % limit;
}

static uint32_t word(size_t offset)
{
	uint32_t value;

	memcpy(&value, image + offset, sizeof(value));
	return le32toh(value);
}

/* The entries "." and ".." of a directory, and an info of 8 bytes behind them. */
static int is_index(size_t offset)
{
	const unsigned char *block = image + offset;

	return word(offset) && block[4] == 12 && block[6] == 1 && block[8] == '.' &&
	       block[18] == 2 && !memcmp(block + 20, "..", 2) &&
	       !word(offset + DOTS_SIZE) && block[29] == 8;
}

static void read_image(void)
{
	int fd = open(opt.image, O_RDONLY);
	struct stat st;
	size_t offset;

	if (fd < 0 || fstat(fd, &st))
		fail("open", opt.image);
	image_size = st.st_size;
	image = malloc(image_size);
	blocks = malloc(image_size / BLOCK * sizeof(*blocks));
	if (!image || !blocks)
		fail("memory for", opt.image);
	if (read(fd, image, image_size) != (ssize_t)image_size)
		fail("read", opt.image);
	close(fd);
	for (offset = 0; offset + BLOCK <= image_size; offset += BLOCK) {
		if (is_index(offset))
			indices++;
		else if (word(offset) != ATTRIBUTES_MAGIC)
			continue;
		blocks[nr_blocks++] = offset;
	}
	errno = 0;
	if (!nr_blocks)
		fail("find metadata in", opt.image);
}

/*
 * Most fields are near the start. The entries "." and ".." of an index are not
 * damaged: mainline's ext4_htree_fill_tree() does not check the length of ".", and
 * reads ".." beyond the block if that length is wrong.
 */
static void damage(unsigned char *copy)
{
	static const uint32_t likely[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
					   INT32_MAX, UINT32_MAX };
	size_t start = blocks[below(nr_blocks)];
	unsigned int first = word(start) == ATTRIBUTES_MAGIC ? 0 : DOTS_SIZE;
	unsigned int limit = below(4) ? 96 : BLOCK - sizeof(uint32_t);
	unsigned int offset = first + below(limit - first);
	uint32_t value = below(4) ? likely[below(sizeof(likely) / sizeof(*likely))] :
				    next(&state);

	value = htole32(value);
	memcpy(copy + start + offset, &value, 1 << below(3));
}

static void write_copy(void)
{
	unsigned char *copy = malloc(image_size);
	int fd = open(opt.device, O_WRONLY);
	unsigned long fields;

	if (!copy || fd < 0)
		fail("open", opt.device);
	memcpy(copy, image, image_size);
	for (fields = 1 + below(MOST_DAMAGE); fields; fields--)
		damage(copy);
	if (write(fd, copy, image_size) != (ssize_t)image_size || fsync(fd))
		fail("write", opt.device);
	close(fd);
	free(copy);
}

static void done(long result)
{
	calls++;
	if (result >= 0)
		return;
	failed++;
	/* What file systems return for EFSCORRUPTED and EFSBADCRC. */
	damaged += errno == EUCLEAN || errno == EBADMSG || errno == EIO;
}

/* Values repeat, so that blocks are found in the cache. */
static void use_attributes(const char *path)
{
	char value[64 << 10], names[64 << 10];

	done(listxattr(path, names, sizeof(names)));
	done(getxattr(path, ATTRIBUTE, value, sizeof(value)));
	memset(value, 'a' + below(VALUES), VALUE_SIZE);
	done(setxattr(path, ATTRIBUTE, value, VALUE_SIZE, 0));
	if (!below(4))
		done(removexattr(path, ATTRIBUTE));
}

static void use_name(const char *path)
{
	char other[PATH_MAX];
	struct stat st;
	int fd;

	done(stat(path, &st));
	snprintf(other, sizeof(other), NAMES "/new-%lu", below(1000));
	fd = open(other, O_CREAT | O_WRONLY, 0644);
	done(fd);
	if (fd >= 0)
		close(fd);
	snprintf(other, sizeof(other), NAMES "/moved-%lu", below(1000));
	done(below(2) ? rename(path, other) : unlink(path));
}

static void use_folder(const char *folder, void (*use)(const char *path))
{
	char paths[USED][PATH_MAX];
	unsigned int i, nr = 0;
	struct dirent *entry;
	DIR *dir = opendir(folder);

	done(dir ? 0 : -1);
	if (!dir)
		return;
	while (nr < USED && (errno = 0, entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(paths[nr++], PATH_MAX, "%s/%s", folder, entry->d_name);
	done(errno ? -1 : 0);
	closedir(dir);
	for (i = 0; i < nr; i++)
		use(paths[i]);
}

static void use_copy(void)
{
	write_copy();
	if (mount(opt.device, DIR_PATH, opt.type, 0, "errors=continue")) {
		refused++;
		return;
	}
	use_folder(FILES, use_attributes);
	use_folder(NAMES, use_name);
	use_folder(FILES, use_attributes);
	if (umount(DIR_PATH))
		fail("unmount", DIR_PATH);
}

static const char help[] =
	"usage: hostile IMAGE DEVICE TYPE [-n COPIES] [-r SEED]\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:r:")) != -1) {
		if (c == 'n')
			opt.copies = to_number("-n", optarg, 1, 1000000);
		else if (c == 'r')
			opt.seed = to_number("-r", optarg, 0, 1000000);
		else
			usage(help);
	}
	if (optind != argc - 3)
		usage(help);
	opt.image = argv[optind];
	opt.device = argv[optind + 1];
	opt.type = argv[optind + 2];
}

int main(int argc, char **argv)
{
	unsigned long i;

	arguments(argc, argv);
	state = opt.seed;
	read_image();
	for (i = 0; i < opt.copies; i++)
		use_copy();
	printf("attributes: %lu\nindices: %lu\ncopies: %lu\nrefused: %lu\n",
	       nr_blocks - indices, indices, opt.copies, refused);
	printf("calls: %lu\nfailed: %lu\ndamaged: %lu\n", calls, failed, damaged);
	return 0;
}
