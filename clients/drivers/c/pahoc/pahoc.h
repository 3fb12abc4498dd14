// What the files of this driver share.
#ifndef PAHOC_H
#define PAHOC_H

#include <MQTTAsync.h>

#include "driver.h"

#define FUNCTIONS(F)                                                                                              \
	F(MQTTAsync_createWithOptions)                                                                            \
	F(MQTTAsync_setCallbacks)                                                                                 \
	F(MQTTAsync_setDisconnected)                                                                              \
	F(MQTTAsync_connect)                                                                                      \
	F(MQTTAsync_disconnect)                                                                                   \
	F(MQTTAsync_subscribe)                                                                                    \
	F(MQTTAsync_sendMessage)                                                                                  \
	F(MQTTAsync_freeMessage)                                                                                  \
	F(MQTTProperties_add)                                                                                     \
	F(MQTTAsync_free)                                                                                         \
	F(MQTTAsync_setTraceCallback)                                                                             \
	F(MQTTAsync_setTraceLevel)                                                                                \
	F(MQTTAsync_getVersionInfo)

// A library is one copy of the SDK.
struct library {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
#undef FIELD
};

// load makes a copy of the library. Each has variables of its own, because the
// loader takes it for another library.
struct library load(const char *path);

enum { IDS = 65536 };

struct pending;

// An own is what a session has here.
struct own {
	struct session *session;
	struct library lib;
	MQTTAsync handle;
	MQTTProperties properties; // of CONNECT

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool over;       // the attempt, or the connection
	bool up, closing;
	int acked;       // the last token of deliveryComplete
	struct pending *pending[IDS]; // by token
	char why[128];   // the broker's reason for ending the connection
};

// In connection.c.
void run(struct session *s, const char *endpoint);
void close_session(struct session *s);
void uri(char *to, size_t size, const struct client *c, const char *endpoint);
void connection_lost(void *context, char *cause);
void server_disconnected(void *context, MQTTProperties *properties, enum MQTTReasonCodes reason);

// In publish.c.
void publish(struct session *s, struct publish *p, const unsigned char *payload, size_t len);
// delivered: PUBACK, PUBCOMP or a refusing PUBREC was read.
void delivered(void *context, MQTTAsync_token token);

// In subscribe.c.
struct ack subscribe(struct session *s, const char *filter, int qos);

#endif
