import driver.Ack;
import driver.Call;
import driver.Driver;
import driver.Process;
import driver.Sdk;
import driver.Session;
import driver.Spec;
import driver.Wait;
import io.nats.client.Nats;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonValueUtils;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Drives jnats as a client of mq9. Its own request listens on a wildcard inbox, which a broker of mq9 does not find; so
 * replies come to inboxes that are subscribed to literally.
 *
 * <p>The acknowledgement of a publish is the reply to its send. While the connection is lost the SDK keeps what is
 * published, up to 8 MB, and sends it on the next one; what it had handed to the old one it does not repeat.
 */
public final class Main implements Session {
    private static final int ATTEMPTS = 3; // at a request that is the same however often it is made

    private static final class Jnats implements Sdk {
        @Override
        public String name() {
            return "jnats";
        }

        @Override
        public Class<?> from() {
            return Nats.class;
        }

        @Override
        public List<String> protocols() {
            return List.of("mq9");
        }

        @Override
        public boolean dedupes() {
            return false;
        }

        @Override
        public List<String> cannot() {
            return List.of("session_present", "granted_qos", "told");
        }

        @Override
        public Session open(Process process) {
            return new Main(process);
        }
    }

    private final Process process;
    private final List<String> filters = new CopyOnWriteArrayList<>(); // of the mailboxes that it fetches from
    private volatile Link link; // the last one

    private Main(Process process) {
        this.process = process;
    }

    public static void main(String[] args) {
        Driver.main(new Jnats());
    }

    @Override
    public void connect() {
        link = new Link(process, filters);
        link.open();
    }

    @Override
    public void disconnect() {
        link.close();
    }

    /** Makes the mailbox, unless it is there, and goes on to fetch from it. */
    @Override
    public Ack subscribe(String filter, int qos) {
        var error = "";
        var fields = JsonValueUtils.mapBuilder().put("name", process.client().reading(filter).mailbox);
        if (process.client().ttlS(filter) > 0) {
            fields.put("ttl", process.client().ttlS(filter));
        }
        for (var attempt = 1; ; attempt++) {
            try {
                error = Inboxes.error(link.ask("MAILBOX.CREATE", fields));
                break;
            } catch (Exception e) {
                if (attempt == ATTEMPTS) {
                    return Ack.unknown(Ack.words(e));
                }
            }
        }
        if (!error.isEmpty() && !error.contains("already exists")) {
            return Ack.failed(error);
        }
        if (!filters.contains(filter)) {
            filters.add(filter);
        }
        return Ack.ok(0, 0);
    }

    /** Sends a message. The reply says under which id it is kept. The SDK takes messages once it has been connected. */
    @Override
    public void publish(Call call, Spec.Stream stream, byte[] payload) {
        if (!Wait.until(Long.MAX_VALUE / 2_000_000, () -> process.isEnded() || link.isOpen())
                || process.isEnded()) {
            call.returns(Ack.failed("never sent: the session was closed"));
            return;
        }
        var headers = new Headers();
        if (!stream.priority.isEmpty()) {
            headers.put("mq9-priority", stream.priority);
        }
        if (stream.ttlS > 0) {
            headers.put("mq9-ttl", String.valueOf(stream.ttlS));
        }
        link.request("MSG.SEND." + stream.topic, headers.isEmpty() ? null : headers, payload).whenComplete((reply, error) -> {
            if (error instanceof Inboxes.NotSent) {
                call.returns(Ack.failed(error.getMessage()));
            } else if (error != null) {
                call.returns(Ack.unknown(Ack.words(error)));
            } else if (!Inboxes.error(reply).isEmpty()) {
                call.returns(Ack.failed(Inboxes.error(reply)));
            } else {
                var id = JsonValueUtils.readLong(reply, "msg_id");
                call.returns(id == null ? Ack.unknown("a reply without msg_id") : Ack.stored(id));
            }
        });
    }
}
