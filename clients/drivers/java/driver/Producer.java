package driver;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Publishes a process's messages. */
final class Producer {
    private final Process process;
    private final Spec.Publish work;
    private final long[] next; // sequence number, per stream of work
    private final int window;
    private final Semaphore free; // places in the window
    private Thread thread; // null until started
    private volatile boolean stop;

    Producer(Process process, Spec.Publish work) {
        this.process = process;
        this.work = work;
        this.next = new long[work.streams.size()];
        this.window = process.client().window();
        this.free = new Semaphore(window);
    }

    /** Begins to publish, once. */
    synchronized void start() {
        if (thread == null && !stop) {
            thread = new Thread(this::run, "producer " + process.client().clientID);
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void run() {
        var pace = new Pace(work.ratePerS, work.firstMS);
        BooleanSupplier stopped = () -> stop;
        for (long n = 0; work.count == 0 || n < work.count; n++) {
            if (!pace.await(stopped) || !process.paused.await(stopped) || !process.online.await(stopped)
                    || !acquire(stopped)) {
                return;
            }
            pace.step();
            publish((int) (n % next.length), 'M', ack -> free.release());
        }
    }

    /** Takes a place in the window; false if stop is true first. */
    private boolean acquire(BooleanSupplier stopped) {
        while (!stopped.getAsBoolean()) {
            try {
                if (free.tryAcquire(Wait.POLL_MS, TimeUnit.MILLISECONDS)) {
                    return true;
                }
            } catch (InterruptedException e) {
                // Asked again.
            }
        }
        return false;
    }

    /** Publishes the next message of a stream. Its call is in the history before the SDK hears of it. */
    private void publish(int index, char kind, Consumer<Ack> then) {
        var s = work.streams.get(index);
        var seq = next[index]++;
        var client = process.client();
        var payload = Payload.encode(process.spec, client.process, s.number, seq, s.qos, kind, work.payloadBytes);
        var line = new Line("call").put("k", "publish").put("p", client.process)
                .put("s", s.number).put("n", seq).opt("q", s.qos).opt("end", kind == 'E');
        var call = new Call(process.lines, "publish", client.process, line, s, seq);
        call.then = then;
        process.session().publish(call, kind == 'E' ? s.ofMarker() : s, payload);
    }

    /**
     * Stops, waits for what is outstanding, and ends each stream with a marker that the broker acknowledged, all of it
     * as long as the specification allows.
     */
    void finish() {
        process.connect();
        Thread started;
        synchronized (this) {
            stop = true;
            started = thread;
        }
        if (started != null && !Wait.until(process.spec.ackWaitMS, () -> process.quit || !started.isAlive())
                || process.quit) {
            return; // the SDK still holds the last message: a marker would overtake it
        }
        var expired = deadline(process.spec.ackWaitMS);
        for (int i = 0; i < window && acquire(expired); i++) {
            // One place for each call that has returned.
        }
        expired = deadline(process.spec.ackWaitMS);
        for (int i = 0; i < next.length; i++) {
            while (!work.streams.get(i).unmarked && !mark(i, expired)) {
                if (Wait.until(Math.max(process.client().reconnectMS, 10), expired)) {
                    return;
                }
            }
        }
    }

    private BooleanSupplier deadline(long ms) {
        var end = System.nanoTime() + ms * 1_000_000;
        return () -> process.quit || System.nanoTime() > end;
    }

    /**
     * Publishes one end marker and waits for its acknowledgement. False where the outcome is another: the stream goes
     * on by one more marker.
     */
    private boolean mark(int index, BooleanSupplier expired) {
        var acked = new CompletableFuture<Ack>();
        var handing = new Thread(() -> publish(index, 'E', acked::complete), "marker");
        handing.setDaemon(true);
        handing.start();
        while (!expired.getAsBoolean()) {
            Wait.until(Wait.POLL_MS, () -> acked.isDone() && !handing.isAlive()); // two are never handed over at once
            if (acked.isDone() && !handing.isAlive()) {
                return acked.join().isOk();
            }
        }
        return false;
    }
}
