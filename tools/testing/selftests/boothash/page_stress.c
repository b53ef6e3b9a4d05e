// SPDX-License-Identifier: GPL-2.0
/*
 * page_stress - stress the page cache and check the contents of files
 *
 * In each DIR, a directory of a mounted file system, several processes read,
 * write, map, truncate, punch, unlink, replace and sync the same few files. A
 * file is an array of blocks of 1 KiB. A block has a generation. While it is
 * odd, file, block and generation determine each byte of the block. While it is
 * even, the block is zero or behind the end of the file.
 *
 * A writer holds the locks of its blocks. It announces the new generation,
 * changes the blocks, and announces that it has finished. A reader takes no
 * lock, so it may meet any of these steps. It notes the last generation that was
 * finished before it began and the last one that was announced when it ended.
 * Each byte must be of a generation between these two. If nobody changes the
 * block meanwhile, they are the same.
 *
 * At the same time, other processes drop caches, compact memory, fill memory
 * (-a), and create and remove names. They read each -b, the device below a
 * mounted file system, through the page cache of the device. On each -d, they
 * change the block size of the device, and mount and unmount the file system in
 * its first half. The second half serves as one more file.
 *
 * At the end, the test drops all from memory and reads each block again.
 *
 * Without DIR, the files are on a tmpfs that only the test sees.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "stress.h"

#define BLOCK		1024
#define WORDS		(BLOCK / sizeof(unsigned long long))
#define PAGE		4096
#define PER_PAGE	(PAGE / BLOCK)
#define FILES		4	/* of a DIR */
#define FILE_BLOCKS	4096	/* two pages of a huge page table */
#define DEVICE_BLOCKS	16384
#define RUN		64	/* most blocks of one operation */
#define HOT		256	/* blocks where half of the operations are */
#define STRIPES		32	/* locks of a file, dealt to its blocks in turn */
#define MOST_COLLISIONS	1000	/* of one direct read */
#define MOST_STATES	16	/* generations that a read is checked against */

/* Not yet in the headers of Debian 12. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define MAX_DIRS	8
#define MAX_DEVICES	4
#define MAX_FILES	(MAX_DIRS * FILES + MAX_DEVICES)
#define MAX_PROCS	64
#define LEFT_BLOCKS	64	/* in the file that a mount leaves */
#define NAMES		64
#define NAME_SIZE	64

struct device {
	const char *path, *dir;
};

static struct {
	const char *dir[MAX_DIRS];
	unsigned int dirs;
	const char *below[MAX_DEVICES];
	unsigned int nr_below;
	struct device device[MAX_DEVICES];
	unsigned int devices;
	unsigned int anonymous;	/* MiB */
} opt;

enum {
	READS, MAPPED_READS, WRITES, MAPPED_WRITES, PUNCHES, ZEROINGS, TRUNCATIONS,
	UNLINKS, REPLACEMENTS, SYNCS, MADVISES, COLLAPSES, BUS_ERRORS, RACED,
	DROPS, COMPACTIONS, NAMINGS, REFILLS, DEVICE_READS, BLOCK_SIZES, MOUNTS,
	KINDS
};

static const char * const kind_name[KINDS] = {
	"reads", "mapped reads", "writes", "mapped writes", "punches", "zeroings",
	"truncations", "unlinks", "replacements", "syncs", "madvises", "collapses",
	"bus errors", "raced blocks", "drops", "compactions", "namings", "refills",
	"device reads", "block sizes", "mounts",
};

/* A generation begins and is done; both move under the lock of the block. */
struct block {
	unsigned int begun, done;
};

struct file {
	char path[PATH_SIZE];
	int is_device, is_tmpfs;
	unsigned int first;	/* block of the device where the file begins */
	unsigned int blocks;
	unsigned int incarnation;	/* which inode has the name */
	pthread_mutex_t lock[STRIPES];
	struct block block[DEVICE_BLOCKS];
};

static struct {
	struct file file[MAX_FILES];
} *shared;

static unsigned int files;
static unsigned long long chance;
static sigjmp_buf bus_error;
static sig_atomic_t in_mapping;

static void write_or_stop(const char *path, const char *text)
{
	if (write_text(path, text))
		call_failed("write", path);
}

static unsigned int random_below(unsigned int limit)
{
	return next(&chance) % limit;
}

/* What is in a block. */

