# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest: puts a known number of objects into each table, and reads
the tables of the kernel before and after.

One process does both, so that nothing else comes and goes between the readings.
For each phase it prints a line of JSON: {phase: {table: [before, after, made]}}.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, "/tool")

from hashstats_tool import reading
from hashstats_tool.stock import reader

LIBC = ctypes.CDLL(None, use_errno=True)
TIMER_CREATE, FUTEX = 222, 202
MERGEABLE, HUGE = 12, 14
NEW_NETWORK, SET_FLAGS, UP = 0x40000000, 0x8914, 1
DISK, QUOTAS = "/mnt/disk", "/mnt/quotas"
CHILDREN = []
KEPT = []  # sockets and memory that stay


def objects():
    """{name: objects} of each table now."""
    copy = reading.parse(reader.read("/proc/kcore", "/proc/kcore"))
    return {table.name: table.objects for table in copy.tables}


def phase(name, fill):
    """Fill tables; what a phase made is known when it returns."""
    before = objects()
    made = fill()
    time.sleep(0.5)
    after = objects()
    result = {
        table: [before.get(table, 0), after.get(table), count] for table, count in made.items()
    }
    print(json.dumps({name: result}))


def child(work):
    """A process that does its work and stays; returns when the work is done."""
    done, tell = os.pipe()
    number = os.fork()
    if not number:
        os.close(done)
        try:
            work()
        except BaseException as error:
            os.write(tell, str(error).encode()[:100])
            os._exit(1)
        os.write(tell, b"ok")
        signal.pause()
        os._exit(0)
    os.close(tell)
    said = os.read(done, 100)
    os.close(done)
    assert said == b"ok", said
    CHILDREN.append(number)
    return number


def mount(source, place, kind, options=""):
    os.makedirs(place, exist_ok=True)
    done = LIBC.mount(source.encode(), place.encode(), kind.encode(), 0, options.encode())
    assert not done, f"mount {place}: {errno.errorcode[ctypes.get_errno()]}"


def mounts():
    for number in range(100):
        mount("none", f"/tmp/mounts/{number}", "ramfs")
    return {"mount": 100, "mountpoint": 100}


def files():
    for number in range(2000):
        os.close(os.open(f"{DISK}/{number}", os.O_CREAT | os.O_WRONLY))
    return {"inode": 2000, "dentry": 2000}


def attributes():
    for number in range(150):
        os.setxattr(f"{DISK}/{number}", "user.a", f"{number:0900}".encode())
    return {"mbcache-ext4-ram0": 150}


def quotas():
    for number in range(50):
        path = f"{QUOTAS}/{number}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.chown(path, 3000 + number, 0)
    return {"dquot": 50}


def timers():
    class Event(ctypes.Structure):
        _fields_ = [
            ("value", ctypes.c_void_p),
            ("signal", ctypes.c_int),
            ("notify", ctypes.c_int),
            ("rest", ctypes.c_char * 48),
        ]

    for _ in range(300):
        made = LIBC.syscall(
            TIMER_CREATE, 1, ctypes.byref(Event(None, 0, 1)), ctypes.byref(ctypes.c_int())
        )
        assert not made
    return {"posix_timers": 300}


def users():
    for number in range(60):
        child(lambda uid=2000 + number: os.setuid(uid))
    return {"uid": 60, "ucounts": 60}


def cgroups():
    mount("none", "/tmp/cgroups", "cgroup2")
    for number in range(30):
        folder = f"/tmp/cgroups/{number}"
        os.mkdir(folder)
        process = child(lambda: None)
        with open(f"{folder}/cgroup.procs", "w") as file:
            file.write(str(process))
    return {"css_set": 30}


def locks():
    path = "/tmp/lock"
    KEPT.append(os.open(path, os.O_CREAT | os.O_WRONLY))
    fcntl.lockf(KEPT[-1], fcntl.LOCK_EX)
    for _ in range(25):
        number = os.fork()
        if not number:
            with open(path, "r+") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
            os._exit(0)
        CHILDREN.append(number)
    return {"blocked_locks": 25}


def advised(advice, size):
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(advice)
    # Not only at the ends: a huge page has to fit around the address.
    for at in range(0, size, 1 << 20):
        memory[at] = 1
    KEPT.append(memory)


def merged():
    for _ in range(15):
        child(lambda: advised(MERGEABLE, 1 << 16))
    return {"ksm_mm": 15}


def huge():
    for _ in range(12):
        child(lambda: advised(HUGE, 8 << 20))
    return {"khugepaged_mm": 12}


def futexes():
    """Waiters for words that several processes could share: these are in the
    table of the kernel, whatever tables processes have.
    """
    words = mmap.mmap(-1, 4096)
    KEPT.append(words)
    address = ctypes.addressof(ctypes.c_char.from_buffer(words))
    for number in range(40):
        place = ctypes.c_void_p(address + 4 * number)
        start(lambda place=place: LIBC.syscall(FUTEX, place, 0, 0, None, None, 0))
    return {"futex": 40}


def start(work):
    threading.Thread(target=work, daemon=True).start()


def sockets():
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    KEPT.append(listener)
    for _ in range(50):
        KEPT.append(socket.create_connection(listener.getsockname()))
        KEPT.append(listener.accept()[0])
    for _ in range(70):
        KEPT.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        KEPT[-1].bind(("127.0.0.1", 0))
    address = KEPT[-1].getsockname()
    for one in KEPT[-40:-1]:
        one.connect(address)
    return {
        "tcp-established": 100,
        "tcp-bind": 51,
        "tcp-bind2": 51,
        "tcp_listen_portaddr_hash": 1,
        "udp": 70,
        "udp-hash2": 70,
        # Since 6.13: the connected ones.
        **({"udp-hash4": 39} if "udp-hash4" in objects() else {}),
    }


