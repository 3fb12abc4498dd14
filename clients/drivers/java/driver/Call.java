package driver;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A call that is in the history and has not returned yet. */
public final class Call {
    private final String kind;
    private final int process;
    private final long number;
    private final Lines lines;
    private final Spec.Stream stream; // of a publish
    private final long seq;
    private final AtomicBoolean returned = new AtomicBoolean();
    private final AtomicBoolean told = new AtomicBoolean();
    volatile Consumer<Ack> then; // after the return line; may be null

    Call(Lines lines, String kind, int process, Line line) {
        this(lines, kind, process, line, null, 0);
    }

    Call(Lines lines, String kind, int process, Line line, Spec.Stream stream, long seq) {
        this.lines = lines;
        this.kind = kind;
        this.process = process;
        this.stream = stream;
        this.seq = seq;
        this.number = lines.call(line);
    }

    /** Writes the return of the call. Only the first counts. */
    public void returns(Ack a) {
        returns(a, false, null);
    }

    void returns(Ack a, boolean sessionPresent, Message read) {
        if (returned.getAndSet(true)) {
            return;
        }
        var line = new Line("return").put("k", kind).put("p", process).put("c", number).put("o", a.outcome)
                .opt("r", a.reason).id(a.id).opt("sp", sessionPresent).opt("x", a.text);
        if (read != null) {
            read.describe(line);
        }
        lines.write(line);
        var next = then;
        if (next != null) {
            next.accept(a);
        }
    }

    /** Writes what the SDK's own interface tells of the publish, once. error is null for success. */
    public void told(Throwable error) {
        if (told.getAndSet(true)) {
            return;
        }
        lines.write(new Line("point").put("k", "told").put("p", process).put("s", stream.number).put("n", seq)
                .put("o", error == null ? Ack.OK : Ack.FAIL).opt("x", error == null ? "" : Ack.words(error)));
    }

    public boolean hasReturned() {
        return returned.get();
    }
}