static unsigned long long head_of(unsigned int file, unsigned int block,
				  unsigned int generation)
{
	return (unsigned long long)file << 56 | (unsigned long long)block << 32 |
		generation;
}

static void fill(unsigned long long *words, unsigned int file, unsigned int block,
		 unsigned int generation)
{
	unsigned long long seed = head_of(file, block, generation), mixed;
	unsigned int i;

	if (generation % 2 == 0) {
		memset(words, 0, BLOCK);
		return;
	}
	words[0] = seed;
	mixed = next(&seed);
	for (i = 1; i < WORDS; i++)
		words[i] = mixed * (2 * i + 1);
}

/* What a wrong block is instead, as far as one can see. */
static void name_block(char *text, size_t size, const unsigned long long *words)
{
	unsigned long long whole[WORDS], head = words[0];
	unsigned int file = head >> 56, block = head >> 32 & 0xffffff;
	unsigned int generation = head;

	fill(whole, file, block, generation);
	if (!memcmp(words, whole, BLOCK) && generation % 2)
		snprintf(text, size, "it is block %u of file %u, generation %u", block,
			 file, generation);
	else if (!head && !memcmp(words, words + 1, BLOCK - sizeof(*words)))
		snprintf(text, size, "it is zero");
	else
		snprintf(text, size, "it begins with %016llx", head);
}

static unsigned int first_wrong(const unsigned long long *words, unsigned int file,
				unsigned int block, unsigned int from, unsigned int to)
{
	unsigned char allowed[BLOCK] = {};
	unsigned long long whole[WORDS];
	unsigned int generation, i;

	for (generation = from; generation <= to; generation++) {
		fill(whole, file, block, generation);
		for (i = 0; i < BLOCK; i++)
			allowed[i] |= ((unsigned char *)whole)[i] ==
				((unsigned char *)words)[i];
	}
	for (i = 0; i < BLOCK; i++)
		if (!allowed[i])
			break;
	return i;
}

static void check(const unsigned long long *words, unsigned int file,
		  unsigned int block, unsigned int from, unsigned int to,
		  const char *how)
{
	unsigned long long whole[WORDS];
	unsigned int byte;
	char said[128];

	fill(whole, file, block, to);
	if (!memcmp(words, whole, BLOCK))
		return;
	if (from != to)
		add(RACED);
	if (to - from >= MOST_STATES)
		return;
	byte = first_wrong(words, file, block, from, to);
	if (byte == BLOCK)
		return;
	name_block(said, sizeof(said), words);
	stop("%s %s: block %u has a wrong byte %u, must be generation %u to %u of file %u: %s",
	     how, file < files ? shared->file[file].path : "the file of a mount",
	     block, byte, from, to, file, said);
}

/* Locks and generations of blocks. */

static void each_lock(struct file *file, unsigned int first, unsigned int blocks,
		      int (*call)(pthread_mutex_t *lock))
{
	char wanted[STRIPES] = {};
	unsigned int i;

	for (i = 0; i < blocks && i < STRIPES; i++)
		wanted[(first + i) % STRIPES] = 1;
	/* Always in this order, whatever the blocks. */
	for (i = 0; i < STRIPES; i++)
		if (wanted[i])
			call(&file->lock[i]);
}

static void lock_blocks(struct file *file, unsigned int first, unsigned int blocks)
{
	each_lock(file, first, blocks, pthread_mutex_lock);
}

static void unlock_blocks(struct file *file, unsigned int first, unsigned int blocks)
{
	each_lock(file, first, blocks, pthread_mutex_unlock);
}

static void lock_file(struct file *file)
{
	lock_blocks(file, 0, STRIPES);
}

static void unlock_file(struct file *file)
{
	unlock_blocks(file, 0, STRIPES);
}

/* New content, or zero: the next odd or the next even generation. */
static void begin_blocks(struct file *file, unsigned int first, unsigned int blocks,
			 int content)
{
	struct block *block = &file->block[first];

	for (; blocks--; block++)
		if (content || block->done % 2)
			__atomic_store_n(&block->begun,
					 block->done + 1 + (content && block->done % 2),
					 __ATOMIC_SEQ_CST);
}

static void end_blocks(struct file *file, unsigned int first, unsigned int blocks)
{
	struct block *block = &file->block[first];

	for (; blocks--; block++)
		__atomic_store_n(&block->done, block->begun, __ATOMIC_SEQ_CST);
}