def groups():
    """64 listeners of one port, and 64 datagram sockets: each group counts once."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        address = ("127.0.0.1", 0)
        for _ in range(64):
            one = socket.socket(socket.AF_INET, kind)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(address)
            address = one.getsockname()
            if kind == socket.SOCK_STREAM:
                one.listen(8)
            KEPT.append(one)
    return {"tcp_listen_portaddr_hash": 1, "udp": 1, "udp-hash2": 1}


def namespace():
    """A network namespace with a table of connections of its own."""
    with open("/proc/sys/net/ipv4/tcp_child_ehash_entries", "w") as file:
        file.write("64")

    def work():
        assert not LIBC.unshare(NEW_NETWORK)
        # The loopback of a new namespace is down.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh22x", b"lo", UP))
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        KEPT.append(listener)
        for _ in range(15):
            KEPT.append(socket.create_connection(listener.getsockname()))
            KEPT.append(listener.accept()[0])

    number = child(work)
    return {f"tcp-established-net{os.stat(f'/proc/{number}/ns/net').st_ino}": 30}


class Silent:
    """A file system that answers little: a task that looks up a name or reads waits.

    The protocol is in include/uapi/linux/fuse.h.
    """

    HEAD = struct.Struct("<IIQQIIII")
    LOOKUP, GETATTR, OPEN, READ, INIT = 1, 3, 14, 15, 26
    PARALLEL_LOOKUPS = 1 << 18
    NAME = b"file"

    def __init__(self, place):
        self.place = place
        self.device = os.open("/dev/fuse", os.O_RDWR)
        self.waiting = []
        mount("silent", place, "fuse", f"fd={self.device},rootmode=40000,user_id=0,group_id=0")
        # The device belongs to nothing before it is mounted.
        start(self.serve)

    def serve(self):
        while True:
            try:
                data = os.read(self.device, 1 << 17)
            except OSError:
                return  # it was ended
            _, code, unique, node, *_ = self.HEAD.unpack_from(data)
            body = data[self.HEAD.size :]
            if code == self.INIT:
                major, minor = struct.unpack_from("<II", body)
                sizes = (0, 0, 65536, 1, 1, 0, 0)
                flags = (0, self.PARALLEL_LOOKUPS)
                self.answer(unique, struct.pack("<IIIIHHIIHHI28x", 7, 31, *flags, *sizes))
            elif code == self.GETATTR:
                self.answer(unique, struct.pack("<QII", 3600, 0, 0) + self.attributes(node))
            elif code == self.LOOKUP and body.rstrip(b"\0") == self.NAME:
                entry = struct.pack("<QQQQII", 2, 0, 3600, 3600, 0, 0)
                self.answer(unique, entry + self.attributes(2))
            elif code == self.OPEN:
                self.answer(unique, struct.pack("<QII", 1, 0, 0))
            elif code in (self.LOOKUP, self.READ):
                self.waiting.append((code, body))
            else:
                os.write(self.device, struct.pack("<IiQ", 16, -errno.ENOSYS, unique))

    @staticmethod
    def end():
        """A task that waits gets an error; else nobody could end these processes."""
        control = "/sys/fs/fuse/connections"
        mount("none", control, "fusectl")
        for number in os.listdir(control):
            with open(f"{control}/{number}/abort", "w") as file:
                file.write("1")

    def answer(self, unique, body):
        os.write(self.device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)

    @staticmethod
    def attributes(node):
        mode = 0o40755 if node == 1 else 0o100644
        return struct.pack("<6Q10I", node, 1 << 20, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def waiting(silent):
    """Names that are being looked up, and readers of one page.

    Of the readers one has the page locked and waits for its answer.
    """
    for number in range(20):
        start(lambda path=f"{silent.place}/name{number}": LIBC.access(path.encode(), 0))
    for _ in range(17):
        start(lambda: read(f"{silent.place}/file"))
    time.sleep(3)
    return {"dentry_lookup": 20, "folio_wait": 16}


def read(path):
    buffer = ctypes.create_string_buffer(16)
    number = LIBC.open(path.encode(), os.O_RDONLY)
    LIBC.read(number, buffer, 16)


def prepare():
    """What later phases need, and what they would else add once."""
    with open("/sys/kernel/mm/transparent_hugepage/enabled", "w") as file:
        file.write("madvise")
    for device, place, features in (("ram0", DISK, []), ("ram1", QUOTAS, ["-O", "quota"])):
        made = os.spawnvp(
            os.P_WAIT, "mkfs.ext4", ["mkfs.ext4", "-q", "-N", "4000", *features, f"/dev/{device}"]
        )
        assert not made
        mount(f"/dev/{device}", place, "ext4")
    # The quotas of root, who makes the files, are there before they are counted.
    os.close(os.open(f"{QUOTAS}/root", os.O_CREAT | os.O_WRONLY))
    os.system("ip link set lo up")


def main():
    sys.stdout.reconfigure(line_buffering=True)
    prepare()
    objects()
    phase("nothing", lambda: dict.fromkeys(objects(), 0))
    silent = Silent("/tmp/silent")
    steps = (
        files,
        attributes,
        quotas,
        mounts,
        timers,
        users,
        cgroups,
        locks,
        merged,
        huge,
        futexes,
        sockets,
        groups,
        namespace,
    )
    for step in (*steps, lambda: waiting(silent)):
        name = getattr(step, "__name__", "waiting").replace("<lambda>", "waiting")
        phase(name, step)
    if len(sys.argv) > 1:
        os.system(sys.argv[1])
    silent.end()
    for number in CHILDREN:
        os.kill(number, signal.SIGKILL)
    sys.stdout.flush()
    os._exit(0)


main()
