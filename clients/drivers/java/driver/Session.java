package driver;

/**
 * One MQTT session in the hands of an SDK. Its methods are not called concurrently, but for disconnect, which ends a
 * subscribe or publish that waits.
 */
public interface Session {
    /** Begins to connect and returns at once. From then on the session keeps itself connected. */
    void connect();

    /** Closes the connection in order and keeps it closed. When it returns nothing more is delivered. */
    void disconnect();

    /** Delivers what a pause kept back and the broker will not send again; nothing comes after it. */
    default void end() {}

    /** Subscribes and waits for the SUBACK. */
    Ack subscribe(String filter, int qos);

    /**
     * Hands a message to the SDK, in order of its calls. When the broker's acknowledgement is seen, or it is known
     * that none will come, the call returns.
     */
    void publish(Call call, Spec.Stream stream, byte[] payload);
}
