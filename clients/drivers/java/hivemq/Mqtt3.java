import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttClientState;
import com.hivemq.client.mqtt.MqttClientTransportConfig;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.lifecycle.MqttClientConnectedContext;
import com.hivemq.client.mqtt.mqtt3.Mqtt3AsyncClient;
import com.hivemq.client.mqtt.mqtt3.exceptions.Mqtt3ConnAckException;
import com.hivemq.client.mqtt.mqtt3.exceptions.Mqtt3SubAckException;
import com.hivemq.client.mqtt.mqtt3.lifecycle.Mqtt3ClientConnectedContext;
import com.hivemq.client.mqtt.mqtt3.message.auth.Mqtt3SimpleAuth;
import com.hivemq.client.mqtt.mqtt3.message.connect.Mqtt3Connect;
import driver.Message;
import driver.Spec;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** MQTT 3.1.1. */
final class Mqtt3 implements Api {
    private final Mqtt3AsyncClient mqtt;
    private final Mqtt3Connect connect;

    Mqtt3(Spec.Client client, MqttClientTransportConfig transport, Main listener) {
        mqtt = MqttClient.builder().identifier(client.clientID).transportConfig(transport)
                .addConnectedListener(listener).addDisconnectedListener(listener).useMqttVersion3().buildAsync();
        var auth = client.username.isEmpty() ? null : Mqtt3SimpleAuth.builder().username(client.username)
                .password(client.password.getBytes(StandardCharsets.UTF_8)).build();
        connect = Mqtt3Connect.builder().cleanSession(client.clean).keepAlive(client.keepAliveS).simpleAuth(auth).build();
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
                .thenApply(ack -> ack.getReturnCodes().get(0).getCode());
    }

    @Override
    public CompletableFuture<Integer> publish(Spec.Stream s, byte[] payload) {
        return mqtt.publishWith().topic(s.topic).qos(MqttQos.fromCode(s.qos)).retain(s.retain).payload(payload).send()
                .thenApply(publish -> 0);
    }

    @Override
    public boolean sessionPresent(MqttClientConnectedContext context) {
        return ((Mqtt3ClientConnectedContext) context).getConnAck().isSessionPresent();
    }

    @Override
    public int refused(Throwable why) {
        if (why instanceof Mqtt3ConnAckException) {
            return ((Mqtt3ConnAckException) why).getMqttMessage().getReturnCode().getCode();
        }
        return why instanceof Mqtt3SubAckException ? 0x80 : 0;
    }

    @Override
    public void deliver(Callback callback, Executor executor) {
        mqtt.publishes(MqttGlobalPublishFilter.ALL, m -> callback.arrived(new Message(m.getTopic().toString(),
                m.getPayloadAsBytes(), m.getQos().getCode(), false, m.isRetain(), 0), m::acknowledge), executor, true);
    }
}
