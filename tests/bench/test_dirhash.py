# SPDX-License-Identifier: GPL-2.0
"""The directory hash of ext4: ours gives the hashes of the base, bit by bit.

fs/ext4/hash.c of both is built in user space; in the kernel,
fs/ext4/hash-reference-test.c compares it with a reference.
"""

import subprocess

import pytest

from bench.halfmd4 import dirhash
from series import compose, source

PROGRAM = "dirhash_check"
# What goes wrong when names are packed in words, each where it would stand.
MISTAKES = {
    "signs are forgotten": ("(bytes & signs) << 1", "0"),
    "a sign is one place too high": ("(bytes & signs) << 1", "(bytes & signs) << 2"),
    "words the other way round": (
        "buf++ = apply_signs(get_unaligned_be32(msg)",
        "buf++ = apply_signs(__builtin_bswap32(get_unaligned_be32(msg))",
    ),
    "a word of three characters": ("len >= 4;", "len >= 3;"),
    "no length before the last characters": ("\tval = pad;", "\tval = 0;"),
    "no length behind them": ("\t\t*buf++ = pad;", "\t\t*buf++ = 0;"),
    "char is always signed": ("#define UNSIGNED_CHARS\t0", "#define UNSIGNED_CHARS\t0x80808080"),
    "a majority of one": ("(((y) & (z)) + ((x)", "(((y) & (x)) + ((x)"),
}
BEHIND = ("\tval = pad;", "\t(void)*(volatile const char *)(msg + len);\n\tval = pad;")


@pytest.fixture(scope="module")
def base():
    return dirhash.text(source.base_commit())


@pytest.fixture(scope="module")
def ours():
    return dirhash.text(compose.compose())


def checked(folder, base, ours, *words):
    program = dirhash.build(PROGRAM, base, ours, folder=folder)
    return subprocess.run(
        [program, *words], text=True, capture_output=True, timeout=600, check=False
    )


def changed(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def test_hashes_are_the_base_s(tmp_path, base, ours):
    assert ours != base
    done = checked(tmp_path, base, ours, "-n", "300000")
    assert done.stdout == "names 300000 lengths 256 versions 6 same\n"
    assert done.returncode == 0


@pytest.mark.long
def test_hashes_of_ten_million_names(tmp_path, base, ours):
    done = checked(tmp_path, base, ours, "-n", "10000000", "-s", "1")
    assert done.stdout == "names 10000000 lengths 256 versions 6 same\n"
    assert done.returncode == 0


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_seen(mistake, tmp_path, base, ours):
    done = checked(tmp_path, base, changed(ours, *MISTAKES[mistake]))
    assert done.returncode == 1
    assert done.stdout.startswith("version ")


def test_look_behind_the_name_is_seen(tmp_path, base, ours):
    done = checked(tmp_path, base, changed(ours, *BEHIND))
    assert done.returncode == -11 and not done.stdout


@pytest.mark.parametrize("words", [("-n", "0"), ("-s", "x"), ("-z",), ("more",)])
def test_bad_words_are_refused(words, tmp_path, base):
    assert checked(tmp_path, base, base, *words).returncode == 2
