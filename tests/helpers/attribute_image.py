# SPDX-License-Identifier: GPL-2.0
"""Images of ext2 with equal attributes in blocks that no files share.

The kernel makes such blocks with the mount option nombcache.  debugfs needs no
guest and is faster.  It stores 0 as the hash of a block, as `mke2fs -d` does.
"""

import struct
import subprocess

NAME = "user.x"
VALUE = b"v" * 200
PER_FOLDER = 1000
BLOCK = 1024
OPTIONS = ("-t", "ext2", "-b", str(BLOCK), "-I", "128")  # ext4 mounts it, too

# The first members of struct ext4_xattr_header: magic number, references, blocks.
UNSHARED = struct.pack("<III", 0xEA020000, 1, 1)
REFERENCES = 4  # h_refcount
FULL = 1025  # the most that ext2 stores, and one more than ext4
BLOCK_HASH = 12  # h_hash
ENTRY_HASH = 44  # e_hash of the only entry


def commands(files, value):
    """For debugfs: files 0/0, 0/1, ... in folders of 1000."""
    for number in range(files):
        folder, name = divmod(number, PER_FOLDER)
        if not name:
            yield from ("cd /", f"mkdir {folder}", f"cd {folder}")
        yield f"write /dev/null {name}"
        yield f"ea_set -f {value} {name} {NAME}"


def complete(image, hashed, full):
    """Store hashes and references; return the number of blocks with attributes.

    The kernel's hash of a block with one attribute is that of the attribute.
    """
    found = 0
    with image.open("r+b") as disk:
        for start in range(0, image.stat().st_size, BLOCK):
            disk.seek(start)
            block = disk.read(ENTRY_HASH + 4)
            if not block.startswith(UNSHARED):
                continue
            found += 1
            if hashed:
                disk.seek(start + BLOCK_HASH)
                disk.write(block[ENTRY_HASH:])
            if full:
                disk.seek(start + REFERENCES)
                disk.write(struct.pack("<I", FULL))
    return found


def build(folder, files, hashed=True, full=False):
    """The path of an image with so many files, each with a block of its own."""
    image, value, script = (folder / name for name in ("image", "value", "commands"))
    value.write_bytes(VALUE)
    script.write_text("".join(f"{line}\n" for line in commands(files, value)))
    kib = 8192 + files * (BLOCK + 128) // 1024 * 5 // 4
    subprocess.run(
        ["mke2fs", "-q", *OPTIONS, "-N", str(2000 + files * 21 // 20), image, f"{kib}k"],
        check=True,
        capture_output=True,
    )
    done = subprocess.run(
        ["debugfs", "-w", "-f", script, image], check=True, capture_output=True, text=True
    )
    # The status is 0 also if a command failed. The first line is the version.
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert complete(image, hashed, full) == files
    return image
