package driver;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** One client of the specification: what its SDK's session tells of it becomes lines. */
public final class Process {
    final Sdk sdk;
    final Spec spec;
    final Lines lines;
    final Gate paused = new Gate(true); // shut between pause and resume
    final Gate online = new Gate(false); // shut while it is to be disconnected
    volatile boolean quit; // stdin has ended: nothing is worth waiting for
    volatile boolean ended; // or about to: nothing is held back any more
    Consumer<Conn> onReady; // instead of subscribing and producing, where set
    Consumer<Message> onMessage; // instead of a delivery line, where set

    private final Spec.Client client;
    private final Session session;
    private final Producer producer; // null for who publishes nothing
    private boolean finished; // publishing
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    private final Set<Spec.Filter> subscribed = new HashSet<>(); // acknowledged ones

    Process(Sdk sdk, Spec spec, Spec.Client client, Lines lines) throws Exception {
        this.sdk = sdk;
        this.spec = spec;
        this.client = client;
        this.lines = lines;
        var publishes = client.publish != null && !client.publish.streams.isEmpty();
        producer = publishes ? new Producer(this, client.publish) : null;
        session = client.registers != null ? new Reader(this) : sdk.open(this);
    }

    public Spec.Client client() {
        return client;
    }

    Session session() {
        return session;
    }

    /** Queues a command. */
    void command(String command) {
        if (command.equals("abandon")) {
            quit = true;
        }
        commands.add(command);
    }

    /** Carries out commands until the end. */
    void run() {
        while (true) {
            String command;
            try {
                command = commands.take();
            } catch (InterruptedException e) {
                continue;
            }
            switch (command) {
                case "connect":
                    connect();
                    break;
                case "disconnect":
                    disconnect();
                    break;
                case "reconnect":
                    disconnect();
                    connect();
                    break;
                case "pause":
                    if (paused.shut()) {
                        point("pause", "");
                    }
                    break;
                case "resume":
                    if (paused.open()) {
                        point("resume", "");
                    }
                    break;
                case "finish":
                    finish();
                    break;
                case "end":
                    finish();
                    end();
                    return;
                case "abandon":
                    end();
                    return;
                default:
                    System.err.println("driver: no command \"" + command + "\" in the contract");
            }
        }
    }

    void connect() {
        if (online.open()) {
            session.connect();
        }
    }

    private void disconnect() {
        if (online.shut()) {
            session.disconnect();
        }
    }

    /** Ends the publishing, once. */
    private void finish() {
        if (producer != null && !finished) {
            finished = true;
            producer.finish();
        }
    }

    private void end() {
        ended = true;
        disconnect();
        session.end();
    }

    /** Writes the call of a connect. */
    public Conn dial(String endpoint) {
        return new Conn(this, endpoint);
    }

    public boolean isEnded() {
        return ended;
    }

    /** A connection is ready for use. */
    void connected(Conn conn) {
        if (onReady != null) {
            onReady.accept(conn);
            return;
        }
        var thread = new Thread(() -> {
            subscribe(conn);
            if (producer != null) {
                producer.start();
            }
        }, "ready " + client.clientID);
        thread.setDaemon(true);
        thread.start();
    }

    /** Subscribes to what the session cannot have: all where the broker did not keep it, else what was never acknowledged. */
    private void subscribe(Conn conn) {
        synchronized (subscribed) {
            if (!conn.sessionPresent()) {
                subscribed.clear();
            }
            for (var f : client.subscribe) {
                if (conn.isOver() || subscribed.contains(f)) {
                    continue;
                }
                var call = call("subscribe", new Line("call").opt("q", f.qos).put("x", f.filter));
                var ack = session.subscribe(f.filter, f.qos);
                if (ack.isOk()) {
                    subscribed.add(f);
                }
                call.returns(ack);
            }
        }
    }

    public boolean isPaused() {
        return !paused.isOpen();
    }

    /** Waits until the process is not paused. False if it ends first, or stop is true. */
    public boolean hold(BooleanSupplier stop) {
        return paused.await(() -> ended || stop.getAsBoolean());
    }

    /** Waits until the session's last connection is one. False if the process ends first. */
    public boolean awaitUp(Supplier<Conn> last) {
        return Wait.until(Wait.FOR_EVER_MS, () -> ended || last.get() != null && last.get().isUp()) && !ended;
    }

    /** The application's callback for a message: it writes it down and takes as long as the specification says. */
    public void deliver(Message m, BooleanSupplier stop) {
        if (onMessage != null) {
            onMessage.accept(m);
            return;
        }
        var line = new Line("point").put("k", "deliver").put("p", client.process).opt("x", m.topic);
        m.describe(line);
        lines.write(line);
        if (client.delayMS > 0) {
            Wait.until(client.delayMS, () -> ended || stop.getAsBoolean());
        }
    }

    /** Writes down that a mailbox is asked for messages, which is done next. It returns with their number as its id. */
    public Call fetching(String mailbox) {
        return call("fetch", new Line("call").put("x", mailbox));
    }

    /** Writes down that a broker of mq9 took a consumer's acknowledgement of a message. */
    public void acknowledged(long id) {
        lines.write(new Line("point").put("k", "ack").put("p", client.process).put("i", id));
    }

    /** Writes a line for the log file. */
    public void log(String text) {
        lines.write(new Line("log").put("p", client.process).put("x", text));
    }

    /** Writes a call, with what is known of it. */
    Call call(String kind, Line line) {
        return new Call(lines, kind, client.process, line.put("k", kind).put("p", client.process));
    }

    void point(String kind, String text) {
        lines.write(new Line("point").put("k", kind).put("p", client.process).opt("x", text));
    }
}
