import driver.Ack;
import driver.Call;
import driver.Conn;
import driver.Dialing;
import driver.Driver;
import driver.Inbox;
import driver.Ledger;
import driver.Message;
import driver.Process;
import driver.Sdk;
import driver.Session;
import driver.Sockets;
import driver.Spec;
import driver.Wait;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.paho.client.mqttv3.IMqttActionListener;
import org.eclipse.paho.client.mqttv3.IMqttDeliveryToken;
import org.eclipse.paho.client.mqttv3.IMqttToken;
import org.eclipse.paho.client.mqttv3.MqttAsyncClient;
import org.eclipse.paho.client.mqttv3.MqttCallback;
import org.eclipse.paho.client.mqttv3.MqttConnectOptions;
import org.eclipse.paho.client.mqttv3.MqttException;
import org.eclipse.paho.client.mqttv3.MqttMessage;
import org.eclipse.paho.client.mqttv3.MqttPersistable;
import org.eclipse.paho.client.mqttv3.MqttPersistenceException;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;

/**
 * Drives Eclipse Paho mqttv3 1.2, MQTT 3.1.1: one MqttAsyncClient for each session, which keeps what is in flight from
 * one connection to the next.
 *
 * <p>The acknowledgement: the SDK deletes a message from its store when PUBACK or PUBCOMP is processed; the store that
 * we hand it sees that. When a connection is lost it calls onFailure for everything in flight, and onSuccess later when
 * the message was sent again and acknowledged: so it tells failures that are none, and no false successes. With a clean
 * session it forgets its tokens without a word.
 *
 * <p>It sends again, with DUP, whether the session is present or not. At QoS 2 it keeps what arrived until PUBREL and
 * delivers then, once. It reconnects after 1 s at the earliest and doubles that (1.2.0: up to 128 s whatever is set), so
 * the driver calls connect itself; it waits for a CONNACK for ever, so the driver closes its sockets.
 *
 * <p>A callback that returns after its connection is lost leaves its acknowledgement in the queue, before which the next
 * CONNECT does not go out: from 1.2.1 on the SDK then hangs in CommsSender.start, here until its sockets are closed.
 *
 * <p>1.2.0 knows tokens of QoS 0 by packet id 0 only: of two that wait to be written one is never sent, its place in
 * the window is lost, and a call may not return. 1.2.3 reports the last token again when a connection is lost, a
 * connect as success: that is in the log.
 */
public final class Main extends Dialing {
    private static final class Paho implements Sdk {
        @Override
        public String name() {
            return "org.eclipse.paho.client.mqttv3";
        }

        @Override
        public Class<?> from() {
            return MqttAsyncClient.class;
        }

        @Override
        public List<String> protocols() {
            return List.of("mqtt3");
        }

        @Override
        public boolean dedupes() {
            return true;
        }

        @Override
        public List<String> cannot() {
            return List.of();
        }

        @Override
        public Session open(Process process) throws Exception {
            return new Main(process);
        }
    }

    /** The SDK's store in memory, which the ledger looks into. */
    private static final class Store extends MemoryPersistence {
        private final Ledger ledger;

        Store(Ledger ledger) {
            this.ledger = ledger;
        }

        @Override
        public void put(String key, MqttPersistable message) throws MqttPersistenceException {
            ledger.put(key);
            super.put(key, message);
        }

        @Override
        public void remove(String key) throws MqttPersistenceException {
            super.remove(key);
            ledger.remove(key);
        }

        @Override
        public void clear() throws MqttPersistenceException {
            super.clear();
            ledger.clear();
        }
    }

    private final Ledger ledger = new Ledger();
    private final Set<Call> unwritten = ConcurrentHashMap.newKeySet(); // of QoS 0
    private final Sockets sockets = new Sockets();
    private final MqttAsyncClient mqtt;
    private final Inbox inbox;

    private Main(Process process) throws Exception {
        super(process);
        mqtt = new MqttAsyncClient(uri(client.endpoints.get(0)), client.clientID, new Store(ledger));
        inbox = new Inbox(process, new Inbox.Acks() {
            @Override
            public void manual(boolean on) {
                mqtt.setManualAcks(on);
            }

            @Override
            public void done(int id, int qos) throws Exception {
                mqtt.messageArrivedComplete(id, qos);
            }

            @Override
            public boolean early(int qos) {
                return false;
            }
        });
        mqtt.setCallback(new MqttCallback() {
            @Override
            public void connectionLost(Throwable cause) {
                lost(conn(), Ack.words(cause));
            }

            @Override
            public void messageArrived(String topic, MqttMessage m) {
                inbox.arrived(new Message(topic, m.getPayload(), m.getQos(), m.isDuplicate(), m.isRetained(),
                        m.getQos() == 0 ? 0 : m.getId()), conn());
            }

            @Override
            public void deliveryComplete(IMqttDeliveryToken token) {
                // The listener of the publish is called, too.
            }
        });
    }

    public static void main(String[] args) {
        Driver.main(new Paho());
    }