/* Nothing was changed after all. */
static void undo_blocks(struct file *file, unsigned int first, unsigned int blocks)
{
	struct block *block = &file->block[first];

	for (; blocks--; block++)
		__atomic_store_n(&block->begun, block->done, __ATOMIC_SEQ_CST);
}

static unsigned int number_of(const struct file *file)
{
	return file - shared->file;
}

static off_t position(const struct file *file, unsigned int block)
{
	return (off_t)(file->first + block) * BLOCK;
}

/* One of the operations works on a run of blocks. */
struct run {
	struct file *file;
	unsigned int first, blocks;
};

static struct run random_run(struct file *file)
{
	struct run run = { .file = file, .blocks = 1 + random_below(RUN) };

	/* Most runs are short. */
	if (random_below(4))
		run.blocks = 1 + random_below(2 * PER_PAGE);
	run.first = random_below((random_below(2) ? HOT : file->blocks) - run.blocks);
	return run;
}

/* With no lock there may be no such name at the moment: -1. */
static int open_file(const struct file *file, int flags)
{
	int fd = open(file->path, flags);

	if (fd < 0 && errno != ENOENT)
		call_failed("open", file->path);
	return fd;
}

static int open_locked(const struct file *file, int flags)
{
	int fd = open(file->path, flags);

	if (fd < 0)
		call_failed("open", file->path);
	return fd;
}

/* Readers, without locks. */

static void note_done(const struct run *run, unsigned int *done)
{
	unsigned int i;

	for (i = 0; i < run->blocks; i++)
		done[i] = __atomic_load_n(&run->file->block[run->first + i].done,
					  __ATOMIC_SEQ_CST);
}

static void check_run(const struct run *run, const unsigned int *done,
		      const unsigned long long *words, const char *how)
{
	unsigned int i, begun;

	for (i = 0; i < run->blocks; i++) {
		begun = __atomic_load_n(&run->file->block[run->first + i].begun,
					__ATOMIC_SEQ_CST);
		check(words + i * WORDS, number_of(run->file), run->first + i, done[i],
		      /* A change that was undone left it lower again. */
		      begun > done[i] ? begun : done[i], how);
	}
}

/* Behind the end of the file there is zero. */
static void read_run(int fd, const struct run *run, unsigned long long *words, int direct)
{
	size_t size = (size_t)run->blocks * BLOCK, done = 0;
	unsigned int collisions = 0;
	ssize_t got;

	memset(words, 0, size);
	while (done < size) {
		got = pread(fd, (char *)words + done, size - done,
			    position(run->file, run->first) + done);
		/*
		 * A direct read that meets a mapped write whose block is not
		 * allocated yet fails, see IOMAP_DELALLOC in iomap_dio_iter().
		 */
		if (got < 0 && errno == EIO && direct && ++collisions < MOST_COLLISIONS)
			continue;
		if (got < 0)
			call_failed("read", run->file->path);
		if (!got)
			break;
		done += got;
	}
	if (done < size && run->file->is_device)
		stop("read %s: %zu bytes of %zu", run->file->path, done, size);
}

static void read_blocks(struct file *file, int flags)
{
	struct run run = random_run(file);
	static unsigned long long *words;
	unsigned int done[RUN];
	int fd;

	doing("read");
	/* A direct read wants its memory aligned. */
	if (!words)
		words = aligned_alloc(PAGE, RUN * BLOCK);
	if (!words)
		call_failed("memory for", file->path);
	note_done(&run, done);
	fd = open_file(file, O_RDONLY | flags);
	if (fd < 0)
		return;
	read_run(fd, &run, words, flags);
	close(fd);
	check_run(&run, done, words, flags ? "direct read of" : "read of");
	add(READS);
}

/* A mapping of whole pages around a run. */
struct mapping {
	char *start;		/* of the pages */
	char *data;		/* of the run */
	size_t size;
};

static void map_run(struct mapping *map, int fd, const struct run *run, int protection)
{
	off_t from = position(run->file, run->first) & -(off_t)PAGE;

	map->size = position(run->file, run->first + run->blocks) - from;
	map->start = mmap(NULL, map->size, protection, MAP_SHARED, fd, from);
	if (map->start == MAP_FAILED)
		call_failed("map", run->file->path);
	map->data = map->start + (position(run->file, run->first) - from);
}

