package driver;

/**
 * A session that keeps itself connected by trying one endpoint after the other, for SDKs whose own reconnecting is
 * too slow for the specification or says nothing of its attempts.
 */
public abstract class Dialing implements Session {
    protected static final int WAIT_S = 5; // for a connection, a CONNACK, a SUBACK
    private static final long CLOSE_MS = 2000; // a broker that is frozen reads no DISCONNECT

    protected final Process process;
    protected final Spec.Client client;
    private final Object monitor = new Object();
    private volatile boolean wanted;
    private volatile Conn conn; // the last one
    private volatile Thread loop;

    protected Dialing(Process process) {
        this.process = process;
        this.client = process.client();
    }

    /** Begins to connect; conn is to be told how that goes. */
    protected abstract void open(String endpoint, Conn conn) throws Exception;

    /** Begins to close the connection in order; conn is to be told when it is. */
    protected abstract void close(Conn conn) throws Exception;

    /** Closes the connection, or what was to be one, at once. */
    protected abstract void cut();

    /** The last connection, which may be over. */
    protected final Conn conn() {
        return conn;
    }

    protected final boolean isWanted() {
        return wanted;
    }

    @Override
    public final void connect() {
        wanted = true;
        loop = new Thread(this::stayConnected, "dialing " + client.clientID);
        loop.setDaemon(true);
        loop.start();
    }

    @Override
    public final void disconnect() {
        wanted = false;
        synchronized (monitor) {
            monitor.notifyAll();
        }
        var last = conn;
        if (last != null && last.isUp()) {
            try {
                close(last);
            } catch (Exception e) {
                last.over(Ack.words(e));
            }
            Wait.until(CLOSE_MS, last::isOver);
        }
        cut();
        if (last != null && !Wait.until(CLOSE_MS, last::isOver)) {
            last.over("closed by the client; the SDK did not say so");
        }
        try {
            loop.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void stayConnected() {
        while (wanted) {
            for (var endpoint : client.endpoints) {
                if (!wanted || serve(endpoint)) {
                    break;
                }
            }
            synchronized (monitor) {
                if (wanted && client.reconnectMS > 0) {
                    Wait.on(monitor, client.reconnectMS);
                }
            }
        }
    }

    /** Connects and waits for the end of the connection. False where there was none. */
    private boolean serve(String endpoint) {
        var attempt = process.dial(endpoint);
        conn = attempt;
        try {
            open(endpoint, attempt);
        } catch (Exception e) {
            attempt.over(Ack.failed(Ack.words(e)));
        }
        if (!attempt.awaitSettled(2 * WAIT_S * 1000, () -> !wanted)) {
            cut();
            if (!attempt.awaitSettled(WAIT_S * 1000, () -> false)) {
                attempt.over("the SDK did not say how it went");
            }
        }
        var served = attempt.isUp();
        if (served && !wanted) {
            cut(); // disconnect came between the two and did not see it
        }
        attempt.awaitOver();
        return served;
    }
}
