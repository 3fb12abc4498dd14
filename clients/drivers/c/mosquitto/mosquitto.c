// A driver of rmq-mcp for libmosquitto 2.0, MQTT 3.1.1 and 5.
// clients/CONTRACT.md says what a driver does.
//
// The acknowledgement is on_publish, which the SDK calls when PUBACK, PUBCOMP
// or a PUBREC that refuses is read for a message that is in flight, once,
// across reconnects too; of QoS 0 when it was written, and never for one that
// was dropped with its connection. In flight is kept in memory and always sent
// again, with DUP and its first packet id, whether or not the broker kept the
// session. DUP is also set on what was published while there was no connection
// and is sent for the first time; and what is published between CONNECT and
// CONNACK is sent at once, before what is in flight is sent again.
//
// PUBACK and PUBCOMP are sent before the application has the message. A message
// of QoS 2 is handed over at PUBREL. It does not dedupe: handle__publish appends
// without looking, so that a message which the broker sends again before PUBREL
// is kept twice. The second copy stays behind under its packet id and is handed
// over in place of the next message with that id, which is acknowledged and
// stays behind in turn. In MQTT 5 each copy also takes one of the receive
// maximum for good; with none left every PUBLISH ends the connection.
//
// The SDK connects to one address, so the driver gives it the next itself and
// runs its loop (mosquitto_loop), as users with several brokers do. The loop is
// where the application is called, so that while it is paused no pings are sent.
#include <errno.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "driver.h"

enum { IDS = 65536, SLICE_MS = 50, CLOSE_MS = 2000 };

// An own is what a session has here.
struct own {
	struct session *session;
	struct mosquitto *mosq;
	mosquitto_property *properties; // of CONNECT

	pthread_mutex_t mutex; // held while the SDK is asked, so that an answer waits for what it is the answer to
	pthread_cond_t changed;
	struct publish *publish[IDS]; // that have not returned, by packet id
	int suback;                   // packet id that is waited for, 0 once it came
	int granted;
	bool answered; // by a CONNACK
	bool up;
	char why[128]; // why the connection is over
};

static void on_connect(struct mosquitto *m, void *context, int reason, int flags, const mosquitto_property *properties)
{
	struct own *o = context;
	(void)m, (void)properties;
	o->answered = true;
	if (reason != 0) {
		session_refused(o->session, FAIL, reason, "the broker refused");
		return;
	}
	o->up = true;
	session_up(o->session, flags & 1);
}

static void on_disconnect(struct mosquitto *m, void *context, int reason, const mosquitto_property *properties)
{
	struct own *o = context;
	(void)m, (void)properties;
	snprintf(o->why, sizeof o->why, "%s", reason == 0 ? "closed by the client" :
		 reason < 0x80 ? mosquitto_strerror(reason) : mosquitto_reason_string(reason));
}

static void on_publish(struct mosquitto *m, void *context, int id, int reason, const mosquitto_property *properties)
{
	struct own *o = context;
	(void)m, (void)properties;
	pthread_mutex_lock(&o->mutex);
	struct publish *p = o->publish[id & (IDS - 1)];
	o->publish[id & (IDS - 1)] = NULL;
	if (p != NULL) {
		struct ack ack = {.outcome = OK, .reason = reason, .id = p->qos > 0 ? id : 0};
		if (reason >= 0x80) {
			// The one of the two that a PUBCOMP can have.
			ack.outcome = reason == MQTT_RC_PACKET_ID_NOT_FOUND ? INFO : FAIL;
			ack.text = mosquitto_reason_string(reason);
		}
		told(p, reason < 0x80 ? OK : FAIL, ack.text);
		returned(p, ack);
	}
	pthread_mutex_unlock(&o->mutex);
}

static void on_subscribe(struct mosquitto *m, void *context, int id, int count, const int *granted)
{
	struct own *o = context;
	(void)m;
	pthread_mutex_lock(&o->mutex);
	if (id == o->suback && count > 0) {
		o->suback = 0;
		o->granted = granted[0];
		pthread_cond_broadcast(&o->changed);
	}
	pthread_mutex_unlock(&o->mutex);
}

