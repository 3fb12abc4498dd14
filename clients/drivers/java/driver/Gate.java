package driver;

import java.util.function.BooleanSupplier;

/** Open or shut; who waits at it passes when it opens or gives up. */
final class Gate {
    private boolean open;

    Gate(boolean open) {
        this.open = open;
    }

    synchronized boolean isOpen() {
        return open;
    }

    /** Opens it; true if it was shut. */
    synchronized boolean open() {
        var was = open;
        open = true;
        notifyAll();
        return !was;
    }

    /** Shuts it; true if it was open. */
    synchronized boolean shut() {
        var was = open;
        open = false;
        return was;
    }

    /** True once it is open, false if stop is true first. */
    synchronized boolean await(BooleanSupplier stop) {
        while (!open && !stop.getAsBoolean()) {
            Wait.on(this, Wait.POLL_MS);
        }
        return open;
    }
}
