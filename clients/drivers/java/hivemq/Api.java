import com.hivemq.client.mqtt.MqttClientState;
import com.hivemq.client.mqtt.MqttClientTransportConfig;
import com.hivemq.client.mqtt.lifecycle.MqttClientConnectedContext;
import driver.Message;
import driver.Spec;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** What the driver needs of the SDK, which has one interface for each version of MQTT. */
interface Api {
    MqttClientState state();

    /** Connects; it completes when connected, which may be after any number of attempts. */
    CompletableFuture<?> connect();

    CompletableFuture<Void> disconnect();

    /** Subscribes; it completes with the granted QoS. */
    CompletableFuture<Integer> subscribe(String filter, int qos);

    /** Publishes; it completes with the reason code, 0 where there is none. */
    CompletableFuture<Integer> publish(Spec.Stream stream, byte[] payload);

    boolean sessionPresent(MqttClientConnectedContext context);

    /** The reason code in what a connect, subscribe or publish failed with; 0 for none. */
    int refused(Throwable why);

    /** Who gets messages: done is to be run when the application has taken one. */
    interface Callback {
        void arrived(Message m, Runnable done);
    }

    /** Where there is a message it is handed to the callback by the executor. */
    void deliver(Callback callback, Executor executor);

    /** Makes the client of a protocol. */
    static Api of(Spec.Client client, MqttClientTransportConfig transport, Main listener) {
        return client.protocol.equals("mqtt5") ? new Mqtt5(client, transport, listener) : new Mqtt3(client, transport, listener);
    }
}
