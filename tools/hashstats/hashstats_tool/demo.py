# SPDX-License-Identifier: GPL-2.0
"""hashstats demo: the commands on histograms of the year 2000, without root."""

import os
import tempfile

from . import shipped

HELP = "the commands on samples that come with the tool; needs no root"
READS = False
SAMPLES = ("citi-1.hashstats", "citi-3.hashstats", "citi-5.hashstats")
STEPS = (
    (
        "A table of buffers whose hash function was bad. 721 chains are longer than 15:",
        "show -f citi-1.hashstats",
    ),
    ("Its chains. A bar is the number of buckets:", "hist buffer -f citi-1.hashstats --log"),
    ("The same table with another hash function:", "diff citi-1.hashstats citi-3.hashstats"),
    ("A table of inodes that was too small, and a better size:", "advise -f citi-5.hashstats"),
)


def options(parser):
    """None of its own."""


def run(options):
    from . import cli

    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in SAMPLES:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(shipped.sample(name))
        os.chdir(folder)
        try:
            for text, words in STEPS:
                print(f"{text}\n\n$ hashstats {words}", flush=True)
                cli.main(words.split())
                print()
        finally:
            os.chdir(here)
    print("On this machine: sudo hashstats. The manual: hashstats help man.")
