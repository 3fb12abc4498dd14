package driver;

import java.util.function.BooleanSupplier;

/** Waiting that ends early. */
public final class Wait {
    static final long FOR_EVER_MS = Long.MAX_VALUE / 2_000_000; // added to a time in nanoseconds it is still in range
    static final long POLL_MS = 20; // how often a condition that nobody announces is looked at

    private Wait() {}

    /** Waits up to a time for a condition, and answers it. */
    public static boolean until(long ms, BooleanSupplier condition) {
        var deadline = System.nanoTime() + ms * 1_000_000;
        while (!condition.getAsBoolean()) {
            var left = deadline - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            sleep(Math.min(left, POLL_MS * 1_000_000));
        }
        return true;
    }

    /** Waits for notify on a monitor that is held, or for a time. */
    static void on(Object monitor, long ms) {
        try {
            monitor.wait(ms);
        } catch (InterruptedException e) {
            // The condition is looked at again.
        }
    }

    static void sleep(long nanos) {
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException e) {
            // The condition is looked at again.
        }
    }
}
