# SPDX-License-Identifier: GPL-2.0
"""An empty exFAT file system, which neither busybox nor Debian 12's base makes."""

import struct

SECTOR = 512
CLUSTER = 8 * SECTOR
FAT_SECTOR, HEAP_SECTOR, SECTORS = 24, 32, 8192
BITMAP, UPCASE, ROOT = 2, 3, 4  # clusters
# Each character is its own upper-case form.
IDENTITY = struct.pack("<HH", 0xFFFF, 0xFFFF)


def checksum(data, skipped=()):
    value = 0
    for place, byte in enumerate(data):
        if place not in skipped:
            value = ((value << 31 | value >> 1) + byte) & 0xFFFFFFFF
    return value


def boot_region(clusters):
    fields = struct.pack(
        "<QQIIIIIIHHBBBB",
        0,
        SECTORS,
        FAT_SECTOR,
        HEAP_SECTOR - FAT_SECTOR,
        HEAP_SECTOR,
        clusters,
        ROOT,
        1,  # serial number
        0x100,  # revision
        0,  # flags
        9,  # log2 of bytes of a sector
        3,  # log2 of sectors of a cluster
        1,  # FATs
        0x80,
    )
    first = b"\xeb\x76\x90EXFAT   ".ljust(64, b"\0") + fields
    sectors = [first] + 8 * [b""] + 2 * [bytes(SECTOR)]
    data = b"".join(text.ljust(SECTOR - 2, b"\0") + b"\x55\xaa" for text in sectors[:9])
    data += b"".join(sectors[9:])
    return data + struct.pack("<I", checksum(data, (106, 107, 112))) * (SECTOR // 4)


def image():
    clusters = (SECTORS - HEAP_SECTOR) * SECTOR // CLUSTER
    bytes_of_map = -(-clusters // 8)
    root = struct.pack("<BB18xIQ", 0x81, 0, BITMAP, bytes_of_map)
    root += struct.pack("<B3xI12xIQ", 0x82, checksum(IDENTITY), UPCASE, len(IDENTITY))
    fat = struct.pack("<IIIII", 0xFFFFFFF8, *4 * [0xFFFFFFFF])
    data = 2 * boot_region(clusters)
    data += fat.ljust((HEAP_SECTOR - FAT_SECTOR) * SECTOR, b"\0")
    for text in (b"\x07".ljust(bytes_of_map, b"\0"), IDENTITY, root):
        data += text.ljust(CLUSTER, b"\0")
    return data.ljust(SECTORS * SECTOR, b"\0")
