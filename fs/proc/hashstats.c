// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/hashstats: every table of the boot_hash register, its size, how its
 * objects are spread, and what its look-ups cost.
 *
 * The format is promised in Documentation/ABI/testing/procfs-hashstats: parsers
 * look for labels, so lines may be added.
 */

#include <linux/boot_hash_stats.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* Readable by root alone: a spread tells an attacker which keys collide. */
#define HASHSTATS_MODE	0400

/**
 * struct hashstats_reader - one open file
 * @walked: serial number of the table that @stats is of, or 0
 * @stats: result of the walk
 *
 * seq_file shows a table again when its text did not fit into what was left
 * of the buffer; the table is not walked again for that.
 */
struct hashstats_reader {
	unsigned long		walked;
	struct boot_hash_stats	stats;
};

/*
 * Tables come and go between two reads. The position is the serial number of
 * the next one to show, so none is shown twice, or missed for that.
 */
static void *hashstats_start(struct seq_file *m, loff_t *pos)
{
	return *pos ? boot_hash_get_from(*pos) : SEQ_START_TOKEN;
}

static void hashstats_stop(struct seq_file *m, void *v)
{
	if (v && v != SEQ_START_TOKEN)
		boot_hash_put(v);
}

static void *hashstats_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct hashstats_reader *reader = m->private;
	const struct boot_hash *hash = v;

	reader->walked = 0;
	*pos = v == SEQ_START_TOKEN ? 1 : hash->serial + 1;
	hashstats_stop(m, v);
	return boot_hash_get_from(*pos);
}

static void show_thousandths(struct seq_file *m, const char *label, u64 value)
{
	u32 rest;
	u64 whole = div_u64_rem(value, 1000, &rest);

	seq_printf(m, "%s: %llu.%03u\n", label, whole, rest);
}

static void show_spread(struct seq_file *m, const struct boot_hash_stats *stats)
{
	const struct hash_histogram *chains = &stats->chains;

	seq_printf(m, "objects: %llu\n", chains->objects);
	seq_printf(m, "used: %llu\n", hash_histogram_used(chains));
	show_thousandths(m, "used-expected",
			 hash_histogram_used_expected(chains));
	seq_printf(m, "longest: %u\n", chains->longest);
	seq_printf(m, "capped: %lu\n", stats->capped);
	show_thousandths(m, "nodes-per-hit",
			 hash_histogram_nodes_per_hit(chains));
	show_thousandths(m, "nodes-per-hit-expected",
			 hash_histogram_nodes_per_hit_expected(chains));
	show_thousandths(m, "variance-over-mean",
			 hash_histogram_variance_over_mean(chains));
	seq_printf(m, "walk-us: %llu\n", stats->walk_us);
	seq_printf(m, "walk-longest-us: %llu\n", stats->longest_us);
}

static void show_lookups(struct seq_file *m, const struct boot_hash *hash,
			 const struct boot_hash_lookups *lookups)
{
	u64 all = (u64)lookups->hits + lookups->misses;

	seq_printf(m, "lookups: %llu\n", all);
	seq_printf(m, "hits: %lu\n", lookups->hits);
	show_thousandths(m, "hit-rate", hash_histogram_ratio(lookups->hits, all));
	show_thousandths(m, "nodes-per-counted-hit",
			 hash_histogram_ratio(lookups->hit_nodes,
					      lookups->hits));
	show_thousandths(m, "nodes-per-counted-miss",
			 hash_histogram_ratio(lookups->miss_nodes,
					      lookups->misses));
	if (hash->flags & BOOT_HASH_DIRECT_MAPPED)
		seq_printf(m, "stale: %lu\n", lookups->miss_nodes);
	if (hash->flags & BOOT_HASH_CACHED) {
		seq_printf(m, "cache-hits: %lu\n", lookups->cache_hits);
		show_thousandths(m, "cache-hit-rate",
				 hash_histogram_ratio(lookups->cache_hits,
						      lookups->cache_hits +
						      all));
	}
}