static void on_bus_error(int number)
{
	if (__atomic_load_n(&in_mapping, __ATOMIC_RELAXED))
		siglongjmp(bus_error, 1);
	signal(number, SIG_DFL);
	raise(number);
}

/* A page behind the end of the file gives SIGBUS: it counts as zero. */
static void copy_block(unsigned long long *words, const char *from)
{
	if (sigsetjmp(bus_error, 1)) {
		memset(words, 0, BLOCK);
		add(BUS_ERRORS);
	} else {
		__atomic_store_n(&in_mapping, 1, __ATOMIC_SEQ_CST);
		memcpy(words, from, BLOCK);
	}
	__atomic_store_n(&in_mapping, 0, __ATOMIC_SEQ_CST);
}

static void map_and_read(struct file *file)
{
	unsigned int i, pass, incarnation, done[RUN];
	static unsigned long long words[RUN * WORDS];
	struct run run = random_run(file);
	struct mapping map;
	int fd;

	doing("read of a mapping");
	incarnation = __atomic_load_n(&file->incarnation, __ATOMIC_SEQ_CST);
	note_done(&run, done);
	fd = open_file(file, O_RDONLY);
	if (fd < 0)
		return;
	map_run(&map, fd, &run, PROT_READ);
	close(fd);
	for (pass = 0; pass < 3; pass++) {
		for (i = 0; i < run.blocks; i++)
			copy_block(words + i * WORDS, map.data + i * BLOCK);
		check_run(&run, done, words, "mapping of");
		add(MAPPED_READS);
		note_done(&run, done);
		/* What was noted may be that of another inode by now. */
		if (__atomic_load_n(&file->incarnation, __ATOMIC_SEQ_CST) != incarnation)
			break;
	}
	munmap(map.start, map.size);
}

/* Writers, with the locks of what they change. */

static void fill_run(const struct run *run, unsigned long long *words)
{
	unsigned int i;

	for (i = 0; i < run->blocks; i++)
		fill(words + i * WORDS, number_of(run->file), run->first + i,
		     run->file->block[run->first + i].begun);
}

static void write_all(int fd, const void *data, size_t size, off_t at, const char *path)
{
	size_t done = 0;
	ssize_t put;

	while (done < size) {
		put = pwrite(fd, (const char *)data + done, size - done, at + done);
		if (put <= 0)
			call_failed("write", path);
		done += put;
	}
}

static void write_run(int fd, const struct run *run)
{
	static unsigned long long words[RUN * WORDS];

	begin_blocks(run->file, run->first, run->blocks, 1);
	fill_run(run, words);
	write_all(fd, words, (size_t)run->blocks * BLOCK,
		  position(run->file, run->first), run->file->path);
}

static void write_blocks(struct file *file)
{
	struct run run = random_run(file);
	int fd;

	doing("write");
	lock_blocks(file, run.first, run.blocks);
	fd = open_locked(file, O_WRONLY);
	write_run(fd, &run);
	end_blocks(file, run.first, run.blocks);
	close(fd);
	unlock_blocks(file, run.first, run.blocks);
	add(WRITES);
}

/* Only what is in the file: its end cannot come nearer under the locks. */
static void map_and_write(struct file *file)
{
	struct run locked = random_run(file), run = locked;
	static unsigned long long words[RUN * WORDS];
	struct mapping map;
	struct stat st;
	int fd;

	doing("write to a mapping");
	lock_blocks(file, locked.first, locked.blocks);
	fd = open_locked(file, O_RDWR);
	if (fstat(fd, &st))
		call_failed("fstat", file->path);
	if (st.st_size < position(file, run.first + run.blocks))
		run.blocks = st.st_size < position(file, run.first) ? 0 :
			st.st_size / BLOCK - run.first;
	if (run.blocks) {
		map_run(&map, fd, &run, PROT_READ | PROT_WRITE);
		begin_blocks(file, run.first, run.blocks, 1);
		fill_run(&run, words);
		memcpy(map.data, words, (size_t)run.blocks * BLOCK);
		end_blocks(file, run.first, run.blocks);
		if (!random_below(8) && msync(map.start, map.size, MS_SYNC))
			call_failed("msync", file->path);
		munmap(map.start, map.size);
		add(MAPPED_WRITES);
	}
	close(fd);
	unlock_blocks(file, locked.first, locked.blocks);
}

