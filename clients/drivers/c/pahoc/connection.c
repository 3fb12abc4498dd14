#include <stdio.h>
#include <string.h>

#include "pahoc.h"

void uri(char *to, size_t size, const struct client *c, const char *endpoint)
{
	const char *t = c->transport;
	bool ws = strncmp(t, "ws", 2) == 0;
	snprintf(to, size, "%s://%s%s", strcmp(t, "tls") == 0 ? "ssl" : t, endpoint, ws ? "/mqtt" : "");
}

// is_over ends the run of a connection or an attempt.
static void is_over(struct own *o)
{
	pthread_mutex_lock(&o->mutex);
	o->over = true;
	o->up = false;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->mutex);
}

void connection_lost(void *context, char *cause)
{
	struct own *o = context;
	session_lost(o->session, cause != NULL ? cause : *o->why ? o->why : "connection lost");
	is_over(o);
}

void server_disconnected(void *context, MQTTProperties *properties, enum MQTTReasonCodes reason)
{
	struct own *o = context;
	(void)properties;
	snprintf(o->why, sizeof o->why, "the broker disconnected, reason %d", (int)reason);
}

static void closed(void *context, MQTTAsync_successData *data)
{
	struct own *o = context;
	(void)data;
	session_lost(o->session, "closed by the client");
	is_over(o);
}

static void closed5(void *context, MQTTAsync_successData5 *data)
{
	(void)data;
	closed(context, NULL);
}

// disconnect asks for a DISCONNECT, once for each connection.
static void disconnect(struct own *o)
{
	pthread_mutex_lock(&o->mutex);
	bool ask = o->up && !o->closing;
	o->closing = o->closing || ask;
	pthread_mutex_unlock(&o->mutex);
	if (!ask)
		return;
	MQTTAsync_disconnectOptions options = MQTTAsync_disconnectOptions_initializer,
				    options5 = MQTTAsync_disconnectOptions_initializer5;
	if (o->session->client->mqtt5)
		options = options5;
	if (o->session->client->mqtt5)
		options.onSuccess5 = closed5;
	else
		options.onSuccess = closed;
	options.context = o;
	o->lib.MQTTAsync_disconnect(o->handle, &options);
}

static void connected(struct own *o, bool present)
{
	session_up(o->session, present);
	pthread_mutex_lock(&o->mutex);
	o->up = true;
	*o->why = 0;
	pthread_mutex_unlock(&o->mutex);
	if (!session_wanted(o->session))
		disconnect(o);
}

static void connect_success(void *context, MQTTAsync_successData *data)
{
	connected(context, data->alt.connect.sessionPresent);
}

static void connect_success5(void *context, MQTTAsync_successData5 *data)
{
	connected(context, data->alt.connect.sessionPresent);
}

// refused tells of a failed attempt. Of these texts of nextOrClose the first two
// may come when the CONNECT was sent.
static void refused(struct own *o, int code, const char *text)
{
	static const char *const unknown[] = {"TCP connect timeout", "socket error", "TCP connect completion failure"};
	enum outcome outcome = FAIL;
	for (size_t i = 0; text != NULL && i < sizeof unknown / sizeof *unknown; i++)
		if (strcmp(text, unknown[i]) == 0)
			outcome = INFO;
	session_refused(o->session, outcome, code > 0 ? code : 0, text != NULL ? text : "cannot connect");
	is_over(o);
}

static void connect_failure(void *context, MQTTAsync_failureData *data)
{
	refused(context, data->code, data->message);
}

static void connect_failure5(void *context, MQTTAsync_failureData5 *data)
{
	refused(context, data->reasonCode > 0 ? (int)data->reasonCode : data->code, data->message);
}

void run(struct session *s, const char *endpoint)
{
	struct own *o = s->own;
	const struct client *c = s->client;
	MQTTAsync_connectOptions options = MQTTAsync_connectOptions_initializer,
				 options5 = MQTTAsync_connectOptions_initializer5;
	MQTTAsync_SSLOptions tls = MQTTAsync_SSLOptions_initializer;
	char at[512], *servers[] = {at};
	uri(at, sizeof at, c, endpoint);
	if (c->mqtt5) {
		options = options5;
		options.cleanstart = c->clean;
		options.connectProperties = &o->properties;
		options.onSuccess5 = connect_success5;
		options.onFailure5 = connect_failure5;
	} else {
		options.MQTTVersion = MQTTVERSION_3_1_1;
		options.cleansession = c->clean;
		options.onSuccess = connect_success;
		options.onFailure = connect_failure;
	}
	options.context = o;
	options.keepAliveInterval = c->keep_alive_s;
	options.connectTimeout = WAIT_MS / 1000; // for connection and CONNACK together; looked at every 3 s
	options.serverURIcount = 1;
	options.serverURIs = servers;
	options.username = *c->user ? c->user : NULL;
	options.password = *c->user ? c->password : NULL;
	if (c->tls) {
		tls.trustStore = c->ca;
		tls.enableServerCertAuth = 1;
		tls.verify = 0; // names are not compared
		options.ssl = &tls;
	}
	pthread_mutex_lock(&o->mutex);
	o->over = o->up = o->closing = false;
	pthread_mutex_unlock(&o->mutex);
	int rc = o->lib.MQTTAsync_connect(o->handle, &options);
	if (rc != MQTTASYNC_SUCCESS) {
		char text[64];
		snprintf(text, sizeof text, "MQTTAsync_connect: %d", rc);
		session_refused(s, FAIL, 0, text);
		return;
	}
	pthread_mutex_lock(&o->mutex);
	while (!o->over)
		pthread_cond_wait(&o->changed, &o->mutex);
	pthread_mutex_unlock(&o->mutex);
}

void close_session(struct session *s)
{
	disconnect(s->own);
}
