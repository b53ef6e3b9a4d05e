// SPDX-License-Identifier: GPL-2.0
/*
 * badwrites - write anything to /proc/hashstats while other tasks read it
 *
 * Some writes are right, most are nearly right, others are random or long. They
 * come in one piece or in several, from bad addresses, and from a user that may
 * not write. The answer to each is known: the number of bytes, or the errno. With
 * one writer, so is the line "counting: ..." after it.
 *
 * Prints "name: value" lines, among them the writes by their answer. Ends with
 * status 1 at the first wrong answer.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define ROOM		512			/* one more than the kernel reads */
#define SHORT		16
#define PREFIX		"only "
#define LONGEST		(64 << 10)
#define PIECES		4
#define STRANGER	65534
#define HEAD		"version: 1\ncounting: "

static struct {
	const char *path;
	unsigned long seconds, writes, seed, writers;
} opt = { .path = "/proc/hashstats", .writes = 1000, .seed = 1, .writers = 1 };

static const char *const words[] = { "on", "off", "reset", "only inode  mount" };
enum { ON, OFF, RESET, ONLY, WORDS, NO_WORD = WORDS };

static const struct {
	const char *name;
	int error;
} answers[] = {
	{ "accepted", 0 },
	{ "EINVAL", EINVAL },
	{ "EFAULT", EFAULT },
	{ "EPERM", EPERM },
};

#define ANSWERS		(sizeof(answers) / sizeof(*answers))

/* Of all processes. */
static struct {
	unsigned long writes, by_answer[ANSWERS], checks, reads, bytes;
	bool end;
} *shared;

static unsigned long long state;
static int fd, read_only;
static bool counting;
static char *text;	/* behind it is a page that cannot be read */
static size_t size;

static unsigned long below(unsigned long limit)
{
	return next(&state) % limit;
}

static void count(unsigned long *what, unsigned long number)
{
	__atomic_add_fetch(what, number, __ATOMIC_RELAXED);
}

static void make_random(size_t length)
{
	for (size = 0; size < length; size++)
		text[size] = next(&state);
}

static void make_word(void)
{
	strcpy(text, words[below(WORDS)]);
	size = strlen(text);
	if (below(2))
		text[size++] = '\n';
}

/* Most results differ from a word in one byte. */
static void change_word(void)
{
	static const char likely[] = "\n\0 \t\rofnONrest01";
	size_t at = below(size + 1);
	char byte = below(4) ? likely[below(sizeof(likely) - 1)] : (char)next(&state);

	switch (below(4)) {
	case 0:
		memmove(text + at + 1, text + at, size++ - at);
		text[at] = byte;
		break;
	case 1:
		at = below(size);
		memmove(text + at, text + at + 1, --size - at);
		break;
	case 2:
		text[below(size)] = byte;
		break;
	case 3:
		at = below(size);
		text[at] = toupper((unsigned char)text[at]);
		break;
	}
}

static void make_text(void)
{
	size_t start;

	switch (below(8)) {
	case 0:
		make_random(below(SHORT));
		break;
	case 1:
		make_word();
		start = size;
		memset(text + start, below(2) ? 0 : ' ', LONGEST - start);
		size += below(below(2) ? SHORT : below(2) ? 2 * ROOM : LONGEST - start);
		break;
	case 2:
		make_random(below(LONGEST));
		break;
	case 3:
		make_word();
		break;
	default:
		make_word();
		change_word();
		while (size && !below(4))
			change_word();
	}
}

/* Is there a name after "only "? The kernel's isspace() also accepts 0xa0. */
static bool has_names(const char *piece, size_t length)
{
	size_t i;

	for (i = strlen(PREFIX); i < length; i++) {
		if (!isspace((unsigned char)piece[i]) && (unsigned char)piece[i] != 0xa0)
			return true;
	}
	return false;
}

/* A word, perhaps with a newline, or "only" and names, up to a NUL. */
static int word_of(const char *piece, size_t length)
{
	int word;

	if (length >= ROOM)
		return NO_WORD;
	length = strnlen(piece, length);
	if (length > strlen(PREFIX) && !memcmp(piece, PREFIX, strlen(PREFIX)))
		return has_names(piece, length) ? ONLY : NO_WORD;
	if (length && piece[length - 1] == '\n')
		length--;
	for (word = 0; word < WORDS; word++) {
		if (length == strlen(words[word]) && !memcmp(piece, words[word], length))
			break;
	}
	return word;
}

/* The answer to a write that the kernel can read. */
static long answer_to(const char *piece, size_t length)
{
	int word = word_of(piece, length);

	if (word == NO_WORD)
		return -EINVAL;
	if (word == ON || word == OFF)
		counting = word == ON;
	return length;
}

static void wrong(const char *way, long answer, long expected)
{
	size_t i;

	fprintf(stderr, "badwrites: %s of %zu bytes '", way, size);
	for (i = 0; i < size && i < 2 * SHORT; i++)
		fprintf(stderr, isprint((unsigned char)text[i]) ? "%c" : "\\x%02x",
			(unsigned char)text[i]);
	fprintf(stderr, "': %ld, expected %ld\n", answer, expected);
	exit(1);
}

static void check(const char *way, long answer, long expected)
{
	unsigned int i;

	if (answer < 0)
		answer = -errno;
	if (answer != expected)
		wrong(way, answer, expected);
	for (i = 0; i < ANSWERS - 1 && answers[i].error != (expected < 0 ? -expected : 0); i++)
		;
	count(&shared->by_answer[i], 1);
	count(&shared->writes, 1);
}

