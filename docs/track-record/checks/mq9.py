#!/usr/bin/env python3
"""What mq9 does, with nothing but sockets.

    mq9.py CHECK HOST:PORT [HOST:PORT HOST:PORT]

The ports are the NATS listeners' of the nodes. The exit status is 1 where the
check shows something wrong.

    ack     a normal, an urgent and a critical message, and one group that
            fetches one at a time and acknowledges each: are all three fetched?
    create  a mailbox that is made at every node at the same moment, 20 times:
            does it take a message and give it back, within 20 s?
    expiry  a mailbox with 15 s to live, which each node is asked for every 10 s:
            when is it gone?
    leader  six mailboxes with 50 messages each, which their replicas get 3 s to take. Then
            stop a node, and press Enter when it is down: once the others lead, what do
            they have by number, by priority, and for a new group? Each is sent one message
            more. At a second Enter, for when the node is back and leads again: the same.
"""
import json
import socket
import sys
import threading
import time

WAIT_S = 10


class Client:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), WAIT_S)
        self.text = b""
        self.asked = 0
        self.socket.sendall(b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"lang":"check","version":"1","protocol":1}\r\n')

    def line(self):
        while b"\r\n" not in self.text:
            self.more()
        line, self.text = self.text.split(b"\r\n", 1)
        return line

    def more(self):
        part = self.socket.recv(65536)
        if not part:
            sys.exit("the broker closed the connection")
        self.text += part

    def request(self, subject, payload, priority=None):
        """Answers the JSON that comes back."""
        self.asked += 1
        inbox = "_INBOX.check.%d" % self.asked
        out = "SUB %s %d\r\n" % (inbox, self.asked)
        if priority:
            header = "NATS/1.0\r\nmq9-priority: %s\r\n\r\n" % priority
            out += "HPUB %s %s %d %d\r\n%s%s\r\n" % (subject, inbox, len(header), len(header) + len(payload), header, payload)
        else:
            out += "PUB %s %s %d\r\n%s\r\n" % (subject, inbox, len(payload), payload)
        self.socket.sendall(out.encode())
        while True:
            words = self.line().decode().split()
            if words[0] == "PING":
                self.socket.sendall(b"PONG\r\n")
            elif words[0] == "-ERR":
                sys.exit("%s: %s" % (subject, " ".join(words)))
            elif words[0] in ("MSG", "HMSG"):
                size = int(words[-1])
                while len(self.text) < size + 2:
                    self.more()
                body, self.text = self.text[:size], self.text[size + 2:]
                if words[1] == inbox:
                    return json.loads(body)

    def create(self, mailbox, ttl):
        return self.request("$mq9.AI.MAILBOX.CREATE", json.dumps({"name": mailbox, "ttl": ttl}))

    def send(self, mailbox, payload, priority="normal"):
        return self.request("$mq9.AI.MSG.SEND." + mailbox, payload, priority)

    def fetch(self, mailbox, group, most=50):
        """Answers an error, or the messages as numbers and payloads."""
        answer = self.request("$mq9.AI.MSG.FETCH." + mailbox, json.dumps({
            "group_name": group, "deliver": "earliest", "config": {"num_msgs": most, "max_wait_ms": 200}}))
        return answer.get("error") or [(m["msg_id"], m["payload"]) for m in answer.get("messages", [])]

    def ack(self, mailbox, group, number):
        return self.request("$mq9.AI.MSG.ACK." + mailbox, json.dumps({
            "group_name": group, "mail_address": mailbox, "msg_id": number}))


def name():
    return "check.%d" % (time.time() * 1000)


def ack(nodes):
    client, mailbox, got = Client(nodes[0]), name(), []
    print("create", client.create(mailbox, 600))
    for priority in ("normal", "urgent", "critical"):
        print("send", priority, client.send(mailbox, priority, priority))
    for _ in range(6):
        messages = client.fetch(mailbox, "check", 1)
        print("fetch", messages)
        for number, text in messages:
            got.append(text)
            print("ack", number, client.ack(mailbox, "check", number))
    held = client.request("$mq9.AI.MSG.QUERY." + mailbox, "{}")
    print("query", held.get("error") or [(m["msg_id"], m["payload"]) for m in held.get("messages", [])])
    lost = [p for p in ("critical", "urgent", "normal") if p not in got]
    print("never fetched: %s" % ", ".join(lost) if lost else "all three were fetched")
    return bool(lost)


