import driver.Ack;
import io.nats.client.Connection;
import io.nats.client.Dispatcher;
import io.nats.client.Message;
import io.nats.client.impl.Headers;
import io.nats.client.impl.NatsMessage;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import io.nats.client.support.JsonValueUtils;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * Requests of mq9. Their replies come to inboxes that are subscribed to once, each for one request at a time, and never
 * unsubscribed. One whose request was not answered in time is not used again: its answer may come yet.
 */
final class Inboxes {
    private static final String PREFIX = "$mq9.AI.";

    /** A request that the SDK did not take. */
    static final class NotSent extends Exception {
        private static final long serialVersionUID = 1;

        NotSent(String why) {
            super(why);
        }
    }

    private static final class Box {
        volatile String subject;
        volatile CompletableFuture<Message> answer;
    }

    private final Connection nats;
    private final Dispatcher replies;
    private final ConcurrentLinkedQueue<Box> free = new ConcurrentLinkedQueue<>();

    Inboxes(Connection nats) {
        this.nats = nats;
        this.replies = nats.createDispatcher();
    }

    /** The reply. Another error than NotSent leaves open whether the request took effect. */
    CompletableFuture<JsonValue> request(String subject, Headers headers, byte[] data) {
        var answer = new CompletableFuture<Message>();
        var box = free.poll();
        try {
            if (box == null) {
                box = open();
            }
            box.answer = answer;
            nats.publish(NatsMessage.builder().subject(PREFIX + subject).replyTo(box.subject).headers(headers).data(data).build());
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(new NotSent(Ack.words(e)));
        }
        var used = box;
        var reply = new CompletableFuture<JsonValue>();
        answer.orTimeout(Link.WAIT_S, TimeUnit.SECONDS).whenComplete((message, late) -> {
            if (late != null) {
                reply.completeExceptionally(new Exception("no reply within " + Link.WAIT_S + " s"));
                return;
            }
            free.add(used);
            try {
                reply.complete(JsonParser.parse(message.getData()));
            } catch (Exception e) {
                reply.completeExceptionally(e);
            }
        });
        return reply;
    }

    private Box open() {
        var box = new Box();
        box.subject = nats.createInbox();
        replies.subscribe(box.subject, message -> box.answer.complete(message));
        return box;
    }

    /** What a reply has against its request; "" for nothing. */
    static String error(JsonValue reply) {
        return JsonValueUtils.readString(reply, "error", "");
    }
}