static void show_wakes(struct seq_file *m, const struct boot_hash_wakes *wakes)
{
	/* Summed one after the other while CPUs count on: not below 0. */
	unsigned long foreign = wakes->examined -
				min(wakes->examined, wakes->matched);

	seq_printf(m, "wakes: %lu\n", wakes->wakes);
	seq_printf(m, "entries-examined: %lu\n", wakes->examined);
	seq_printf(m, "entries-matched: %lu\n", wakes->matched);
	seq_printf(m, "functions-called: %lu\n", wakes->called);
	show_thousandths(m, "foreign-per-wake",
			 hash_histogram_ratio(foreign, wakes->wakes));
}

static void show_rows(struct seq_file *m, const struct hash_histogram *chains)
{
	unsigned int i;

	seq_puts(m, "size    buckets    objects sum-pct\n");
	for (i = 0; i < HASH_HISTOGRAM_ROWS; i++) {
		if (i < HASH_HISTOGRAM_LONG)
			seq_printf(m, "%4u", i);
		else
			seq_puts(m, " >15");
		seq_printf(m, " %10llu %10llu %7u\n", chains->rows[i].buckets,
			   chains->rows[i].objects,
			   hash_histogram_sum_pct(chains, i));
	}
}

static int show_table(struct seq_file *m, struct boot_hash *hash)
{
	struct hashstats_reader *reader = m->private;
	const struct boot_hash_stats *stats = &reader->stats;

	if (reader->walked != hash->serial) {
		int err = boot_hash_walk(hash, &reader->stats);

		if (err)
			return err;
		reader->walked = hash->serial;
	}
	seq_printf(m, "\nname: %s\n", hash->name);
	if (hash->instance)
		seq_printf(m, "instance: %s\n", hash->instance);
	seq_printf(m, "buckets: %lu\n", hash->nr_buckets);
	seq_printf(m, "bytes: %llu\n", (u64)hash->nr_buckets * hash->bucket_size);
	seq_printf(m, "sized-by: %s\n", boot_hash_origin_name(hash->origin));
	if (!hash->nr_buckets)
		return 0;
	if (hash->chain_length)
		show_spread(m, stats);
	if (hash->lookups &&
	    (boot_hash_counting_is_on() ||
	     stats->lookups.hits || stats->lookups.misses ||
	     stats->lookups.cache_hits))
		show_lookups(m, hash, &stats->lookups);
	if (hash->wakes && (boot_hash_counting_is_on() || stats->wakes.wakes))
		show_wakes(m, &stats->wakes);
	if (hash->chain_length)
		show_rows(m, &stats->chains);
	return 0;
}

static int hashstats_show(struct seq_file *m, void *v)
{
	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "version: 1\n");
		seq_printf(m, "counting: %s\n",
			   boot_hash_counting_is_on() ? "on" : "off");
		return 0;
	}
	return show_table(m, v);
}

static const struct seq_operations hashstats_ops = {
	.start	= hashstats_start,
	.next	= hashstats_next,
	.stop	= hashstats_stop,
	.show	= hashstats_show,
};

static int hashstats_open(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &hashstats_ops,
				sizeof(struct hashstats_reader));
}

static ssize_t hashstats_write(struct file *file, const char __user *ubuf,
			       size_t count, loff_t *ppos)
{
	char word[8];

	if (count >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, ubuf, count))
		return -EFAULT;
	word[count] = '\0';

	if (sysfs_streq(word, "on"))
		boot_hash_counting_set(true);
	else if (sysfs_streq(word, "off"))
		boot_hash_counting_set(false);
	else if (sysfs_streq(word, "reset"))
		boot_hash_counting_reset();
	else
		return -EINVAL;
	return count;
}

static const struct proc_ops hashstats_proc_ops = {
	.proc_open	= hashstats_open,
	.proc_read_iter	= seq_read_iter,
	.proc_lseek	= seq_lseek,
	.proc_write	= hashstats_write,
	.proc_release	= seq_release_private,
};

static int __init hashstats_init(void)
{
	proc_create("hashstats", HASHSTATS_MODE, NULL, &hashstats_proc_ops);
	return 0;
}
fs_initcall(hashstats_init);
