#include <stdlib.h>

#include "pahoc.h"

// A suback is waited for, and freed by whoever is the last to hold it.
struct suback {
	struct own *own;
	int holders;
	bool arrived;
	enum outcome outcome;
	int reason;
};

// let_go frees it with its last holder. The mutex is held.
static void let_go(struct suback *a)
{
	if (--a->holders == 0)
		free(a);
}

static void subscribed(struct suback *a, enum outcome o, int reason)
{
	pthread_mutex_t *mutex = &a->own->mutex;
	pthread_mutex_lock(mutex);
	a->arrived = true;
	a->outcome = o;
	a->reason = reason;
	pthread_cond_broadcast(&a->own->changed);
	let_go(a);
	pthread_mutex_unlock(mutex);
}

static void subscribe_success(void *context, MQTTAsync_successData *data)
{
	subscribed(context, OK, data->alt.qos);
}

static void subscribe_success5(void *context, MQTTAsync_successData5 *data)
{
	subscribed(context, OK, (int)data->reasonCode);
}

static void subscribe_failure(void *context, MQTTAsync_failureData *data)
{
	subscribed(context, data->code > 0 ? FAIL : INFO, data->code > 0 ? data->code : 0);
}

static void subscribe_failure5(void *context, MQTTAsync_failureData5 *data)
{
	subscribed(context, data->reasonCode >= 0x80 ? FAIL : INFO, (int)data->reasonCode);
}

struct ack subscribe(struct session *s, const char *filter, int qos)
{
	struct own *o = s->own;
	struct suback *a = allot(1, sizeof *a);
	MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
	a->own = o;
	a->holders = 2;
	if (s->client->mqtt5) {
		options.onSuccess5 = subscribe_success5;
		options.onFailure5 = subscribe_failure5;
	} else {
		options.onSuccess = subscribe_success;
		options.onFailure = subscribe_failure;
	}
	options.context = a;
	if (o->lib.MQTTAsync_subscribe(o->handle, filter, qos, &options) != MQTTASYNC_SUCCESS) {
		free(a);
		return (struct ack){.outcome = FAIL, .text = "MQTTAsync_subscribe does not take it"};
	}
	int64_t deadline = after_ms(WAIT_MS);
	pthread_mutex_lock(&o->mutex);
	while (!a->arrived && !o->over && cond_wait_until(&o->changed, &o->mutex, deadline))
		;
	struct ack ack = {.outcome = INFO, .text = "no SUBACK"};
	if (a->arrived)
		ack = (struct ack){.outcome = a->outcome, .reason = a->reason,
				   .text = a->outcome == OK ? NULL : "the broker refused"};
	let_go(a);
	pthread_mutex_unlock(&o->mutex);
	return ack;
}