static void write_once(void)
{
	check("write", write(fd, text, size), answer_to(text, size));
}

/* Words one after the other, which a single write() cannot have. */
static void write_words(void)
{
	struct iovec iov[PIECES];
	long expected = 0;
	unsigned int i;

	for (i = 0; i < PIECES; i++) {
		iov[i].iov_base = (char *)words[below(WORDS)];
		iov[i].iov_len = strlen(iov[i].iov_base);
		expected += answer_to(iov[i].iov_base, iov[i].iov_len);
	}
	check("writev", writev(fd, iov, PIECES), expected);
}

/* The last bytes are in a page that cannot be read; a long write is not read at all. */
static void write_from_bad_page(void)
{
	char *end = text + LONGEST, *start = below(2) ? end - below(size + 1) : NULL;

	if (!size)
		return;
	if (start) {
		memmove(start, text, end - start);
		size += start == end - size;
	}
	check("write from a bad page", write(fd, start, size), size < ROOM ? -EFAULT : -EINVAL);
}

static void write_as_stranger(void)
{
	ssize_t answer;
	int error;

	if (seteuid(STRANGER))
		fail("seteuid", "of another user");
	answer = write(fd, text, size);
	error = errno;
	if (seteuid(0))
		fail("seteuid", "of root");
	errno = error;
	check("write of another user", answer, -EPERM);
}

static void open_again(void)
{
	if (fd >= 0)
		close(fd);
	fd = open(opt.path, below(2) ? O_RDWR : O_WRONLY);
	if (fd < 0)
		fail("open", opt.path);
}

/* How often each is done is its number of lines. */
static void (*const ways[])(void) = {
	write_once,
	write_once,
	write_once,
	write_words,
	write_from_bad_page,
	write_as_stranger,
};

#define WAYS		(sizeof(ways) / sizeof(*ways))

static void check_counting(void)
{
	const char *want = counting ? HEAD "on\n" : HEAD "off";
	char have[sizeof(HEAD "off")];
	ssize_t length = strlen(want);

	if (pread(read_only, have, length, 0) != length || memcmp(have, want, length))
		wrong("counting after a write", !counting, counting);
	count(&shared->checks, 1);
}

static void keep_writing(void)
{
	double end = now() + opt.seconds;
	unsigned long i;

	fd = -1;
	open_again();
	read_only = open(opt.path, O_RDONLY);
	if (read_only < 0)
		fail("open", opt.path);
	strcpy(text, "off");
	size = strlen(text);
	write_once();
	for (i = 0; opt.seconds ? now() < end : i < opt.writes; i++) {
		make_text();
		ways[below(WAYS)]();
		if (opt.writers == 1 && !below(4))
			check_counting();
		if (!below(50))
			open_again();
	}
}

/* The whole file, in reads of any size. */
static void keep_reading(void)
{
	static char buffer[LONGEST];
	ssize_t length;
	char last;
	int file;

	while (!__atomic_load_n(&shared->end, __ATOMIC_RELAXED)) {
		file = open(opt.path, O_RDONLY);
		if (file < 0)
			fail("open", opt.path);
		last = '\n';
		while ((length = read(file, buffer, 1 + below(below(2) ? 200 : LONGEST))) > 0) {
			last = buffer[length - 1];
			count(&shared->bytes, length);
		}
		if (length || last != '\n')
			fail("read", opt.path);
		close(file);
		count(&shared->reads, 1);
	}
}

static pid_t start(void (*run)(void), unsigned long number)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork", "a task");
	if (pid)
		return pid;
	state = (opt.seed << 8) + number;
	run();
	exit(0);
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) != pid || status;
}

static void *map(size_t length, int flags)
{
	void *place = mmap(NULL, length, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		fail("map", "memory");
	return place;
}

static const char help[] =
	"usage: badwrites [-f FILE] [-n WRITES | -t SECONDS] [-r SEED] [-w WRITERS]\n";

static void arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "f:n:r:t:w:")) != -1) {
		if (c == 'f')
			opt.path = optarg;
		else if (c == 'n')
			opt.writes = to_number("-n", optarg, 1, 1000000000);
		else if (c == 'r')
			opt.seed = to_number("-r", optarg, 0, 1000000);
		else if (c == 't')
			opt.seconds = to_number("-t", optarg, 1, 86400);
		else if (c == 'w')
			opt.writers = to_number("-w", optarg, 1, 64);
		else
			usage(help);
	}
	if (optind != argc)
		usage(help);
}

int main(int argc, char **argv)
{
	pid_t writers[64], reader;
	unsigned int i, failed = 0;

	arguments(argc, argv);
	shared = map(sizeof(*shared), MAP_SHARED);
	text = map(LONGEST + getpagesize(), MAP_PRIVATE);
	if (mprotect(text + LONGEST, getpagesize(), PROT_NONE))
		fail("protect", "memory");
	reader = start(keep_reading, 0);
	for (i = 0; i < opt.writers; i++)
		writers[i] = start(keep_writing, i + 1);
	for (i = 0; i < opt.writers; i++)
		failed += wait_for(writers[i]);
	__atomic_store_n(&shared->end, true, __ATOMIC_RELAXED);
	failed += wait_for(reader);
	printf("writes: %lu\n", shared->writes);
	for (i = 0; i < ANSWERS; i++)
		printf("%s: %lu\n", answers[i].name, shared->by_answer[i]);
	printf("checks: %lu\nreads: %lu\nbytes: %lu\n", shared->checks, shared->reads,
	       shared->bytes);
	return failed ? 1 : 0;
}
