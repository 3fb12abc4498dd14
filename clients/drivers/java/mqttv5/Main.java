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
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttActionListener;
import org.eclipse.paho.mqttv5.client.MqttAsyncClient;
import org.eclipse.paho.mqttv5.client.MqttCallback;
import org.eclipse.paho.mqttv5.client.MqttClientException;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.MqttPersistable;
import org.eclipse.paho.mqttv5.common.MqttPersistenceException;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;

/**
 * Drives Eclipse Paho mqttv5 1.2, MQTT 5: one MqttAsyncClient for each session, which keeps what is in flight from one
 * connection to the next. What is said in mqttv3 of acknowledgements, resending and reconnecting holds here, too.
 *
 * <p>Of QoS 2 it calls back at PUBLISH, at each: it does not look whether it has the packet id. PUBREC goes out before
 * the application has the message, so what waits for the callback when the connection is lost is lost.
 *
 * <p>It takes a topic alias for each topic as soon as the broker allows some, and stores the message without its topic:
 * on the next connection it sends it so, the broker ends the connection, and so on (paho.mqtt.java issue 1104). It cannot
 * be told not to.
 *
 * <p>A Receive Maximum of the broker's above 32,767 is read as a negative number, and every publish refused (issue 993).
 * A PUBREC above 0x80 ends the connection, and the message is sent again on the next one.
 */
public final class Main extends Dialing {
    private static final class Paho implements Sdk {
        @Override
        public String name() {
            return "org.eclipse.paho.mqttv5.client";
        }

        @Override
        public Class<?> from() {
            return MqttAsyncClient.class;
        }

        @Override
        public List<String> protocols() {
            return List.of("mqtt5");
        }

        @Override
        public boolean dedupes() {
            return false;
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
                return qos != 1;
            }
        });
        mqtt.setCallback(new MqttCallback() {
            @Override
            public void disconnected(MqttDisconnectResponse why) {
                lost(conn(), String.valueOf(why));
            }

            @Override
            public void mqttErrorOccurred(MqttException e) {
                System.err.println("driver: " + Ack.words(e));
            }

            @Override
            public void connectComplete(boolean reconnect, String uri) {
                // The listener of the connect is called, too.
            }

            @Override
            public void authPacketArrived(int reason, MqttProperties properties) {
                // No scenario authenticates so.
            }

            @Override
            public void messageArrived(String topic, MqttMessage m) {
                inbox.arrived(new Message(topic, m.getPayload(), m.getQos(), m.isDuplicate(), m.isRetained(),
                        m.getQos() == 0 ? 0 : m.getId()), conn());
            }

            @Override
            public void deliveryComplete(IMqttToken token) {
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
        var options = new MqttConnectionOptions();
        options.setServerURIs(new String[] {uri(endpoint)});
        options.setSocketFactory(sockets.factory(client.ca));
        options.setHttpsHostnameVerificationEnabled(false);
        options.setCleanStart(client.clean);
        options.setSessionExpiryInterval((long) client.expiryS);
        options.setKeepAliveInterval(client.keepAliveS);
        options.setConnectionTimeout(WAIT_S);
        if (client.receiveMax > 0) {
            options.setReceiveMaximum(client.receiveMax);
        }
        if (!client.username.isEmpty()) {
            options.setUserName(client.username);
            options.setPassword(client.password.getBytes(StandardCharsets.UTF_8));
        }
        mqtt.connect(options, null, new MqttActionListener() {
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
        if (code > 0 && code < 0x100) {
            return Ack.refused(code, Ack.words(why));
        }
        if (code == MqttException.REASON_CODE_CLIENT_EXCEPTION || code == MqttClientException.REASON_CODE_SERVER_CONNECT_ERROR) {
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
        var listener = new MqttActionListener() {
            @Override
            public void onSuccess(IMqttToken token) {
                lost(conn, "closed by the client");
            }

            @Override
            public void onFailure(IMqttToken token, Throwable why) {
                lost(conn, "closed by the client: " + Ack.words(why));
            }
        };
        mqtt.disconnect(0, null, listener, 0, new MqttProperties());
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
            var granted = token.getReasonCodes()[0];
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
            mqtt.publish(stream.topic, payload, stream.qos, stream.retain, null, new MqttActionListener() {
                @Override
                public void onSuccess(IMqttToken token) {
                    call.told(null);
                    if (ledger.acknowledged(call) || unwritten.remove(call)) {
                        call.returns(acknowledged(stream.qos, token));
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

    /** What the reason code says, the last where there are those of PUBREC and PUBCOMP. */
    private static Ack acknowledged(int qos, IMqttToken token) {
        var reasons = token.getReasonCodes();
        var reason = reasons == null || reasons.length == 0 ? 0 : reasons[reasons.length - 1];
        if (reason >= 0x80) {
            return Ack.of(qos == 2 ? Ack.INFO : Ack.FAIL, reason, token.getMessageId(), "the broker refused");
        }
        return Ack.ok(reason, qos == 0 ? 0 : token.getMessageId());
    }

    /** Whether a message that the SDK did not take, and so never sends, is to be handed over again. */
    private boolean again(MqttException e) {
        switch (e.getReasonCode()) {
            case MqttClientException.REASON_CODE_MAX_INFLIGHT:
                return ledger.awaitOne(); // with none in flight the SDK has lost count
            case MqttClientException.REASON_CODE_CLIENT_NOT_CONNECTED:
            case MqttClientException.REASON_CODE_CLIENT_DISCONNECTING:
            case MqttClientException.REASON_CODE_CONNECTION_LOST:
                Wait.until(10, () -> false); // the SDK knows before it says so
                return true;
            default:
                return false;
        }
    }
}
