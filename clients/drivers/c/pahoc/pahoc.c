// A driver of rmq-mcp for Eclipse Paho C's MQTTAsync, 1.3.8 to 1.3.14, MQTT
// 3.1.1 and 5. clients/CONTRACT.md says what a driver does.
//
// The acknowledgement is deliveryComplete, which the SDK calls when PUBACK,
// PUBCOMP or a PUBREC that refuses is read, and for nothing else; onSuccess,
// what the application is told, follows it. onFailure is no such word: after a
// failed write the message stays in flight, is sent again on the next
// connection and acknowledged by deliveryComplete alone. (In 1.3.12 and 1.3.14
// that is a message whose topic and payload are freed: what is sent again may be
// damaged, and the broker may close each connection for it.) Only where the
// broker did not keep the session the SDK gives up what is in flight
// (OPERATION_INCOMPLETE). Resent messages carry DUP and their first packet id,
// in order; from the second connection on, 1.3.12 and 1.3.14 also send again on
// the same connection what is not acknowledged after 10 s (connect_sent in
// MQTTProtocolClient.c is never set back). A new connection takes these two
// about 1.1 s, because nothing wakes their poll. Over wss 1.3.8 connects
// only now and then: it loses bytes of what comes with the upgrade.
//
// The application has a message of QoS 2 at PUBREL in MQTT 3.1.1, at PUBLISH in
// 5, either way once while the SDK knows the packet id. 1.3.8 acknowledges
// before it calls the application, later ones afterwards. All clients of a
// process share two threads and one mutex, which a callback holds: a callback
// that blocks blocks them all, and pings. So that a pause is only the paused
// client's, each client has a copy of the library of its own.
//
// automaticReconnect is not used: it looks every 3 s, stays with the last of
// several servers for ever (nothing sets currentURI back), and tells neither
// where it connected nor whether the session is present. As users do whom that
// does not suit, the driver calls MQTTAsync_connect again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pahoc.h"

static const char *path; // of the library

static void trace(enum MQTTASYNC_TRACE_LEVELS level, char *message)
{
	(void)level;
	fprintf(stderr, "paho: %s\n", message);
	// A publication that it frees twice was in use when it freed it first: what
	// it then sends is whatever lies in that memory (paho.mqtt.c#1459).
	if (strstr(message, "Failed to remove heap item") != NULL && strstr(message, "MQTTProtocolClient.c") != NULL) {
		fprintf(stderr, "driver: Paho C has corrupted its own memory (paho.mqtt.c#1459): nothing that it says now counts\n");
		abort();
	}
}

static int message_arrived(void *context, char *topic, int len, MQTTAsync_message *m)
{
	struct own *o = context;
	(void)len;
	arrived(o->session, &(struct message){.topic = topic, .payload = m->payload, .len = (size_t)m->payloadlen,
					      .qos = m->qos, .id = m->msgid, .dup = m->dup, .retain = m->retained});
	o->lib.MQTTAsync_freeMessage(&m);
	o->lib.MQTTAsync_free(topic);
	return 1;
}

static void set_properties(struct own *o)
{
	const struct client *c = o->session->client;
	MQTTProperty expiry = {.identifier = MQTTPROPERTY_CODE_SESSION_EXPIRY_INTERVAL},
		     receive = {.identifier = MQTTPROPERTY_CODE_RECEIVE_MAXIMUM};
	expiry.value.integer4 = (unsigned)c->expiry_s;
	receive.value.integer2 = (unsigned short)c->receive_max;
	o->lib.MQTTProperties_add(&o->properties, &expiry);
	if (c->receive_max > 0)
		o->lib.MQTTProperties_add(&o->properties, &receive);
}

static void open_session(struct session *s)
{
	struct own *o = allot(1, sizeof *o);
	const struct client *c = s->client;
	MQTTAsync_createOptions options = MQTTAsync_createOptions_initializer;
	char at[512];
	s->own = o;
	o->session = s;
	o->lib = load(path);
	pthread_mutex_init(&o->mutex, NULL);
	cond_init(&o->changed);
	options.sendWhileDisconnected = 1;
	options.allowDisconnectedSendAtAnyTime = 1;
	options.maxBufferedMessages = c->window + 1000; // its default is 100
	options.MQTTVersion = c->mqtt5 ? MQTTVERSION_5 : MQTTVERSION_3_1_1;
	options.persistQoS0 = 0;
	uri(at, sizeof at, c, c->endpoints->first->text);
	int rc = o->lib.MQTTAsync_createWithOptions(&o->handle, at, c->id, MQTTCLIENT_PERSISTENCE_NONE, NULL, &options);
	if (rc != MQTTASYNC_SUCCESS) {
		fprintf(stderr, "driver: MQTTAsync_createWithOptions: %d\n", rc);
		exit(1);
	}
	o->lib.MQTTAsync_setCallbacks(o->handle, o, connection_lost, message_arrived, delivered);
	o->lib.MQTTAsync_setDisconnected(o->handle, o, server_disconnected);
	set_properties(o);
	o->lib.MQTTAsync_setTraceCallback(trace);
	o->lib.MQTTAsync_setTraceLevel(MQTTASYNC_TRACE_ERROR);
}

int main(int argc, char **argv)
{
	static struct sdk sdk = {
		.name = "paho.mqtt.c", .dedupes = true, .tls = true, .websocket = true, .cannot = {"pause_connected"},
		.open = open_session, .run = run, .close = close_session, .subscribe = subscribe, .publish = publish,
	};
	if (argc != 2) {
		fprintf(stderr, "driver: the path of Paho's library is needed\n");
		return 1;
	}
	path = argv[1];
	struct library lib = load(path);
	for (MQTTAsync_nameValue *v = lib.MQTTAsync_getVersionInfo(); v->name != NULL; v++)
		if (strcmp(v->name, "Version") == 0)
			sdk.version = v->value;
#ifdef PACKAGED_AS // Debian's 1.3.12 has the code of 1.3.12 and says 1.3.11
	fprintf(stderr, "driver: this is %s, which calls itself %s\n", PACKAGED_AS, sdk.version);
	sdk.version = PACKAGED_AS;
#endif
	return driver_main(&sdk);
}
