import driver.Ack;
import driver.Conn;
import driver.Process;
import io.nats.client.Connection;
import io.nats.client.ConnectionListener;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.impl.Headers;
import io.nats.client.impl.NatsServerPool;
import io.nats.client.support.JsonSerializable;
import io.nats.client.support.JsonValue;
import io.nats.client.support.NatsUri;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** From a connect to a disconnect: what the SDK keeps connected meanwhile, and who fetches on it. */
final class Link implements ConnectionListener {
    static final int WAIT_S = 5; // for an attempt to connect, and for a reply

    private final Process process;
    private final Thread opening;
    private final Thread consuming;
    private volatile boolean closed;
    private volatile Conn conn; // the last one
    private volatile String endpoint; // the SDK's choice
    private volatile Connection nats; // null until it is connected for the first time
    private volatile Inboxes inboxes; // likewise; set after it

    Link(Process process, List<String> filters) {
        this.process = process;
        opening = new Thread(this::connect, "connect " + process.client().clientID);
        consuming = new Thread(new Consumer(process, this, filters), "consume " + process.client().clientID);
    }

    void open() {
        for (var thread : List.of(opening, consuming)) {
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Returns when it is connected: the SDK cannot be stopped before, but by having no server to try. */
    private void connect() {
        var client = process.client();
        var retry = Duration.ofMillis(Math.max(client.reconnectMS, 1));
        var options = Options.builder().connectionName(client.clientID).servers(client.endpoints.toArray(String[]::new))
                .serverPool(new Servers()).noRandomize().noResolveHostnames().ignoreDiscoveredServers()
                .connectionTimeout(Duration.ofSeconds(WAIT_S)).pingInterval(Duration.ofSeconds(Math.max(client.keepAliveS, 1)))
                .maxReconnects(-1).reconnectDelayHandler(rounds -> closed ? Duration.ZERO : retry)
                .dataPortType(Port.class.getName()).connectionListener(this).build();
        try {
            var made = Nats.connectReconnectOnConnect(options);
            if (closed) {
                made.close();
            }
        } catch (Exception e) {
            if (!closed) {
                System.err.println("driver: connect: " + Ack.words(e));
            }
        }
    }

    /** The servers of the specification, of which it sees what is tried. */
    private final class Servers extends NatsServerPool {
        @Override
        public NatsUri peekNextServer() {
            return closed ? null : super.peekNextServer();
        }

        @Override
        public NatsUri nextServer() {
            if (closed) {
                return null;
            }
            var next = super.nextServer();
            endpoint = next.getHost() + ":" + next.getPort();
            return next;
        }

        @Override
        public void connectFailed(NatsUri uri) {
            super.connectFailed(uri);
            conn.over(Ack.failed("no connection")); // unless its port knew more
        }
    }

    /** An attempt to connect begins. */
    synchronized Conn dial() {
        if (closed) {
            throw new IllegalStateException("closed by the client");
        }
        return conn = process.dial(endpoint);
    }

    @Override
    public void connectionEvent(Connection nats, Events type) {
        var last = conn;
        if (closed || nats.getStatus() != Connection.Status.CONNECTED) {
            return;
        }
        if (inboxes == null) {
            this.nats = nats;
            inboxes = new Inboxes(nats);
        }
        last.connected(false);
    }

    Conn conn() {
        return conn;
    }

    /** Whether the SDK takes requests: from its first connection on. */
    boolean isOpen() {
        return inboxes != null && !closed;
    }

    CompletableFuture<JsonValue> request(String subject, Headers headers, byte[] data) {
        if (!isOpen()) {
            return CompletableFuture.failedFuture(new Inboxes.NotSent("not connected"));
        }
        return inboxes.request(subject, headers, data);
    }

    /** Makes a request of JSON and waits for the reply. */
    JsonValue ask(String subject, JsonSerializable fields) throws Exception {
        return request(subject, null, fields.toJson().getBytes(StandardCharsets.UTF_8)).get();
    }

    boolean isClosed() {
        return closed;
    }

    void close() {
        synchronized (this) {
            closed = true;
        }
        consuming.interrupt();
        try {
            if (nats != null) {
                nats.close();
            }
            consuming.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (conn != null) {
            conn.over("closed by the client");
        }
    }
}
