#!/usr/bin/env python3
"""What a broker on this machine acknowledges before it is on the disk.

    unsynced.py BROKER CONFIG HOST:PORT [USER PASSWORD]

starts BROKER --conf=CONFIG (one node, an empty data directory, in the current
directory) under strace, publishes and subscribes at QoS 1 for 24 seconds with
nothing but sockets, kills it, and prints by the system calls alone, in their
order: how many PUBACKs the kernel was handed, and for every file the broker
wrote how much of it was synced when the last of them left. Then it cuts each
file back to what was synced, as a file system may leave it after a power loss,
and starts the broker on that. A file that was replaced by truncating it is kept
whole, as ext4 does.
"""
import os
import re
import signal
import subprocess
import sys
import threading
import time

import raw

CALLS = "openat,write,pwrite64,writev,pwritev,fsync,fdatasync,sync_file_range,msync,rename,renameat,renameat2," \
        "sendto,sendmsg,sendfile"
LINE = re.compile(r'^(\d+) +[\d:.]+ (?:<\.\.\. )?(\w+)(.*)$')


def load(node, seconds):
    """Publishes 100 messages a second to one subscriber."""
    hears, speaks = raw.Client("hears", 1), raw.Client("speaks", 1)
    hears.subscribe("unsynced/#", 1)
    end, pid = time.time() + seconds, 0
    while time.time() < end and speaks.open:
        pid += 1
        speaks.publish("unsynced/topic", f"m{pid}", pid)
        time.sleep(0.01)
    time.sleep(1)
    raw.say(pid, "messages sent,", len(speaks.acks), "acknowledged,", len(hears.got), "delivered")


def serve(argv, log):
    """Runs the broker until it serves, or has ended."""
    broker = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    host, port = raw.NODES[0].rsplit(":", 1)
    for _ in range(600):
        try:
            raw.socket.create_connection((host, int(port)), 1).close()
            return broker
        except OSError:
            time.sleep(0.1)
        if broker.poll() is not None:
            return broker
    return broker


def end(p):
    """Kills a process and all it started, and waits until they are gone."""
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    try:
        while True:
            os.killpg(p.pid, 0)
            time.sleep(0.1)
    except ProcessLookupError:
        pass


def whole(path):
    """The calls in their order, each with where it began and what it answered."""
    started = {}
    for line in open(path, errors="replace"):
        m = LINE.match(line)
        if not m:
            continue
        thread, call, rest = m.groups()
        if rest.rstrip().endswith("<unfinished ...>"):
            started[thread, call] = rest
            continue
        if " resumed>" in rest:
            rest = started.pop((thread, call), "") + rest
        yield call, rest


class File:
    def __init__(self):
        self.size = self.synced = self.syncs = self.writes = 0
        self.replaced = False


def read(path, port):
    """The files of a trace, and the PUBACKs that left."""
    files, acks, at_ack = {}, 0, {}
    for call, rest in whole(path):
        result = re.search(r"= (-?\d+)", rest)
        if not result or int(result[1]) < 0:
            continue
        fd = re.match(r"\((\d+)<(TCP[^\]]*\]|[^>]*)>", rest)
        if call == "openat":
            name = re.search(r"= \d+<([^>]*)>", rest)
            if name and "O_TRUNC" in rest and name[1] in files and files[name[1]].size:
                files[name[1]].replaced, files[name[1]].size = True, 0
        elif call.startswith("rename"):
            names = re.findall(r'"([^"]*)"', rest)
            if len(names) == 2:
                old, new = (os.path.abspath(n) for n in names)
                if old in files:
                    files[new] = files.pop(old)
        elif fd and fd[2].startswith("TCP"):
            if '"@\\2' in rest and f":{port}->" in fd[2]:
                acks += 1
                at_ack = {n: (f.size, f.synced) for n, f in files.items()}
        elif fd and fd[2].startswith("/") and not fd[2].startswith(("/dev", "/proc", "/sys")):
            f = files.setdefault(fd[2], File())
            if call in ("fsync", "fdatasync", "sync_file_range", "msync"):
                f.synced, f.syncs = f.size, f.syncs + 1
            elif "write" in call:
                f.size, f.writes = f.size + int(result[1]), f.writes + 1
    return files, acks, at_ack


def main(broker, config, node):
    trace, log = "unsynced.strace", open("unsynced.log", "wb")
    run = [broker, "--conf=" + config]
    p = serve(["strace", "-f", "-tt", "-y", "-yy", "-s", "4", "-e", "trace=" + CALLS, "-e", "signal=none", "-o", trace] + run, log)
    if p.poll() is not None:
        sys.exit("the broker ended before it served; see unsynced.log")
    time.sleep(5)  # it takes connections a little before it serves
    load(node, 24)
    end(p)
    files, acks, at_ack = read(trace, node.rsplit(":", 1)[1])
    raw.say(acks, "PUBACKs in the trace; when the last one left:")
    for name, f in sorted(files.items()):
        size, synced = at_ack.get(name, (f.size, f.synced))
        if f.writes and os.path.exists(name) and not name.endswith("unsynced.log"):
            print(f"  {size:9} bytes written, {synced:9} of them synced, {f.syncs:3} syncs  {os.path.relpath(name)}")
    lost = [n for n, f in files.items() if f.writes and f.synced < f.size and not f.replaced
            and os.path.isfile(n) and not n.endswith(("unsynced.log", trace))]
    for name in lost:
        os.truncate(name, min(files[name].synced, os.path.getsize(name)))
    raw.say("cut", len(lost), "files back to what was synced; starting on what is left")
    p = serve(run, open("unsynced-again.log", "wb"))
    time.sleep(3)
    state = "exited with status %s" % p.poll() if p.poll() is not None else "serves"
    raw.say("the broker", state)
    os.system("grep -aE 'ERROR|last_log_id=|panicked' unsynced-again.log | cut -c1-300 | tail -8")
    if p.poll() is None:
        end(p)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 6):
        sys.exit(__doc__)
    raw.NODES, (raw.USER, raw.PASSWORD) = [sys.argv[3]], sys.argv[4:] or ("admin", "robustmq")
    main(*sys.argv[1:4])