static void zero_blocks(struct file *file, int mode, int kind)
{
	struct run run = random_run(file);
	int fd, busy;

	doing("fallocate");
	/* A device is zeroed by pages, whatever its blocks are. */
	if (file->is_device)
		run.first -= run.first % PER_PAGE;
	if (file->is_device)
		run.blocks = PER_PAGE;
	lock_blocks(file, run.first, run.blocks);
	fd = open_locked(file, O_RDWR);
	begin_blocks(file, run.first, run.blocks, 0);
	busy = fallocate(fd, mode | FALLOC_FL_KEEP_SIZE, position(file, run.first),
			 (off_t)run.blocks * BLOCK);
	/* A mounted device gives no page up that is in use. */
	if (busy && !(file->is_device && errno == EBUSY))
		call_failed("fallocate", file->path);
	if (busy)
		undo_blocks(file, run.first, run.blocks);
	else
		end_blocks(file, run.first, run.blocks);
	close(fd);
	unlock_blocks(file, run.first, run.blocks);
	add(kind);
}

static void truncate_file(struct file *file)
{
	unsigned int blocks = random_below(file->blocks);

	/* Mostly the end is moved by little. */
	if (random_below(4))
		blocks = file->blocks - blocks % (4 * RUN);
	doing("truncate");
	lock_file(file);
	begin_blocks(file, blocks, file->blocks - blocks, 0);
	if (truncate(file->path, (off_t)blocks * BLOCK))
		call_failed("truncate", file->path);
	end_blocks(file, blocks, file->blocks - blocks);
	unlock_file(file);
	add(TRUNCATIONS);
}

static void create_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);

	if (fd < 0)
		call_failed("create", path);
	close(fd);
}

/*
 * The name belongs to another inode now. This is announced before the blocks
 * end. If a reader sees the same incarnation before it opens the file and after
 * it notes the finished generations, it has noted nothing of another inode.
 */
static void end_inode(struct file *file)
{
	__atomic_add_fetch(&file->incarnation, 1, __ATOMIC_SEQ_CST);
	end_blocks(file, 0, file->blocks);
}

static void unlink_file(struct file *file)
{
	doing("unlink");
	lock_file(file);
	begin_blocks(file, 0, file->blocks, 0);
	if (unlink(file->path))
		call_failed("unlink", file->path);
	create_file(file->path);
	end_inode(file);
	unlock_file(file);
	add(UNLINKS);
}

/* Another inode with other content takes the name; until then the old one is read. */
static void replace_file(struct file *file)
{
	struct run run = { .file = file, .blocks = RUN };
	char path[PATH_SIZE + 4];
	int fd;

	doing("rename over a file");
	snprintf(path, sizeof(path), "%s.new", file->path);
	lock_file(file);
	begin_blocks(file, 0, file->blocks, 0);
	create_file(path);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		call_failed("open", path);
	run.first = random_below(file->blocks - run.blocks);
	write_run(fd, &run);
	close(fd);
	if (rename(path, file->path))
		call_failed("rename", path);
	end_inode(file);
	unlock_file(file);
	add(REPLACEMENTS);
}

/* What changes no byte. */

static void sync_file(struct file *file)
{
	int fd = open_file(file, O_RDWR);

	if (fd < 0)
		return;
	doing("fsync");
	if (random_below(2) ? fsync(fd) : fdatasync(fd))
		call_failed("fsync", file->path);
	close(fd);
	add(SYNCS);
}

static void advise(struct file *file)
{
	static const int advice[] = {
		POSIX_FADV_DONTNEED, POSIX_FADV_WILLNEED, POSIX_FADV_RANDOM,
	};
	struct run run = random_run(file);
	int fd = open_file(file, O_RDONLY);

	if (fd < 0)
		return;
	doing("fadvise");
	errno = posix_fadvise(fd, random_below(2) ? position(file, run.first) : 0,
			      random_below(2) ? (off_t)run.blocks * BLOCK : 0,
			      advice[random_below(3)]);
	if (errno)
		call_failed("fadvise", file->path);
	close(fd);
	add(MADVISES);
}

/* May be refused for want of memory, or since the pages are in use. */
static void collapse(struct file *file)
{
	struct run whole = { .file = file, .blocks = file->blocks };
	int fd = open_file(file, O_RDWR);
	struct mapping map;

	if (fd < 0)
		return;
	doing("making huge pages");
	map_run(&map, fd, &whole, PROT_READ);
	close(fd);
	if (!madvise(map.start, map.size, MADV_COLLAPSE))
		add(COLLAPSES);
	munmap(map.start, map.size);
}

