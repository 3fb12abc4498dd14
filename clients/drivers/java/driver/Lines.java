package driver;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Writes lines. A line is in the pipe when write returns, and so survives the end of this process: a
 * FileOutputStream has no buffer.
 */
final class Lines {
    private final OutputStream out = new FileOutputStream(FileDescriptor.out);
    private long written;
    private long calls;
    private boolean ended; // bye is written

    /** Writes a line with the time that it is written. */
    synchronized void write(Line line) {
        if (ended) {
            return;
        }
        try {
            out.write(line.at(Clock.nanos()));
        } catch (IOException e) {
            Runtime.getRuntime().halt(1); // nobody reads any more
        }
        written++;
    }

    /** Writes the line of a call and answers the number it gave the call. */
    synchronized long call(Line line) {
        write(line.put("c", ++calls));
        return calls;
    }

    /** Writes the last line. What an SDK says after it is not heard. */
    synchronized void bye() {
        write(new Line("bye").put("lines", written));
        ended = true;
    }
}
