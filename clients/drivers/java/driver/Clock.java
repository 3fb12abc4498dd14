package driver;

import java.nio.file.Files;
import java.nio.file.Path;

/** The clock of the lines. */
final class Clock {
    private Clock() {}

    /**
     * Its name in the contract's words. On Linux the usual virtual machines read CLOCK_MONOTONIC, which since the
     * start of the machine has counted as long as /proc/uptime, but for the time that it was suspended.
     */
    static String name() {
        try {
            var uptime = Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ")[0]);
            return Math.abs(nanos() / 1e9 - uptime) < 1 ? "monotonic" : "process";
        } catch (Exception e) {
            return "process"; // not Linux
        }
    }

    static long nanos() {
        return System.nanoTime();
    }
}