static void change_device(struct file *file, unsigned int what)
{
	if (what < 60)
		write_blocks(file);
	else if (what < 70)
		zero_blocks(file, FALLOC_FL_ZERO_RANGE, ZEROINGS);
	else if (what < 80)
		advise(file);
	else
		sync_file(file);
}

static void change_file(struct file *file, unsigned int what)
{
	if (what < 40)
		write_blocks(file);
	else if (what < 65)
		map_and_write(file);
	else if (what < 75)
		zero_blocks(file, FALLOC_FL_PUNCH_HOLE, PUNCHES);
	else if (what < 80 && file->is_tmpfs)
		collapse(file);
	else if (what < 80)
		zero_blocks(file, FALLOC_FL_ZERO_RANGE, ZEROINGS);
	else if (what < 86)
		truncate_file(file);
	else if (what < 87)
		unlink_file(file);
	else if (what < 88)
		replace_file(file);
	else if (what < 95)
		advise(file);
	else
		sync_file(file);
}

static void one_operation(void)
{
	struct file *file = &shared->file[random_below(files)];
	unsigned int what = random_below(100);

	if (what < 30)
		read_blocks(file, random_below(8) ? 0 : O_DIRECT);
	else if (what < 55)
		map_and_read(file);
	else if (file->is_device)
		change_device(file, random_below(100));
	else
		change_file(file, random_below(100));
}

static void work(void)
{
	while (time_left())
		one_operation();
}

/* Processes that disturb them. */

static void drop(void)
{
	static const char * const which[] = { "2", "3", "1", "3" };
	unsigned int turn;

	for (turn = 0; time_left(); turn++) {
		doing("sync");
		if (turn % 4 == 0)
			sync();
		doing("drop_caches");
		write_or_stop("/proc/sys/vm/drop_caches", which[turn % 4]);
		add(DROPS);
		usleep(300000);
	}
}

static void compact(void)
{
	static const char path[] = "/proc/sys/vm/compact_memory";

	while (time_left() && !access(path, W_OK)) {
		doing("moving pages together");
		write_or_stop(path, "1");
		add(COMPACTIONS);
		usleep(150000);
	}
}

/* Directories come and go, and the buffers of their blocks with them. */
static void make_names(const char *dir)
{
	char folder[PATH_SIZE], path[PATH_SIZE + NAME_SIZE];
	unsigned int i;
	struct stat st;

	snprintf(folder, sizeof(folder), "%s/page-stress-names", dir);
	if (mkdir(folder, 0755))
		call_failed("mkdir", folder);
	for (i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "%s/a-name-that-takes-its-place-in-a-block-%u",
			 folder, i);
		create_file(path);
	}
	for (i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "%s/a-name-that-takes-its-place-in-a-block-%u",
			 folder, i);
		if (stat(path, &st))
			call_failed("stat", path);
		if (unlink(path))
			call_failed("unlink", path);
	}
	if (rmdir(folder))
		call_failed("rmdir", folder);
	add(NAMINGS);
}

static void names(void)
{
	unsigned int i;

	while (time_left())
		for (i = 0; i < opt.dirs; i++) {
			doing("names");
			make_names(opt.dir[i]);
		}
}

/* Memory that has to be swapped, with words that must come back. */
static void fill_memory(void)
{
	size_t size = (size_t)opt.anonymous << 20, i;
	unsigned long long turn, *words;

	if (!size)
		return;
	words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (words == MAP_FAILED)
		call_failed("map", "memory");
	madvise(words, size / 2, MADV_HUGEPAGE);
	doing("fill memory");
	for (turn = 0; time_left(); turn++) {
		for (i = 0; i < size / sizeof(*words); i += PAGE / sizeof(*words)) {
			if (i % (BLOCK * BLOCK / sizeof(*words)) == 0) {
				/* All of it may take minutes, if that is swapped. */
				if (!time_left())
					return;
				/* Slowly: the others shall get on. */
				usleep(2000);
			}
			if (turn && words[i] != ((unsigned long long)i << 32 | turn))
				stop("memory: word %zu is %016llx, must be %08zx%08llx",
				     i, words[i], i, turn);
			words[i] = (unsigned long long)i << 32 | (turn + 1);
		}
		add(REFILLS);
	}
}

