import driver.Ack;
import driver.Conn;
import driver.Message;
import driver.Process;
import driver.Spec;
import driver.Wait;
import io.nats.client.support.JsonValue;
import io.nats.client.support.JsonValueUtils;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Fetches from one mailbox after the other until its link is closed. */
final class Consumer implements Runnable {
    private static final List<String> PRIORITIES = List.of("normal", "urgent", "critical"); // the lowest first
    private static final int FETCH_MESSAGES = 50;
    private static final int FETCH_WAIT_MS = 200;
    private static final int IDLE_MS = 20; // where there is nothing to do, or the broker does not answer

    private final Process process;
    private final Link link;
    private final List<String> filters;

    Consumer(Process process, Link link, List<String> filters) {
        this.process = process;
        this.link = link;
        this.filters = filters;
    }

    @Override
    public void run() {
        for (int turn = 0; !link.isClosed(); turn++) {
            var conn = link.conn();
            if (filters.isEmpty() || conn == null || !conn.isUp() || !process.hold(conn::isOver)) {
                Wait.until(IDLE_MS, link::isClosed);
                continue;
            }
            try {
                fetch(process.client().reading(filters.get(turn % filters.size())), conn);
            } catch (InterruptedException e) {
                return;
            } catch (Exception e) {
                process.log("fetch: " + Ack.words(e));
                Wait.until(IDLE_MS, link::isClosed);
            }
        }
    }

    /** Reads what the mailbox has for this client's group, and acknowledges it. */
    private void fetch(Spec.Reading of, Conn conn) throws Exception {
        var mailbox = of.mailbox;
        var call = process.fetching(mailbox);
        JsonValue reply;
        try {
            reply = link.ask("MSG.FETCH." + mailbox, request(of).put("deliver", "earliest").put("config", JsonValueUtils.mapBuilder()
                    .put("num_msgs", FETCH_MESSAGES).put("max_wait_ms", FETCH_WAIT_MS).toJsonValue()));
        } catch (Exception e) {
            call.returns(Ack.unknown(Ack.words(e)));
            throw e;
        }
        if (!Inboxes.error(reply).isEmpty()) {
            call.returns(Ack.failed(Inboxes.error(reply)));
            throw new Exception(Inboxes.error(reply));
        }
        call.returns(Ack.stored(JsonValueUtils.readArray(reply, "messages").size()));
        Map<String, Long> last = new HashMap<>(); // id, by priority
        for (var m : JsonValueUtils.readArray(reply, "messages")) {
            if (!process.hold(conn::isOver) || link.isClosed()) {
                break; // what is not acknowledged is fetched again
            }
            var id = JsonValueUtils.readLong(m, "msg_id");
            var payload = JsonValueUtils.readString(m, "payload").getBytes(StandardCharsets.UTF_8);
            process.deliver(Message.stored(mailbox, payload, id), conn::isOver);
            last.merge(JsonValueUtils.readString(m, "priority"), id, Math::max);
        }
        // A broker that takes an id for all priorities then skips the least.
        for (var priority : PRIORITIES) {
            var id = last.get(priority);
            if (id != null) {
                ask("MSG.ACK." + mailbox, request(of).put("mail_address", mailbox).put("msg_id", id));
                process.acknowledged(id);
            }
        }
    }

    private JsonValueUtils.MapBuilder request(Spec.Reading of) {
        return JsonValueUtils.mapBuilder().put("group_name", of.group);
    }

    private JsonValue ask(String subject, JsonValueUtils.MapBuilder fields) throws Exception {
        var reply = link.ask(subject, fields);
        if (!Inboxes.error(reply).isEmpty()) {
            throw new Exception(Inboxes.error(reply));
        }
        return reply;
    }
}