def create(nodes):
    broken = 0
    for turn in range(20):
        clients, mailbox, answers = [Client(n) for n in nodes], name(), {}
        together = threading.Barrier(len(clients))

        def make(i):
            together.wait()
            try:
                answers[i] = clients[i].create(mailbox, 600).get("error") or "made"
            except TimeoutError:
                answers[i] = "no answer in %d s" % WAIT_S

        threads = [threading.Thread(target=make, args=(i,)) for i in range(len(clients))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        wrong, end = {}, time.time() + 20
        for i, client in enumerate(clients):  # each node is to take one and to give one
            while time.time() < end:
                wrong[i] = client.send(mailbox, "x").get("error") or client.fetch(mailbox, "check-%d" % i)
                if isinstance(wrong[i], list) and wrong[i]:
                    del wrong[i]
                    break
                time.sleep(0.5)
        broken += bool(wrong)
        print("%2d" % turn, "BROKEN" if wrong else "well  ", answers, wrong or "", flush=True)
    print("%d of 20 mailboxes were of no use for 20 s" % broken)
    return bool(broken)


def expiry(nodes):
    clients, mailbox = [Client(n) for n in nodes], name()
    print("create", clients[0].create(mailbox, 15))
    print("send", clients[0].send(mailbox, "x"))
    began, seen = time.time(), 0
    while time.time() - began < 240:
        time.sleep(10)
        now = time.time() - began
        answers = [c.fetch(mailbox, "check-%d" % now) for c in clients]
        print("%4.0f s" % now, answers, flush=True)
        if any(isinstance(a, list) and a for a in answers):
            seen = now
        elif now > 90:
            break
    print("a message was fetched until %.0f s; the mailbox had 15 s to live" % seen)
    return seen > 90


def numbers(answer):
    """The first and the last number of the messages of an answer, and how many they are."""
    got = [m["msg_id"] for m in answer.get("messages", [])]
    return "%d to %d, %d" % (min(got), max(got), len(got)) if got else answer.get("error") or "none"


def asked(nodes, request):
    """What a node answers that does, within a minute."""
    end = time.time() + 60
    while True:
        for node in nodes:
            try:
                answer = request(Client(node))
                if not answer.get("error"):
                    return answer
            except (OSError, SystemExit) as e:
                answer = {"error": str(e)}
        if time.time() > end:
            return answer
        time.sleep(1)


def leader(nodes):
    boxes = []
    while len(boxes) < 6:
        client, box = Client(nodes[len(boxes) % len(nodes)]), name()
        try:
            client.create(box, 3600)
            if not any(client.send(box, "message %d" % i).get("error") for i in range(50)):
                boxes.append(box)
        except TimeoutError:
            print("%s is of no use" % box, flush=True)
    print("50 messages in each of %d mailboxes are acknowledged; 3 s for their replicas" % len(boxes), flush=True)
    time.sleep(3)
    missing = False
    for turn, held in ("before", 50), ("a node is down", 50), ("it is back", 51):
        if turn != "before":
            print("Enter, when %s" % turn, flush=True)
            sys.stdin.readline()
        for box in boxes:
            group = "check-" + turn.replace(" ", "-")
            query = lambda body: numbers(asked(nodes, lambda c: c.request("$mq9.AI.MSG.QUERY." + box, body)))
            fetched = numbers(asked(nodes, lambda c: c.request("$mq9.AI.MSG.FETCH." + box, json.dumps({
                "group_name": group, "deliver": "earliest", "config": {"num_msgs": 100, "max_wait_ms": 500}}))))
            missing |= not fetched.endswith(", %d" % held)
            print("%-16s %s  by number: %-14s by priority: %-14s a new group: %s" % (
                turn, box, query('{"since":0,"limit":100}'), query('{"limit":100}'), fetched), flush=True)
            if turn == "a node is down":
                asked(nodes, lambda c: c.send(box, "message 50"))
    return missing


CHECKS = {"ack": ack, "create": create, "expiry": expiry, "leader": leader}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    sys.exit(CHECKS[sys.argv[1]](sys.argv[2:]))
