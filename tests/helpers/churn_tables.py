# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest: reads its tables while other processes change them.

Of inodes and names a number that is known stays, and never more than another
number come and go: a reading outside these bounds counted what was not there, or
missed what was. Torn chains are allowed, if they are reported. It prints a line
of JSON.
"""

import json
import os
import signal
import sys
import time

sys.path.insert(0, "/tool")

from hashstats_tool import reading
from hashstats_tool.stock import reader

STAY, PROCESSES, EACH = 20000, 4, 500
MARGIN = 2000  # names of /proc, of the kernel itself


def churn(number):
    folder = f"/tmp/churn/{number}"
    os.mkdir(folder)
    while True:
        for name in range(EACH):
            os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY))
        for name in range(EACH):
            os.rename(f"{folder}/{name}", f"{folder}/new{name}")
        for name in range(EACH):
            os.unlink(f"{folder}/new{name}")


def read():
    copy = reading.parse(reader.read("/proc/kcore", "/proc/kcore"))
    return {table.name: table for table in copy.tables}


def main(seconds):
    os.makedirs("/tmp/churn")
    for number in range(STAY):
        os.close(os.open(f"/tmp/churn/stays{number}", os.O_CREAT | os.O_WRONLY))
    before = read()["dentry"].objects
    children = []
    for number in range(PROCESSES):
        child = os.fork()
        if not child:
            churn(number)
        children.append(child)
    end = time.monotonic() + seconds
    # A name of a folder that is new, and both names of a file that is renamed.
    most = before + PROCESSES * (2 * EACH + 1) + MARGIN
    result = {"readings": 0, "torn": 0, "impossible": [], "least": before, "most": before}
    while time.monotonic() < end:
        table = read()["dentry"]
        result["readings"] += 1
        torn = table.number("torn")
        result["torn"] += torn
        result["least"] = min(result["least"], table.objects)
        result["most"] = max(result["most"], table.objects)
        # What a torn chain lacks is at most its length.
        least = before - MARGIN - torn * table.number("longest")
        if not least <= table.objects <= most:
            result["impossible"].append([table.objects, torn])
    for child in children:
        os.kill(child, signal.SIGKILL)
    print(json.dumps(result))


main(float(sys.argv[1]))