/* The device below a mounted file system, whatever is in it. */
static void read_below(const char *path)
{
	static char data[64 * BLOCK];
	int fd = open(path, O_RDONLY);
	off_t size, at = 0;
	ssize_t got;

	if (fd < 0)
		call_failed("open", path);
	size = lseek(fd, 0, SEEK_END);
	while (time_left()) {
		doing("read of a device");
		if (!random_below(4) || at >= size)
			at = (off_t)random_below(size / BLOCK) * BLOCK;
		got = pread(fd, data, sizeof(data), at);
		if (got < 0)
			call_failed("read", path);
		if (got < (ssize_t)sizeof(data) && at + got != size)
			stop("read %s: %zd bytes at %lld", path, got, (long long)at);
		at += sizeof(data);
		add(DEVICE_READS);
	}
	close(fd);
}

/* Refused while it is mounted. */
static void change_block_size(const char *path)
{
	int size = 512, found, fd = open(path, O_RDWR);

	if (fd < 0)
		call_failed("open", path);
	while (time_left()) {
		doing("change of the block size");
		if (!ioctl(fd, BLKBSZSET, &size)) {
			if (ioctl(fd, BLKBSZGET, &found))
				call_failed("block size of", path);
			add(BLOCK_SIZES);
			size = size == PAGE ? 512 : 2 * size;
		} else if (errno != EBUSY) {
			call_failed("change the block size of", path);
		}
		usleep(10000);
	}
	close(fd);
}

/* What a mount leaves in a file, the next one must find. */
static void check_left(const char *path, unsigned int file, unsigned int turn)
{
	unsigned long long words[WORDS];
	int fd = open(path, O_RDONLY);
	unsigned int i;

	if (fd < 0)
		call_failed("open", path);
	for (i = 0; i < LEFT_BLOCKS; i++) {
		if (read(fd, words, BLOCK) != BLOCK)
			call_failed("read", path);
		check(words, file, i, 2 * turn + 1, 2 * turn + 1, "read of");
	}
	close(fd);
}

static void leave(const char *path, unsigned int file, unsigned int turn)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	unsigned long long words[WORDS];
	unsigned int i;

	if (fd < 0)
		call_failed("create", path);
	for (i = 0; i < LEFT_BLOCKS; i++) {
		fill(words, file, i, 2 * turn + 1);
		write_all(fd, words, BLOCK, (off_t)i * BLOCK, path);
	}
	close(fd);
}

static void mount_device(const struct device *device)
{
	doing("mount");
	/* A change of the block size holds the device for a moment. */
	while (mount(device->path, device->dir, "ext4", 0, NULL)) {
		if (errno != EBUSY)
			call_failed("mount", device->path);
		usleep(5000);
	}
	add(MOUNTS);
}

static void mount_and_unmount(unsigned int number)
{
	const struct device *device = &opt.device[number];
	unsigned int turn, file = MAX_FILES + number;
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/left", device->dir);
	for (turn = 0; turn < 2 || time_left(); turn++) {
		mount_device(device);
		doing("file of a mount");
		if (turn)
			check_left(path, file, turn - 1);
		leave(path, file, turn);
		make_names(device->dir);
		check_left(path, file, turn);
		doing("umount");
		if (umount2(device->dir, 0))
			call_failed("umount", device->dir);
		usleep(50000);
	}
	mount_device(device);
	check_left(path, file, turn - 1);
	if (unlink(path))
		call_failed("unlink", path);
	if (umount2(device->dir, 0))
		call_failed("umount", device->dir);
}

static void run_process(void)
{
	unsigned int number = self - procs;

	chance = self;
	signal(SIGBUS, on_bus_error);
	if (self < procs)
		work();
	else if (number == 0)
		drop();
	else if (number == 1)
		compact();
	else if (number == 2)
		names();
	else if (number == 3)
		fill_memory();
	else if (number < 4 + opt.nr_below)
		read_below(opt.below[number - 4]);
	else if (number < 4 + opt.nr_below + opt.devices)
		change_block_size(opt.device[number - 4 - opt.nr_below].path);
	else
		mount_and_unmount(number - 4 - opt.nr_below - opt.devices);
}

/* The files, and what is known of them. */

static void make_file_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &attr);
}

static struct file *add_file(void)
{
	struct file *file = &shared->file[files++];
	unsigned int i;

	for (i = 0; i < STRIPES; i++)
		make_file_lock(&file->lock[i]);
	return file;
}

