package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The specification. */
public final class Spec {
    static final int CONTRACT = 1;

    final int contract;
    final String run;
    final int epoch;
    final int ackWaitMS;
    final List<Client> clients;

    private Spec(Map<String, Object> o) {
        contract = number(o, "contract");
        run = string(o, "run");
        epoch = number(o, "epoch");
        ackWaitMS = number(o, "ack_wait_ms");
        clients = list(o, "clients", Client::new);
    }

    /** Reads it. What cannot be done throws an IllegalArgumentException that says why. */
    static Spec read(String line, Sdk sdk) {
        var spec = new Spec(Json.object(line));
        if (spec.contract != CONTRACT) {
            throw new IllegalArgumentException(
                    "specification of contract " + spec.contract + ", this driver speaks " + CONTRACT);
        }
        if (spec.run.length() != 8) {
            throw new IllegalArgumentException("run \"" + spec.run + "\" is not 8 characters");
        }
        for (var c : spec.clients) {
            if (!sdk.protocols().contains(c.protocol)) {
                throw new IllegalArgumentException("client " + c.process + " wants " + c.protocol + ", " + sdk.name()
                        + " speaks " + String.join(", ", sdk.protocols()));
            }
            if (c.endpoints.isEmpty()) {
                throw new IllegalArgumentException("client " + c.process + " has no endpoint");
            }
            if (!List.of("tcp", "tls", "ws", "wss").contains(c.transport)) {
                throw new IllegalArgumentException("client " + c.process + " wants transport " + c.transport);
            }
        }
        return spec;
    }

    /** One logical client, one MQTT session. */
    public static final class Client {
        public final int process;
        public final String clientID;
        public final List<String> endpoints;
        public final String protocol;
        public final String transport;
        public final String ca; // "" without TLS
        public final String username;
        public final String password;
        public final boolean clean;
        public final int expiryS;
        public final int keepAliveS;
        public final int receiveMax; // 0: the SDK's own
        public final int reconnectMS;
        final boolean waits; // connects only when told
        final List<Filter> subscribe;
        final Publish publish; // null for who publishes nothing
        final Registers registers; // null for who reads none
        final int delayMS;

        private Client(Map<String, Object> o) {
            process = number(o, "process");
            clientID = string(o, "client_id");
            endpoints = new ArrayList<>();
            for (var endpoint : (List<?>) o.getOrDefault("endpoints", List.of())) {
                endpoints.add((String) endpoint);
            }
            protocol = string(o, "protocol");
            transport = string(o, "transport").isEmpty() ? "tcp" : string(o, "transport");
            ca = transport.equals("tls") || transport.equals("wss") ? string(o, "ca") : "";
            username = string(o, "username");
            password = string(o, "password");
            clean = Boolean.TRUE.equals(o.get("clean"));
            expiryS = number(o, "expiry_s");
            keepAliveS = number(o, "keep_alive_s");
            receiveMax = number(o, "receive_max");
            reconnectMS = number(o, "reconnect_ms");
            waits = string(o, "start").equals("waiting");
            subscribe = list(o, "subscribe", Filter::new);
            publish = object(o, "publish", Publish::new);
            registers = object(o, "read_registers", Registers::new);
            delayMS = number(o, "delay_ms");
        }

        private Client(Client c) {
            process = c.process;
            clientID = c.clientID;
            endpoints = c.endpoints;
            protocol = c.protocol;
            transport = c.transport;
            ca = c.ca;
            username = c.username;
            password = c.password;
            clean = true;
            expiryS = 0;
            keepAliveS = c.keepAliveS;
            receiveMax = c.receiveMax;
            reconnectMS = c.reconnectMS;
            waits = true;
            subscribe = List.of();
            publish = null;
            registers = null;
            delayMS = 0;
        }

        /** The same client with a clean session and nothing to do. */
        Client idle() {
            return new Client(this);
        }

        /** How many seconds a mailbox of mq9 is to live; 0 where that is not said. */
        public int ttlS(String filter) {
            return subscribe.stream().filter(f -> f.filter.equals(filter)).mapToInt(f -> f.ttlS).findFirst().orElse(0);
        }

