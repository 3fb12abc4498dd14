package driver;

/** How a call went. */
public final class Ack {
    public static final String OK = "ok"; // the broker acknowledged
    public static final String FAIL = "fail"; // it did not take effect: refused, or never sent
    public static final String INFO = "info"; // it may have taken effect

    public final String outcome;
    public final int reason; // MQTT reason code
    public final long id; // packet id, of mq9 the message's; Message.NO_ID where there is none
    public final String text; // an error in words

    private Ack(String outcome, int reason, long id, String text) {
        this.outcome = outcome;
        this.reason = reason;
        this.id = id;
        this.text = text;
    }

    public static Ack ok(int reason, int id) {
        return of(OK, reason, id, "");
    }

    /** A broker of mq9 keeps the message under an id, the first of which may be 0. */
    public static Ack stored(long id) {
        return new Ack(OK, 0, id, "");
    }

    public static Ack failed(String text) {
        return new Ack(FAIL, 0, Message.NO_ID, text);
    }

    public static Ack refused(int reason, String text) {
        return new Ack(FAIL, reason, Message.NO_ID, text);
    }

    public static Ack unknown(String text) {
        return new Ack(INFO, 0, Message.NO_ID, text);
    }

    /** An outcome with a reason code, from 0x80 an error, a packet id, 0 for none, and the words for it. */
    public static Ack of(String outcome, int reason, int id, String text) {
        return new Ack(outcome, reason, id == 0 ? Message.NO_ID : id, text);
    }

    public boolean isOk() {
        return outcome.equals(OK);
    }

    /** An exception and what caused it, in one line. */
    public static String words(Throwable e) {
        var words = new StringBuilder(String.valueOf(e));
        for (var cause = e == null ? null : e.getCause(); cause != null; cause = cause.getCause()) {
            if (words.indexOf(cause.toString()) < 0) {
                words.append(": ").append(cause);
            }
        }
        return words.toString();
    }
}
