import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttClientState;
import com.hivemq.client.mqtt.MqttClientTransportConfig;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.lifecycle.MqttClientConnectedContext;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5ConnAckException;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5PubAckException;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5PubRecException;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5SubAckException;
import com.hivemq.client.mqtt.mqtt5.lifecycle.Mqtt5ClientConnectedContext;
import com.hivemq.client.mqtt.mqtt5.message.auth.Mqtt5SimpleAuth;
import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5Connect;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5PublishResult;
import driver.Message;
import driver.Spec;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** MQTT 5. */
final class Mqtt5 implements Api {
    private final Mqtt5AsyncClient mqtt;
    private final Mqtt5Connect connect;

    Mqtt5(Spec.Client client, MqttClientTransportConfig transport, Main listener) {
        mqtt = MqttClient.builder().identifier(client.clientID).transportConfig(transport)
                .addConnectedListener(listener).addDisconnectedListener(listener).useMqttVersion5().buildAsync();
        var auth = client.username.isEmpty() ? null : Mqtt5SimpleAuth.builder().username(client.username)
                .password(client.password.getBytes(StandardCharsets.UTF_8)).build();
        var builder = Mqtt5Connect.builder().cleanStart(client.clean).keepAlive(client.keepAliveS)
                .sessionExpiryInterval(client.expiryS).simpleAuth(auth);
        if (client.receiveMax > 0) {
            builder = builder.restrictions().receiveMaximum(client.receiveMax).applyRestrictions();
        }
        connect = builder.build();
    }

    @Override
    public MqttClientState state() {
        return mqtt.getState();
    }

    @Override
    public CompletableFuture<?> connect() {
        return mqtt.connect(connect);
    }

    @Override
    public CompletableFuture<Void> disconnect() {
        return mqtt.disconnect();
    }

    @Override
    public CompletableFuture<Integer> subscribe(String filter, int qos) {
        return mqtt.subscribeWith().topicFilter(filter).qos(MqttQos.fromCode(qos)).send()
                .thenApply(ack -> ack.getReasonCodes().get(0).getCode());
    }

    @Override
    public CompletableFuture<Integer> publish(Spec.Stream s, byte[] payload) {
        return mqtt.publishWith().topic(s.topic).qos(MqttQos.fromCode(s.qos)).retain(s.retain).payload(payload).send()
                .thenApply(Mqtt5::reason);
    }

    /** The reason of PUBACK or PUBREC; that of PUBCOMP is not shown. */
    private static int reason(Mqtt5PublishResult result) {
        if (result instanceof Mqtt5PublishResult.Mqtt5Qos1Result) {
            return ((Mqtt5PublishResult.Mqtt5Qos1Result) result).getPubAck().getReasonCode().getCode();
        }
        if (result instanceof Mqtt5PublishResult.Mqtt5Qos2Result) {
            return ((Mqtt5PublishResult.Mqtt5Qos2Result) result).getPubRec().getReasonCode().getCode();
        }
        return 0;
    }

    @Override
    public boolean sessionPresent(MqttClientConnectedContext context) {
        return ((Mqtt5ClientConnectedContext) context).getConnAck().isSessionPresent();
    }

    @Override
    public int refused(Throwable why) {
        if (why instanceof Mqtt5ConnAckException) {
            return ((Mqtt5ConnAckException) why).getMqttMessage().getReasonCode().getCode();
        }
        if (why instanceof Mqtt5PubAckException) {
            return ((Mqtt5PubAckException) why).getMqttMessage().getReasonCode().getCode();
        }
        if (why instanceof Mqtt5PubRecException) {
            return ((Mqtt5PubRecException) why).getMqttMessage().getReasonCode().getCode();
        }
        if (why instanceof Mqtt5SubAckException) {
            return ((Mqtt5SubAckException) why).getMqttMessage().getReasonCodes().get(0).getCode();
        }
        return 0;
    }

    @Override
    public void deliver(Callback callback, Executor executor) {
        mqtt.publishes(MqttGlobalPublishFilter.ALL, m -> callback.arrived(new Message(m.getTopic().toString(),
                m.getPayloadAsBytes(), m.getQos().getCode(), false, m.isRetain(), 0), m::acknowledge), executor, true);
    }
}