        /** What this client of mq9 reads by a filter: a mailbox alone, or $share/GROUP/MAILBOX together with others. */
        public Reading reading(String filter) {
            var parts = filter.split("/", 3);
            return parts[0].equals("$share") ? new Reading(parts[1], parts[2]) : new Reading(clientID, filter);
        }

        /** How many publishes may be called and not returned. */
        public int window() {
            return publish == null || publish.maxInflight <= 0 ? 20 : publish.maxInflight;
        }
    }

    /** One subscription. */
    static final class Filter {
        final String filter;
        final int qos;
        final int ttlS; // of the mailbox of mq9

        private Filter(Map<String, Object> o) {
            filter = string(o, "filter");
            qos = number(o, "qos");
            ttlS = number(o, "ttl_s");
        }
    }

    /** A mailbox of mq9, and the group as which it is read. */
    public static final class Reading {
        public final String group;
        public final String mailbox;

        private Reading(String group, String mailbox) {
            this.group = group;
            this.mailbox = mailbox;
        }
    }

    /** A producer's work. */
    static final class Publish {
        final List<Stream> streams;
        final double ratePerS;
        final int firstMS; // how long the first message is put off
        final long count;
        final int payloadBytes;
        final int maxInflight;

        private Publish(Map<String, Object> o) {
            streams = list(o, "streams", Stream::new);
            ratePerS = o.get("rate_per_s") instanceof Double ? (Double) o.get("rate_per_s") : 0;
            firstMS = number(o, "first_ms");
            count = o.get("count") instanceof Double ? ((Double) o.get("count")).longValue() : 0;
            payloadBytes = number(o, "payload_bytes");
            maxInflight = number(o, "max_inflight");
        }
    }

    /** One producer's messages on one topic with one QoS. */
    public static final class Stream {
        final int number;
        public final String topic;
        public final int qos;
        public final boolean retain;
        public final String priority; // of mq9; "" for its own default
        public final int ttlS; // of each message of mq9; 0 for none
        final boolean unmarked; // gets no end marker

        private Stream(Map<String, Object> o) {
            number = number(o, "stream");
            topic = string(o, "topic");
            qos = number(o, "qos");
            retain = Boolean.TRUE.equals(o.get("retain"));
            priority = string(o, "priority");
            ttlS = number(o, "ttl_s");
            unmarked = Boolean.TRUE.equals(o.get("unmarked"));
        }

        private Stream(Stream s) {
            number = s.number;
            topic = s.topic;
            qos = s.qos;
            retain = s.retain;
            priority = s.priority;
            ttlS = 0;
            unmarked = s.unmarked;
        }

        /** The stream as its end marker is sent: that has no end itself. */
        Stream ofMarker() {
            return new Stream(this);
        }
    }

    /** A reader's work. */
    static final class Registers {
        final List<String> topics = new ArrayList<>();
        final int everyMS;
        final int waitMS;

        private Registers(Map<String, Object> o) {
            for (var topic : (List<?>) o.getOrDefault("topics", List.of())) {
                topics.add((String) topic);
            }
            everyMS = number(o, "every_ms");
            waitMS = number(o, "wait_ms");
        }
    }

    static String string(Map<String, Object> o, String key) {
        return o.get(key) instanceof String ? (String) o.get(key) : "";
    }

    static int number(Map<String, Object> o, String key) {
        return o.get(key) instanceof Double ? ((Double) o.get(key)).intValue() : 0;
    }

    @SuppressWarnings("unchecked")
    private static <T> List<T> list(Map<String, Object> o, String key, Function<Map<String, Object>, T> make) {
        var made = new ArrayList<T>();
        if (o.get(key) instanceof List) {
            for (var element : (List<?>) o.get(key)) {
                made.add(make.apply((Map<String, Object>) element));
            }
        }
        return made;
    }

    @SuppressWarnings("unchecked")
    private static <T> T object(Map<String, Object> o, String key, Function<Map<String, Object>, T> make) {
        return o.get(key) instanceof Map ? make.apply((Map<String, Object>) o.get(key)) : null;
    }
}
