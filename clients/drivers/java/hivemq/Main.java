import com.hivemq.client.mqtt.MqttClientSslConfig;
import com.hivemq.client.mqtt.MqttClientState;
import com.hivemq.client.mqtt.MqttClientTransportConfig;
import com.hivemq.client.mqtt.MqttWebSocketConfig;
import com.hivemq.client.mqtt.exceptions.ConnectionFailedException;
import com.hivemq.client.mqtt.exceptions.MqttClientStateException;
import com.hivemq.client.mqtt.exceptions.MqttEncodeException;
import com.hivemq.client.mqtt.lifecycle.MqttClientConnectedContext;
import com.hivemq.client.mqtt.lifecycle.MqttClientConnectedListener;
import com.hivemq.client.mqtt.lifecycle.MqttClientDisconnectedContext;
import com.hivemq.client.mqtt.lifecycle.MqttClientDisconnectedListener;
import driver.Ack;
import driver.Call;
import driver.Conn;
import driver.Driver;
import driver.Message;
import driver.Process;
import driver.Sdk;
import driver.Session;
import driver.Spec;
import driver.Trust;
import driver.Wait;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Drives the HiveMQ client 1.3, MQTT 3.1.1 and 5: its async interface, its own reconnecting, and manual acknowledgement
 * by a thread that may block.
 *
 * <p>The acknowledgement: the future of a publish completes on PUBACK or PUBCOMP, across connections too. At QoS 2 it
 * also completes without error when the session is lost after PUBREC; so it only counts while the client is connected,
 * which at that moment it is not yet again (MqttSession.startOrResume goes before CONNECTED). What is in flight
 * otherwise when the session is lost fails, and what waits in the queue with it. The reason code of a PUBCOMP is not
 * shown.
 *
 * <p>It sends again, with DUP, where the session is present. It keeps the packet ids of QoS 2, and closes the connection
 * where a broker sends a PUBLISH of one it has again without DUP, or with MQTT 5 on the same connection. It shows
 * neither packet ids nor DUP.
 *
 * <p>A publish blocks while more than the broker's Receive Maximum are in flight. To what it subscribes again by itself
 * when the session is lost it is told not to: the driver does, and writes it down. After a disconnect it begins with
 * the endpoint that it had last.
 */
public final class Main implements Session, MqttClientConnectedListener, MqttClientDisconnectedListener {
    private static final int WAIT_S = 5; // for a connection, a CONNACK, a SUBACK
    private static final int CLOSE_S = 12; // a little more than it waits for the broker to close after DISCONNECT

    private static final class HiveMQ implements Sdk {
        @Override
        public String name() {
            return "hivemq-mqtt-client";
        }

        @Override
        public Class<?> from() {
            return MqttClientState.class;
        }

        @Override
        public List<String> protocols() {
            return List.of("mqtt3", "mqtt5");
        }

        @Override
        public boolean dedupes() {
            return true;
        }

        @Override
        public List<String> cannot() {
            return List.of("dup", "packet_id");
        }

        @Override
        public Session open(Process process) throws Exception {
            return new Main(process);
        }
    }

    private final Process process;
    private final Spec.Client client;
    private final Api mqtt;
    private final ExecutorService application = Executors.newSingleThreadExecutor(Main::daemon);
    private final Object delivering = new Object(); // held while the application has a message
    private volatile boolean wanted;
    private volatile Conn conn; // the last one
    private int turn; // index of the endpoint that is tried, or connected to
    private volatile CompletableFuture<Void> pause = CompletableFuture.completedFuture(null); // before the next attempt

    private Main(Process process) throws Exception {
        this.process = process;
        this.client = process.client();
        mqtt = Api.of(client, transport(), this);
        mqtt.deliver(this::arrived, application);
    }

    public static void main(String[] args) {
        Driver.main(new HiveMQ());
    }

    private static Thread daemon(Runnable work) {
        var thread = new Thread(work, "application");
        thread.setDaemon(true);
        return thread;
    }

    private String endpoint() {
        return client.endpoints.get(turn);
    }

    private MqttClientTransportConfig transport() throws Exception {
        var colon = endpoint().lastIndexOf(':');
        var builder = MqttClientTransportConfig.builder()
                .serverHost(endpoint().substring(0, colon).replaceAll("[\\[\\]]", ""))
                .serverPort(Integer.parseInt(endpoint().substring(colon + 1)))
                .socketConnectTimeout(WAIT_S, TimeUnit.SECONDS).mqttConnectTimeout(WAIT_S, TimeUnit.SECONDS);
        if (!client.ca.isEmpty()) {
            builder = builder.sslConfig(MqttClientSslConfig.builder().trustManagerFactory(Trust.of(client.ca))
                    .hostnameVerifier((host, session) -> true).build());
        }
        if (client.transport.startsWith("ws")) {
            builder = builder.webSocketConfig(MqttWebSocketConfig.builder().serverPath("mqtt").subprotocol("mqtt").build());
        }
        return builder.build();
    }

