package driver;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Reads registers: one clean session after the other, and in each what is retained on one topic after the other. */
final class Reader implements Session {
    private final Process parent;
    private volatile boolean stop;
    private Thread thread;

    Reader(Process parent) {
        this.parent = parent;
    }

    @Override
    public void connect() {
        stop = false;
        thread = new Thread(this::run, "reader " + parent.client().clientID);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void disconnect() {
        stop = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public Ack subscribe(String filter, int qos) {
        return Ack.failed("a reader of registers");
    }

    @Override
    public void publish(Call call, Spec.Stream stream, byte[] payload) {
        call.returns(Ack.failed("a reader of registers"));
    }

    private void run() {
        while (!stop && parent.hold(() -> stop)) {
            round();
            Wait.until(parent.client().registers.everyMS, () -> stop);
        }
    }

    /** Reads every register once. */
    private void round() {
        var ready = new ArrayBlockingQueue<Conn>(1);
        var messages = new LinkedBlockingQueue<Message>(); // none that is retained is dropped, however many others come with it
        Process process;
        try {
            process = new Process(parent.sdk, parent.spec, parent.client().idle(), parent.lines);
        } catch (Exception e) {
            System.err.println("driver: " + Ack.words(e));
            return;
        }
        process.onReady = ready::offer; // the round ends with the first connection
        process.onMessage = m -> {
            if (m.retain) {
                messages.add(m);
            }
        };
        process.session().connect();
        Wait.until(Wait.FOR_EVER_MS, () -> stop || !ready.isEmpty());
        var conn = ready.peek();
        if (conn != null) {
            for (var topic : parent.client().registers.topics) {
                if (!fetch(process, conn, topic, messages)) {
                    break;
                }
            }
        }
        process.ended = true;
        process.session().disconnect();
        process.session().end();
    }

    /** Reads one register. False when the session is of no more use. */
    private boolean fetch(Process process, Conn conn, String topic, BlockingQueue<Message> messages) {
        var call = process.call("fetch", new Line("call").put("x", topic));
        var ack = process.session().subscribe(topic, 1);
        if (!ack.isOk()) {
            call.returns(ack);
            return false;
        }
        var deadline = System.nanoTime() + parent.client().registers.waitMS * 1_000_000L;
        while (!stop && !conn.isOver()) {
            var m = poll(messages);
            if (m != null && m.retain && m.topic.equals(topic)) {
                call.returns(Ack.ok(0, 0), false, m);
                return true;
            }
            if (m == null && System.nanoTime() > deadline) {
                call.returns(Ack.ok(0, 0));
                return true;
            }
        }
        call.returns(Ack.unknown(stop ? "the process has ended" : "connection lost while reading " + topic));
        return false;
    }

    private static Message poll(BlockingQueue<Message> messages) {
        try {
            return messages.poll(Wait.POLL_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            return null;
        }
    }
}
