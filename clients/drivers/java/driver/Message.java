package driver;

import java.nio.charset.StandardCharsets;

/** One that arrived. */
public final class Message {
    static final long NO_ID = -1;

    final String topic;
    final byte[] payload;
    final int qos;
    final boolean dup;
    final boolean retain;
    final long id; // NO_ID where the SDK does not show it

    /** id is 0 where there is none. */
    public Message(String topic, byte[] payload, int qos, boolean dup, boolean retain, int id) {
        this(topic, payload, qos, dup, retain, id == 0 ? NO_ID : (long) id);
    }

    private Message(String topic, byte[] payload, int qos, boolean dup, boolean retain, long id) {
        this.topic = topic;
        this.payload = payload;
        this.qos = qos;
        this.dup = dup;
        this.retain = retain;
        this.id = id;
    }

    /** One that a broker of mq9 keeps under an id, the first of which may be 0. */
    public static Message stored(String mailbox, byte[] payload, long id) {
        return new Message(mailbox, payload, 1, false, false, id);
    }

    public boolean isQos0() {
        return qos == 0;
    }

    /** Fills in what a line says of a message that arrived. */
    void describe(Line line) {
        var header = new String(payload, 0, Math.min(payload.length, Payload.HEADER), StandardCharsets.ISO_8859_1);
        line.opt("q", qos).id(id).opt("dup", dup).opt("ret", retain)
                .put("h", header).put("crc", Payload.hex(Payload.checksum(payload), 8)).put("len", payload.length);
    }
}