    @Override
    public void connect() {
        wanted = true;
        attempt();
        mqtt.connect(); // how each attempt goes is told to the listeners
    }

    private void attempt() {
        conn = process.dial(endpoint());
    }

    @Override
    public void onConnected(MqttClientConnectedContext context) {
        conn.connected(mqtt.sessionPresent(context));
    }

    @Override
    public void onDisconnected(MqttClientDisconnectedContext context) {
        var served = conn.isUp();
        conn.over(outcome(context.getCause()));
        if (!wanted) {
            return;
        }
        turn = served ? 0 : (turn + 1) % client.endpoints.size();
        pause = new CompletableFuture<Void>().completeOnTimeout(null, turn == 0 ? client.reconnectMS : 0, TimeUnit.MILLISECONDS);
        var reconnector = context.getReconnector();
        try {
            reconnector.transportConfig(transport());
        } catch (Exception e) {
            System.err.println("driver: " + Ack.words(e)); // the one before is tried again
        }
        reconnector.resubscribeIfSessionExpired(false).reconnectWhen(pause, (ignored, error) -> {
            reconnector.reconnect(wanted);
            if (wanted) {
                attempt();
            }
        });
    }

    /** How a connect went that failed, or why a connection was lost. */
    private Ack outcome(Throwable why) {
        var reason = mqtt.refused(why);
        if (reason != 0) {
            return Ack.refused(reason, Ack.words(why));
        }
        return why instanceof ConnectionFailedException ? Ack.failed(Ack.words(why)) : Ack.unknown(Ack.words(why));
    }

    @Override
    public void disconnect() {
        wanted = false;
        pause.complete(null);
        var last = conn;
        Wait.until(2 * WAIT_S * 1000, () -> last.isUp() || last.isOver());
        if (last.isUp()) {
            mqtt.disconnect();
            Wait.until(CLOSE_S * 1000, last::isOver);
        }
        last.over("closed by the client; the SDK did not say so");
        Wait.until(CLOSE_S * 1000, () -> mqtt.state() == MqttClientState.DISCONNECTED);
        synchronized (delivering) {
            // What the application had is done.
        }
    }

    @Override
    public void end() {
        application.shutdown();
        try {
            application.awaitTermination(WAIT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Delivers a message when the process is not paused and connected. At the end, what was not acknowledged to the
     * broker is not delivered: it must send it again. Each is done with, though: the SDK acknowledges in order.
     */
    private void arrived(Message m, Runnable done) {
        while (process.hold(() -> false)) {
            synchronized (delivering) {
                if (wanted) {
                    process.deliver(m, () -> !wanted);
                    done.run();
                    return;
                }
            }
            Wait.until(20, () -> wanted);
        }
        if (m.isQos0()) {
            process.deliver(m, () -> true);
        }
    }

    @Override
    public Ack subscribe(String filter, int qos) {
        try {
            return Ack.ok(mqtt.subscribe(filter, qos).get(WAIT_S, TimeUnit.SECONDS), 0);
        } catch (ExecutionException e) {
            var reason = mqtt.refused(e.getCause());
            return reason != 0 ? Ack.refused(reason, Ack.words(e.getCause())) : Ack.unknown(Ack.words(e.getCause()));
        } catch (TimeoutException | InterruptedException e) {
            return Ack.unknown("no SUBACK within " + WAIT_S + " s");
        }
    }

    @Override
    public void publish(Call call, Spec.Stream stream, byte[] payload) {
        while (Wait.until(Long.MAX_VALUE / 2_000_000, () -> process.isEnded() || mqtt.state().isConnectedOrReconnect())
                && !process.isEnded()) {
            var future = mqtt.publish(stream, payload);
            if (future.isCompletedExceptionally() && cause(future) instanceof MqttClientStateException) {
                continue; // never sent: there is no connection, and none coming
            }
            future.whenComplete((reason, error) -> completed(call, stream, reason, error));
            return;
        }
        call.returns(Ack.failed("never sent: the session was closed"));
    }

    private void completed(Call call, Spec.Stream stream, Integer reason, Throwable error) {
        var why = error instanceof CompletionException ? error.getCause() : error;
        call.told(why);
        if (why == null) {
            var sure = stream.qos < 2 || mqtt.state() == MqttClientState.CONNECTED;
            call.returns(sure ? Ack.ok(reason, 0) : Ack.unknown("the session was lost before PUBCOMP"));
        } else if (mqtt.refused(why) != 0) {
            call.returns(Ack.refused(mqtt.refused(why), Ack.words(why)));
        } else if (why instanceof MqttClientStateException || why instanceof MqttEncodeException) {
            call.returns(Ack.failed("never sent: " + Ack.words(why)));
        } else {
            call.returns(Ack.unknown(Ack.words(why)));
        }
    }

    private static Throwable cause(CompletableFuture<?> future) {
        try {
            future.join();
            return null;
        } catch (CompletionException e) {
            return e.getCause();
        }
    }
}
