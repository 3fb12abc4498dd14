#include <stdio.h>
#include <stdlib.h>

#include "pahoc.h"

// A pending publish is one that the SDK was handed.
struct pending {
	struct own *own;
	struct publish *publish; // NULL once it has returned
	int token;
	bool handed; // MQTTAsync_sendMessage has returned
	bool done;   // its outcome is known: ack
	bool orphan; // its onFailure was called, and it stays in flight
	struct ack ack;
};

// settle returns a publish whose outcome is known. The mutex is held.
static void settle(struct pending *p)
{
	if (!p->handed || !p->done)
		return;
	if (p->publish->qos > 0 && p->own->pending[p->token] == p)
		p->own->pending[p->token] = NULL;
	p->ack.id = p->token;
	returned(p->publish, p->ack);
	free(p);
}

// The response's own callback comes next, where there still is one.
void delivered(void *context, MQTTAsync_token token)
{
	struct own *o = context;
	pthread_mutex_lock(&o->mutex);
	struct pending *p = o->pending[token & (IDS - 1)];
	o->acked = token;
	if (p != NULL && p->orphan) {
		p->done = true;
		p->ack = (struct ack){.outcome = OK};
		settle(p);
	}
	pthread_mutex_unlock(&o->mutex);
}

static void sent(struct pending *p, int token)
{
	struct own *o = p->own;
	pthread_mutex_lock(&o->mutex);
	bool acked = p->publish->qos == 0 || o->acked == token;
	told(p->publish, OK, NULL);
	p->done = true;
	p->ack = (struct ack){.outcome = acked ? OK : INFO, .text = acked ? NULL : "no acknowledgement was read"};
	settle(p);
	pthread_mutex_unlock(&o->mutex);
}

static void send_success(void *context, MQTTAsync_successData *data)
{
	sent(context, data->token);
}

static void send_success5(void *context, MQTTAsync_successData5 *data)
{
	sent(context, data->token);
}

static void failed(struct pending *p, int code, int reason, bool pubcomp)
{
	struct own *o = p->own;
	char text[64];
	snprintf(text, sizeof text, reason != 0 ? "reason %d" : "code %d", reason != 0 ? reason : code);
	pthread_mutex_lock(&o->mutex);
	told(p->publish, FAIL, text);
	if (reason >= 0x80)
		p->ack = (struct ack){.outcome = pubcomp ? INFO : FAIL, .reason = reason, .text = "the broker refused"};
	else if (p->publish->qos == 0)
		p->ack = (struct ack){.outcome = INFO, .text = "not written"};
	else if (code == MQTTASYNC_OPERATION_INCOMPLETE)
		p->ack = (struct ack){.outcome = INFO, .text = "given up with the session"};
	else
		p->orphan = true;
	p->done = !p->orphan;
	settle(p);
	pthread_mutex_unlock(&o->mutex);
}

static void send_failure(void *context, MQTTAsync_failureData *data)
{
	failed(context, data->code, 0, false);
}

static void send_failure5(void *context, MQTTAsync_failureData5 *data)
{
	enum { PUBCOMP = 7 };
	failed(context, data->code, data->reasonCode, data->packet_type == PUBCOMP);
}

void publish(struct session *s, struct publish *publish, const unsigned char *payload, size_t len)
{
	struct own *o = s->own;
	struct pending *p = allot(1, sizeof *p);
	MQTTAsync_message message = MQTTAsync_message_initializer;
	MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
	p->own = o;
	p->publish = publish;
	message.payload = (void *)payload;
	message.payloadlen = (int)len;
	message.qos = publish->qos;
	message.retained = publish->retain;
	if (s->client->mqtt5) {
		options.onSuccess5 = send_success5;
		options.onFailure5 = send_failure5;
	} else {
		options.onSuccess = send_success;
		options.onFailure = send_failure;
	}
	options.context = p;
	int rc = o->lib.MQTTAsync_sendMessage(o->handle, publish->topic, &message, &options);
	pthread_mutex_lock(&o->mutex);
	p->handed = true;
	p->token = options.token;
	if (rc != MQTTASYNC_SUCCESS) {
		char text[64];
		snprintf(text, sizeof text, "MQTTAsync_sendMessage: %d", rc);
		told(publish, FAIL, text);
		p->done = true;
		p->token = 0;
		p->ack = (struct ack){.outcome = FAIL, .text = text};
		settle(p);
	} else {
		if (publish->qos > 0)
			o->pending[p->token] = p;
		settle(p);
	}
	pthread_mutex_unlock(&o->mutex);
}
