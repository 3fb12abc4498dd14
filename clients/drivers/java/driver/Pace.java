package driver;

import java.util.function.BooleanSupplier;

/** Spaces messages evenly. */
final class Pace {
    // How much of a delay it makes up for. What a stall kept from being sent for longer is not sent in a burst.
    private static final long CATCH_UP = 100_000_000; // nanoseconds

    private final long interval; // nanoseconds; 0 does not wait
    private long next;

    Pace(double perSecond, long firstMS) {
        interval = perSecond <= 0 ? 0 : (long) (1e9 / perSecond);
        next = System.nanoTime() + firstMS * 1_000_000;
    }

    /** True when the next message is due, false if stop is true first. */
    boolean await(BooleanSupplier stop) {
        for (long left; (left = next - System.nanoTime()) > 0 && !stop.getAsBoolean();) {
            Wait.sleep(Math.min(left, Wait.POLL_MS * 1_000_000));
        }
        return !stop.getAsBoolean();
    }

    /** Is called when the message goes that was due. */
    void step() {
        var late = System.nanoTime() - next;
        if (late > CATCH_UP && interval > 0) {
            next += late - late % interval;
        }
        next += interval;
    }
}