static void on_message(struct mosquitto *m, void *context, const struct mosquitto_message *message,
		       const mosquitto_property *properties)
{
	struct own *o = context;
	(void)m, (void)properties;
	arrived(o->session, &(struct message){.topic = message->topic, .payload = message->payload,
					      .len = (size_t)message->payloadlen, .qos = message->qos,
					      .id = message->qos > 0 ? message->mid : 0, .retain = message->retain});
}

static void check(const char *what, int rc)
{
	if (rc == MOSQ_ERR_SUCCESS)
		return;
	fprintf(stderr, "driver: %s: %s\n", what, mosquitto_strerror(rc));
	exit(1);
}

static void open_session(struct session *s)
{
	const struct client *c = s->client;
	struct own *o = allot(1, sizeof *o);
	if ((o->mosq = mosquitto_new(c->id, c->clean, o)) == NULL)
		abort();
	s->own = o;
	o->session = s;
	pthread_mutex_init(&o->mutex, NULL);
	cond_init(&o->changed);
	mosquitto_int_option(o->mosq, MOSQ_OPT_PROTOCOL_VERSION, c->mqtt5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311);
	mosquitto_int_option(o->mosq, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_threaded_set(o->mosq, true);
	mosquitto_max_inflight_messages_set(o->mosq, (unsigned)c->window);
	if (*c->user != 0)
		check("user", mosquitto_username_pw_set(o->mosq, c->user, c->password));
	if (c->tls) {
		check(c->ca, mosquitto_tls_set(o->mosq, c->ca, NULL, NULL, NULL, NULL));
		check("tls", mosquitto_tls_insecure_set(o->mosq, true)); // names are not compared
	}
	if (c->mqtt5) {
		check("expiry", mosquitto_property_add_int32(&o->properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL,
							     (uint32_t)c->expiry_s));
		if (c->receive_max > 0)
			check("receive maximum", mosquitto_property_add_int16(&o->properties, MQTT_PROP_RECEIVE_MAXIMUM,
									      (uint16_t)c->receive_max));
	}
	mosquitto_connect_v5_callback_set(o->mosq, on_connect);
	mosquitto_disconnect_v5_callback_set(o->mosq, on_disconnect);
	mosquitto_publish_v5_callback_set(o->mosq, on_publish);
	mosquitto_subscribe_callback_set(o->mosq, on_subscribe);
	mosquitto_message_v5_callback_set(o->mosq, on_message);
}

// begin begins to connect. Only the function that blocks takes properties; it
// keeps them, and refuses to connect to nowhere.
static int begin(struct own *o, const char *endpoint)
{
	const struct client *c = o->session->client;
	const char *colon = strrchr(endpoint, ':');
	char host[256];
	bool brackets = *endpoint == '[';
	int keep_alive = c->keep_alive_s > 0 && c->keep_alive_s < 5 ? 5 : c->keep_alive_s; // the SDK's least
	if (colon == NULL)
		return MOSQ_ERR_INVAL;
	snprintf(host, sizeof host, "%.*s", (int)(colon - endpoint) - 2 * brackets, endpoint + brackets);
	if (c->mqtt5)
		mosquitto_connect_bind_v5(o->mosq, NULL, 0, keep_alive, NULL, o->properties);
	return mosquitto_connect_async(o->mosq, host, atoi(colon + 1), keep_alive);
}

// dialed waits for the connection; it answers why there is none, or NULL.
static const char *dialed(struct own *o)
{
	int64_t deadline = after_ms(WAIT_MS);
	int error = 0;
	socklen_t size = sizeof error;
	struct pollfd fd = {.fd = mosquitto_socket(o->mosq), .events = POLLOUT};
	while (poll(&fd, 1, SLICE_MS) == 0) {
		if (after_ms(0) > deadline)
			return "no connection within 5 s";
		if (!session_wanted(o->session))
			return "not tried any more";
	}
	getsockopt(fd.fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error != 0 ? strerror(error) : NULL;
}

// cut closes the connection whether or not the broker reads.
static void cut(struct own *o)
{
	int fd = mosquitto_socket(o->mosq);
	if (fd >= 0)
		shutdown(fd, SHUT_RDWR);
	for (int i = 0; i < 10 && mosquitto_loop(o->mosq, 0, 1) == MOSQ_ERR_SUCCESS; i++)
		;
}

// drop returns what is lost with the connection: QoS 0.
static void drop(struct own *o)
{
	pthread_mutex_lock(&o->mutex);
	o->up = false;
	for (int id = 0; id < IDS; id++) {
		struct publish *p = o->publish[id];
		if (p == NULL || p->qos > 0)
			continue;
		o->publish[id] = NULL;
		returned(p, (struct ack){.outcome = INFO, .text = "the connection is lost"});
	}
	pthread_cond_broadcast(&o->changed); // who waits for a SUBACK
	pthread_mutex_unlock(&o->mutex);
}

static void run(struct session *s, const char *endpoint)
{
	struct own *o = s->own;
	o->answered = o->up = false;
	*o->why = 0;
	int rc = begin(o, endpoint);
	const char *why = rc == MOSQ_ERR_SUCCESS || rc == MOSQ_ERR_CONN_PENDING ? dialed(o) :
			  rc == MOSQ_ERR_ERRNO ? strerror(errno) : mosquitto_strerror(rc);
	if (why != NULL) {
		session_refused(s, FAIL, 0, why);
		cut(o);
		return;
	}
	int64_t connack = after_ms(WAIT_MS), closing = 0;
	for (rc = MOSQ_ERR_SUCCESS; rc == MOSQ_ERR_SUCCESS; rc = mosquitto_loop(o->mosq, SLICE_MS, 1)) {
		if (!o->answered && after_ms(0) > connack)
			break;
		if (session_wanted(s))
			continue;
		if (closing == 0) {
			closing = after_ms(CLOSE_MS);
			mosquitto_disconnect(o->mosq);
		} else if (after_ms(0) > closing) {
			break;
		}
	}
	cut(o);
	if (o->up)
		session_lost(s, *o->why ? o->why : mosquitto_strerror(rc));
	else if (!o->answered)
		session_refused(s, INFO, 0, rc == MOSQ_ERR_SUCCESS ? "no CONNACK within 5 s" : mosquitto_strerror(rc));
	drop(o);
}

// The thread of run sees that the session is not wanted.
static void close_session(struct session *s)
{
	(void)s;
}

static struct ack subscribe(struct session *s, const char *filter, int qos)
{
	struct own *o = s->own;
	struct ack ack = {.outcome = INFO, .text = "no SUBACK"};
	int64_t deadline = after_ms(WAIT_MS);
	pthread_mutex_lock(&o->mutex);
	int rc = mosquitto_subscribe(o->mosq, &o->suback, filter, qos);
	while (rc == MOSQ_ERR_SUCCESS && o->suback != 0 && o->up &&
	       cond_wait_until(&o->changed, &o->mutex, deadline))
		;
	if (rc != MOSQ_ERR_SUCCESS)
		ack = (struct ack){.outcome = FAIL, .text = mosquitto_strerror(rc)};
	else if (o->suback == 0 && o->granted >= 0x80)
		ack = (struct ack){.outcome = FAIL, .reason = o->granted, .text = "the broker refused"};
	else if (o->suback == 0)
		ack = (struct ack){.outcome = OK, .reason = o->granted};
	o->suback = 0;
	pthread_mutex_unlock(&o->mutex);
	return ack;
}

static void publish(struct session *s, struct publish *p, const unsigned char *payload, size_t len)
{
	struct own *o = s->own;
	int id = 0;
	pthread_mutex_lock(&o->mutex);
	int rc = mosquitto_publish(o->mosq, &id, p->topic, (int)len, payload, p->qos, p->retain);
	if (rc == MOSQ_ERR_SUCCESS || (rc == MOSQ_ERR_NO_CONN && p->qos > 0)) { // sent, or queued
		o->publish[id & (IDS - 1)] = p;
	} else {
		told(p, FAIL, mosquitto_strerror(rc));
		returned(p, (struct ack){.outcome = FAIL, .text = mosquitto_strerror(rc)});
	}
	pthread_mutex_unlock(&o->mutex);
}

int main(void)
{
	static struct sdk sdk = {
		.name = "libmosquitto", .tls = true, .cannot = {"dup", "pause_connected"},
		.open = open_session, .run = run, .close = close_session, .subscribe = subscribe, .publish = publish,
	};
	static char version[32];
	int major, minor, revision;
	mosquitto_lib_init();
	mosquitto_lib_version(&major, &minor, &revision);
	snprintf(version, sizeof version, "%d.%d.%d", major, minor, revision);
	sdk.version = version;
	return driver_main(&sdk);
}
