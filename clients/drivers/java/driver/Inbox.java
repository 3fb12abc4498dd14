package driver;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/**
 * Where messages of Eclipse Paho wait while the application does not consume. Its callback must not block for long: the
 * thread that reads blocks behind it, and with it the pings and the end of a connection. So while paused the callback
 * only queues, with the SDK's manual acknowledgement; else it delivers, and the SDK acknowledges when it returns.
 */
public final class Inbox {
    /** What an SDK does about acknowledgements. It is called by the thread of its callback, done by another. */
    public interface Acks {
        void manual(boolean on);

        void done(int id, int qos) throws Exception;

        /** Whether it has acknowledged such a message before its callback. */
        boolean early(int qos);
    }

    private static final class Item {
        final Message message;
        final Conn conn;

        Item(Message message, Conn conn) {
            this.message = message;
            this.conn = conn;
        }
    }

    private final Process process;
    private final Acks acks;
    private final Deque<Item> items = new ArrayDeque<>(); // the first stays until the application is done with it
    private Thread thread; // that empties it, while it is not empty

    public Inbox(Process process, Acks acks) {
        this.process = process;
        this.acks = acks;
    }

    /** The SDK's callback. */
    public void arrived(Message m, Conn conn) {
        synchronized (this) {
            var hold = process.isPaused() || !items.isEmpty();
            acks.manual(hold);
            if (hold) {
                if (m.qos == 2 && !acks.early(2)) {
                    // The broker asks again for the PUBCOMP, and the SDK calls back again until it is told.
                    items.removeIf(i -> i.message.id == m.id && Arrays.equals(i.message.payload, m.payload));
                }
                items.add(new Item(m, conn));
                if (thread == null) {
                    thread = new Thread(this::empty, "inbox " + process.client().clientID);
                    thread.setDaemon(true);
                    thread.start();
                }
                return;
            }
        }
        process.deliver(m, conn::isOver);
    }

    /** Waits until nothing is left. The process has ended. */
    public void end() {
        Wait.until(Dialing.WAIT_S * 1000, () -> {
            synchronized (this) {
                return thread == null;
            }
        });
    }

    private void empty() {
        while (true) {
            process.hold(() -> false);
            Item item;
            synchronized (this) {
                item = items.peek();
                if (item == null) {
                    thread = null;
                    return;
                }
            }
            handle(item);
            synchronized (this) {
                items.remove(item);
            }
        }
    }

    /**
     * Delivers a message, or drops it where the broker must send it again, and the SDK then calls back again: at the
     * end, or when its connection is over.
     */
    private void handle(Item item) {
        var m = item.message;
        var open = m.qos > 0 && !acks.early(m.qos);
        if (open && (process.ended || item.conn.isOver())) {
            return;
        }
        process.deliver(m, item.conn::isOver);
        if (!open || m.qos == 1 && item.conn.isOver()) {
            return;
        }
        try {
            acks.done((int) m.id, m.qos);
        } catch (Exception e) {
            System.err.println("driver: acknowledge " + m.id + ": " + Ack.words(e));
        }
    }
}