    private String uri(String endpoint) {
        switch (client.transport) {
            case "tls":
                return "ssl://" + endpoint;
            case "ws":
            case "wss":
                return client.transport + "://" + endpoint + "/mqtt";
            default:
                return "tcp://" + endpoint;
        }
    }

    @Override
    protected void open(String endpoint, Conn conn) throws Exception {
        var options = new MqttConnectOptions();
        options.setServerURIs(new String[] {uri(endpoint)});
        options.setSocketFactory(sockets.factory(client.ca));
        options.setMqttVersion(MqttConnectOptions.MQTT_VERSION_3_1_1);
        options.setCleanSession(client.clean);
        options.setKeepAliveInterval(client.keepAliveS);
        options.setConnectionTimeout(WAIT_S);
        options.setMaxInflight(client.window());
        if (!client.username.isEmpty()) {
            options.setUserName(client.username);
            options.setPassword(client.password.toCharArray());
        }
        mqtt.connect(options, null, new IMqttActionListener() {
            @Override
            public void onSuccess(IMqttToken token) {
                if (!conn.connected(token.getSessionPresent())) {
                    System.err.println("driver: the SDK tells that it is connected, of a connection that is over");
                }
            }

            @Override
            public void onFailure(IMqttToken token, Throwable why) {
                conn.over(outcome(why));
            }
        });
    }

    /** How a connect went that failed: a reason of the broker, no connection, or a connection without CONNACK. */
    private static Ack outcome(Throwable why) {
        var code = why instanceof MqttException ? ((MqttException) why).getReasonCode() : -1;
        if (code > 0 && code < 6) {
            return Ack.refused(code, Ack.words(why));
        }
        if (code == MqttException.REASON_CODE_CLIENT_EXCEPTION || code == MqttException.REASON_CODE_SERVER_CONNECT_ERROR) {
            return Ack.failed(Ack.words(why));
        }
        return Ack.unknown(Ack.words(why));
    }

    private void lost(Conn conn, String why) {
        conn.over(why);
        for (var call : unwritten) {
            unwritten.remove(call);
            call.returns(Ack.unknown("connection lost before it was known to be written"));
        }
    }

    @Override
    protected void close(Conn conn) throws Exception {
        mqtt.disconnect(0, null, new IMqttActionListener() {
            @Override
            public void onSuccess(IMqttToken token) {
                lost(conn, "closed by the client");
            }

            @Override
            public void onFailure(IMqttToken token, Throwable why) {
                lost(conn, "closed by the client: " + Ack.words(why));
            }
        });
    }

    @Override
    protected void cut() {
        sockets.close();
    }

    @Override
    public void end() {
        inbox.end();
    }

    @Override
    public Ack subscribe(String filter, int qos) {
        try {
            var token = mqtt.subscribe(filter, qos);
            token.waitForCompletion(WAIT_S * 1000L);
            var granted = token.getGrantedQos()[0];
            return granted >= 0x80 ? Ack.refused(granted, "the broker refused") : Ack.ok(granted, 0);
        } catch (MqttException e) {
            return Ack.unknown(Ack.words(e));
        } catch (RuntimeException e) {
            return Ack.failed(Ack.words(e));
        }
    }

    @Override
    public void publish(Call call, Spec.Stream stream, byte[] payload) {
        while (true) {
            if (!process.awaitUp(this::conn)) {
                call.returns(Ack.failed("never sent: the session was closed"));
                return;
            }
            try {
                hand(call, stream, payload);
                return;
            } catch (MqttException e) {
                if (!again(e)) {
                    call.returns(Ack.failed("not sent: " + Ack.words(e)));
                    return;
                }
            }
        }
    }

    private void hand(Call call, Spec.Stream stream, byte[] payload) throws MqttException {
        if (stream.qos == 0) {
            unwritten.add(call);
        }
        ledger.expect(call);
        try {
            mqtt.publish(stream.topic, payload, stream.qos, stream.retain, null, new IMqttActionListener() {
                @Override
                public void onSuccess(IMqttToken token) {
                    call.told(null);
                    if (ledger.acknowledged(call) || unwritten.remove(call)) {
                        call.returns(Ack.ok(0, token.getMessageId()));
                    }
                }

                @Override
                public void onFailure(IMqttToken token, Throwable why) {
                    call.told(why);
                }
            });
        } catch (MqttException e) {
            unwritten.remove(call);
            throw e;
        } finally {
            ledger.handed();
        }
    }

    /** Whether a message that the SDK did not take, and so never sends, is to be handed over again. */
    private boolean again(MqttException e) {
        switch (e.getReasonCode()) {
            case MqttException.REASON_CODE_MAX_INFLIGHT:
                return ledger.awaitOne(); // with none in flight the SDK has lost count
            case MqttException.REASON_CODE_CLIENT_NOT_CONNECTED:
            case MqttException.REASON_CODE_CLIENT_DISCONNECTING:
            case MqttException.REASON_CODE_CONNECTION_LOST:
                Wait.until(10, () -> false); // the SDK knows before it says so
                return true;
            default:
                return false;
        }
    }
}
