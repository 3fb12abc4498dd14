package driver;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Which call each message is of that Eclipse Paho has stored. It stores a message of QoS 1 or 2 inside of publish, and
 * deletes it when PUBACK or PUBCOMP arrives; besides, publish deletes what it could not take, and a clean session all.
 */
public final class Ledger {
    private static final String SENT = "s-"; // how the SDK names what it sent, before the packet id

    private Call next; // of the publish that is being handed over
    private Thread publisher; // that hands it over
    private final Map<String, Call> stored = new HashMap<>();
    private final Set<Call> acked = new HashSet<>(); // of which the SDK has not told yet

    /** Says whose message is stored next, by this thread. */
    public synchronized void expect(Call call) {
        next = call;
        publisher = Thread.currentThread();
    }

    /** The publish has returned. */
    public synchronized void handed() {
        next = null;
        publisher = null;
    }

    /** The SDK stores a message. */
    public synchronized void put(String key) {
        if (key.startsWith(SENT) && next != null && Thread.currentThread() == publisher) {
            stored.put(key, next);
            next = null;
        }
    }

    /** The SDK deletes a message. */
    public synchronized void remove(String key) {
        var call = stored.remove(key);
        if (call != null && Thread.currentThread() != publisher) {
            acked.add(call);
        }
    }

    /** The SDK deletes all messages. */
    public void clear() {
        Map<String, Call> lost;
        synchronized (this) {
            lost = new HashMap<>(stored);
            stored.clear();
            notifyAll();
        }
        lost.values().forEach(call -> call.returns(Ack.unknown("the SDK gave it up with its clean session")));
    }

    /** Whether the broker acknowledged, asked when the SDK tells so; once. */
    public synchronized boolean acknowledged(Call call) {
        notifyAll();
        return acked.remove(call);
    }

    /** Waits until the SDK told of one more, or nothing is in flight: then it is false. */
    public synchronized boolean awaitOne() {
        if (stored.isEmpty() && acked.isEmpty()) {
            return false;
        }
        Wait.on(this, Wait.POLL_MS);
        return true;
    }
}
