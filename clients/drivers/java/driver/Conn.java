package driver;

import java.util.function.BooleanSupplier;

/**
 * One attempt to connect and, where it succeeds, the connection. Each step is written down once, whoever reports it and
 * however often: SDKs report some twice.
 */
public final class Conn {
    private enum State { DIALING, UP, OVER }

    private final Process process;
    private final Call call;
    private State state = State.DIALING;
    private boolean present;

    Conn(Process process, String endpoint) {
        this.process = process;
        this.call = process.call("connect", new Line("call").put("a", endpoint));
    }

    /** CONNACK said yes. False where that comes too late to be true. */
    public synchronized boolean connected(boolean sessionPresent) {
        if (state != State.DIALING) {
            return false;
        }
        state = State.UP;
        present = sessionPresent;
        call.returns(Ack.ok(0, 0), sessionPresent, null);
        notifyAll();
        process.connected(this);
        return true;
    }

    /** There is no connection, or not any more. why is for a disconnect line. */
    public void over(String why) {
        over(Ack.unknown(why));
    }

    /** There is no connection, or not any more. ack is how the connect went, if it had not returned. */
    public synchronized void over(Ack ack) {
        if (state == State.DIALING) {
            call.returns(ack);
        } else if (state == State.UP) {
            process.point("disconnect", ack.text);
        }
        state = State.OVER;
        notifyAll();
    }

    public boolean sessionPresent() {
        return present;
    }

    public synchronized boolean isUp() {
        return state == State.UP;
    }

    public synchronized boolean isOver() {
        return state == State.OVER;
    }

    /** Waits until it is known whether there is a connection, or for a time. */
    synchronized boolean awaitSettled(long ms, BooleanSupplier stop) {
        var deadline = System.nanoTime() + ms * 1_000_000;
        while (state == State.DIALING && !stop.getAsBoolean() && System.nanoTime() < deadline) {
            Wait.on(this, Wait.POLL_MS);
        }
        return state != State.DIALING;
    }

    /** Waits until there is no connection. */
    synchronized void awaitOver() {
        while (state != State.OVER) {
            Wait.on(this, 0);
        }
    }
}