static void add_files(const char *dir)
{
	struct statfs fs;
	struct file *file;
	unsigned int i;

	if (statfs(dir, &fs))
		call_failed("statfs", dir);
	for (i = 0; i < FILES; i++) {
		file = add_file();
		file->blocks = FILE_BLOCKS;
		file->is_tmpfs = fs.f_type == TMPFS_MAGIC;
		snprintf(file->path, sizeof(file->path), "%s/page-stress-%u", dir, i);
		create_file(file->path);
	}
}

/* The second half of a device: zero in the beginning. */
static void add_device(const char *path)
{
	static const char zero[RUN * BLOCK];
	struct file *file = add_file();
	unsigned int i;
	off_t size;
	int fd;

	fd = open(path, O_RDWR);
	if (fd < 0)
		call_failed("open", path);
	size = lseek(fd, 0, SEEK_END);
	snprintf(file->path, sizeof(file->path), "%s", path);
	file->is_device = 1;
	file->first = size / 2 / PAGE * PER_PAGE;
	file->blocks = size / 2 / PAGE * PER_PAGE;
	if (file->blocks > DEVICE_BLOCKS)
		file->blocks = DEVICE_BLOCKS;
	if (file->blocks < 2 * HOT)
		stop("device %s: too small", path);
	for (i = 0; i + RUN <= file->blocks; i += RUN)
		write_all(fd, zero, sizeof(zero), position(file, i), path);
	file->blocks = i;
	if (fsync(fd))
		call_failed("fsync", path);
	close(fd);
}

static void make_files(void)
{
	unsigned int i;

	for (i = 0; i < opt.dirs; i++)
		add_files(opt.dir[i]);
	for (i = 0; i < opt.devices; i++)
		add_device(opt.device[i].path);
}

/* Everything once more, from the disk. */
static void check_all(void)
{
	static unsigned long long words[RUN * WORDS];
	unsigned int i, done[RUN];
	struct run run;
	int fd;

	sync();
	write_or_stop("/proc/sys/vm/drop_caches", "3");
	for (i = 0; i < files; i++) {
		run = (struct run){ .file = &shared->file[i], .blocks = RUN };
		fd = open_locked(run.file, O_RDONLY);
		for (; run.first < run.file->blocks; run.first += RUN) {
			note_done(&run, done);
			read_run(fd, &run, words, 0);
			check_run(&run, done, words, "last read of");
		}
		close(fd);
		if (!run.file->is_device && unlink(run.file->path))
			call_failed("unlink", run.file->path);
	}
}

static const char help[] =
	"usage: page_stress [DIR...] " STRESS_USAGE "\n"
	"                   [-a MIB] [-b DEVICE]... [-d DEVICE:DIR]...\n"
	STRESS_HELP
	"  -a is memory to fill, -b a device to read, which may be mounted\n"
	"  -d is a device whose block size changes; the ext4 in its first half is\n"
	"     mounted at DIR now and then, its second half is overwritten\n";

static void to_device(char *text)
{
	struct device *device = &opt.device[opt.devices++];

	if (opt.devices > MAX_DEVICES)
		usage(help);
	device->path = strsep(&text, ":");
	device->dir = text;
	if (!device->dir)
		usage(help);
}

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, STRESS_OPTIONS "a:b:d:")) != -1) {
		if (c == 'a')
			opt.anonymous = to_number("-a", optarg, 1, 1 << 20);
		else if (c == 'b' && opt.nr_below < MAX_DEVICES)
			opt.below[opt.nr_below++] = optarg;
		else if (c == 'd')
			to_device(optarg);
		else if (!stress_option(c, optarg, MAX_PROCS))
			usage(help);
	}
	opt.dirs = argc - optind;
	if (opt.dirs > MAX_DIRS)
		usage(help);
	memcpy(opt.dir, argv + optind, opt.dirs * sizeof(*opt.dir));
}

int main(int argc, char **argv)
{
	int failed;

	arguments(argc, argv);
	begin_test();
	if (!opt.dirs)
		opt.dir[opt.dirs++] = private_tmpfs();
	ksft_set_plan(1);
	shared = shared_memory(sizeof(*shared));
	make_files();
	failed = run_processes(procs + 4 + opt.nr_below + 2 * opt.devices, run_process);
	if (!failed)
		failed = check_in_child(check_all);
	end_test("page_stress", failed, kind_name, KINDS);
}
