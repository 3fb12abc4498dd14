package driver;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * What the drivers of Java SDKs share: the specification and the commands, the lines, the payloads, the pace, the
 * bookkeeping. What an SDK adds is a {@link Session}. The contract is in clients/CONTRACT.md.
 */
public final class Driver {
    private static final int OWN_FAILURE = 70; // exit status

    private Driver() {}

    /** Reads a specification and commands from stdin and writes lines to stdout until all its clients have ended. */
    public static void main(Sdk sdk) {
        Thread.setDefaultUncaughtExceptionHandler(Driver::uncaught);
        System.setOut(System.err); // SDKs print; descriptor 1 is for lines only
        Logger.getLogger("").setLevel(Level.WARNING); // mqttv5 tells of every PUBREL
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            var line = input.readLine();
            if (line == null) {
                throw new IllegalArgumentException("no specification; the driver is started by rmq-mcp");
            }
            run(sdk, Spec.read(line, sdk), input);
        } catch (Exception e) {
            System.err.println("driver: " + Ack.words(e));
            Runtime.getRuntime().halt(ours(e) ? OWN_FAILURE : 1);
        }
        Runtime.getRuntime().halt(0); // SDKs leave threads
    }

    /** A thread that died of our own code is a driver that died. One of the SDK is the SDK's. */
    private static void uncaught(Thread thread, Throwable e) {
        System.err.print("Exception in thread \"" + thread.getName() + "\" ");
        e.printStackTrace();
        if (ours(e)) {
            Runtime.getRuntime().halt(OWN_FAILURE);
        }
    }

    /** Whether an error began in our own code: the first of its frames that is not in the JDK is not in an SDK. */
    private static boolean ours(Throwable e) {
        if (e.getCause() != null) {
            return ours(e.getCause());
        }
        for (var frame : e.getStackTrace()) {
            if (frame.getModuleName() == null) {
                var name = frame.getClassName();
                return name.startsWith("driver.") || !name.contains("."); // an SDK's part of the driver is in no package
            }
        }
        return false;
    }

    private static void run(Sdk sdk, Spec spec, BufferedReader input) throws Exception {
        var lines = new Lines();
        lines.write(new Line("hello").put("contract", Spec.CONTRACT).put("sdk", sdk.name())
                .put("version", sdk.version()).put("clock", Clock.name()).put("cannot", sdk.cannot())
                .put("dedupes", sdk.dedupes()));
        var processes = new ArrayList<Process>();
        var threads = new ArrayList<Thread>();
        for (var client : spec.clients) {
            var process = new Process(sdk, spec, client, lines);
            processes.add(process);
            threads.add(new Thread(process::run, "process " + client.process));
            if (!client.waits) {
                process.command("connect");
            }
        }
        threads.forEach(Thread::start);
        var reader = new Thread(() -> commands(input, processes), "commands");
        reader.setDaemon(true);
        reader.start();
        for (var thread : threads) {
            thread.join();
        }
        lines.bye();
    }

    /** Hands each command to its processes. The end of stdin ends all. */
    private static void commands(BufferedReader input, List<Process> processes) {
        while (true) {
            String line;
            try {
                line = input.readLine();
            } catch (IOException e) {
                line = null;
            }
            if (line == null) {
                processes.forEach(p -> p.command("abandon"));
                return;
            }
            try {
                var command = Json.object(line);
                var to = Spec.number(command, "process");
                for (var p : processes) {
                    if (to == -1 || to == p.client().process) {
                        p.command(Spec.string(command, "do"));
                    }
                }
            } catch (RuntimeException e) {
                System.err.println("driver: command " + line + ": " + e);
            }
        }
    }
}
