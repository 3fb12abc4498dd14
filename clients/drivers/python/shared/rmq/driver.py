"""What the drivers of Python SDKs share: the specification and the commands,
the lines, the payloads, the pace, the bookkeeping. clients/CONTRACT.md says
what a driver does. An SDK adds a session.Session and calls main."""

import json
import os
import sys
import threading
import traceback

from rmq.lines import LINES, SHARED_CLOCK, Writer
from rmq.process import Process

CONTRACT = 1
OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the folder of the driver


def read_spec(sdk):
    line = sys.stdin.readline()
    if not line:
        sys.exit("driver: no specification on stdin; the driver is started by rmq-mcp")
    spec = json.loads(line)
    if spec.get("contract") != CONTRACT:
        sys.exit("driver: specification of contract %r, this driver speaks %d" % (spec.get("contract"), CONTRACT))
    for c in spec["clients"]:
        protocol, transport = c["protocol"], c.get("transport") or "tcp"
        if protocol not in sdk.protocols or transport not in sdk.transports:
            sys.exit("driver: client %d wants %s over %s; %s %s speaks %s over %s" % (
                c["process"], protocol, transport, sdk.name, sdk.version,
                ", ".join(sdk.protocols), ", ".join(sdk.transports)))
    return spec


def read_commands(processes):
    for line in sys.stdin:
        command = json.loads(line)
        for p in processes:
            if command.get("process", -1) in (-1, p.id):
                p.commands.put(command["do"])
    for p in processes:
        p.quit.set()
        p.commands.put("abandon")


def crash(kind, error, trace):
    """A thread that died, ours or the SDK's, is a driver that died: by a failure of
    its own where the error came out of our code, and not out of a package's."""
    sys.__excepthook__(kind, error, trace)
    sys.stderr.flush()
    if kind is KeyboardInterrupt:
        return  # a signal ends it
    for file in reversed([frame.f_code.co_filename for frame, _ in traceback.walk_tb(trace)]):
        if "site-packages" in file:
            break
        if file.startswith(OURS + os.sep):
            os._exit(70)
    os._exit(2)


def main(sdk):
    sys.excepthook = crash
    threading.excepthook = lambda args: crash(args.exc_type, args.exc_value, args.exc_traceback)
    spec = read_spec(sdk)
    w = Writer(LINES)
    w.write("hello", p=0, contract=CONTRACT, sdk=sdk.name, version=sdk.version,
            clock="monotonic" if SHARED_CLOCK else "process", dedupes=sdk.dedupes, cannot=sdk.cannot)
    processes = [Process(sdk, spec, c, w) for c in spec["clients"]]
    threads = [threading.Thread(target=p.run, daemon=True) for p in processes]
    for p, thread in zip(processes, threads):
        if p.c.get("start") != "waiting":
            p.commands.put("connect")
        thread.start()
    threading.Thread(target=read_commands, args=(processes,), daemon=True).start()
    for thread in threads:
        thread.join()
    w.bye()
    sys.stderr.flush()
    os._exit(0)  # daemon threads of the SDK may still be around
