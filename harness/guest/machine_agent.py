#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in a machine as a service: shell scripts that come through a port, one a line.

A line is a script in hexadecimal digits; the answer is its exit status and its output,
in hexadecimal digits too. The first line after each boot is the kernel's release.
"""

import io
import os
import subprocess
import sys
import time


def main(path: str) -> None:
    with open(path, "r+b", buffering=0) as port:
        send(port, f"ready {os.uname().release}\n".encode())
        waiting = b""
        while True:
            data = port.read(65536)
            if not data:
                time.sleep(0.1)  # nobody is connected
                continue
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                send(port, answer(bytes.fromhex(line.decode())))


def send(port: io.FileIO, data: bytes) -> None:
    # The port takes 32 KiB at most at a time.
    while data:
        data = data[port.write(data) :]


def answer(script: bytes) -> bytes:
    done = subprocess.run(
        ["sh", "-ec", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return f"{done.returncode} {done.stdout.hex()}\n".encode()


if __name__ == "__main__":
    main(sys.argv[1])
