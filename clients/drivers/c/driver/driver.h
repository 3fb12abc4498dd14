// What the drivers of C SDKs share: the specification and the commands, the
// lines, the payloads, the pace, the bookkeeping. What an SDK adds is a struct
// sdk, which its file defines.
#ifndef DRIVER_H
#define DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fail.h"
#include "json.h"

// Bounds of connecting and of a SUBACK, in milliseconds.
enum { WAIT_MS = 5000 };

enum outcome { OK, FAIL, INFO };

// An ack is how a call went.
struct ack {
	enum outcome outcome;
	int reason; // MQTT reason code
	int id;     // packet id
	const char *text;
};

// A message is one that arrived.
struct message {
	const char *topic;
	const unsigned char *payload;
	size_t len;
	int qos, id; // id 0: none, or not shown
	bool dup, retain;
};

// A client is one client of the specification.
struct client {
	int process;
	const char *id, *transport, *ca, *user, *password; // "" for what is not set; tcp, tls, ws, wss
	const struct json *endpoints;
	bool mqtt5, clean, tls;
	int expiry_s, keep_alive_s, receive_max, reconnect_ms, delay_ms;
	int window; // publishes that may be outstanding
};

// A session is one MQTT session in the hands of the SDK.
struct session {
	const struct client *client;
	struct process *process;
	void *own; // the SDK's, set by its open

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool wanted;  // to be connected
	bool up;      // connected: CONNACK said yes
	bool running; // its thread runs
	int conn;     // how many connections there were
	int64_t call; // the connect that has not returned
	int turn;     // endpoint
};

// A publish is one that the SDK was asked for.
struct publish {
	struct process *process;
	int64_t call, seq;
	int stream;
	const char *topic;
	int qos;
	bool retain;
	bool marker; // the end of its stream
};

// An sdk is a client library and how to use it.
struct sdk {
	const char *name, *version;
	const char *cannot[8];
	bool dedupes, tls, websocket;

	// open makes a session; it does not connect.
	void (*open)(struct session *s);
	// run connects to an endpoint, host:port, and returns when the attempt has
	// failed or the connection is over. Meanwhile it tells of them by
	// session_up, session_refused and session_lost.
	void (*run)(struct session *s, const char *endpoint);
	// close makes run return, by a DISCONNECT if need be. s->wanted is false.
	void (*close)(struct session *s);
	// subscribe subscribes and waits for the SUBACK.
	struct ack (*subscribe)(struct session *s, const char *filter, int qos);
	// publish hands a message to the SDK. The SDK's own word on it goes to
	// told, once, and what is known of the acknowledgement to returned, at most
	// once and last.
	void (*publish)(struct session *s, struct publish *p, const unsigned char *payload, size_t len);
};

// driver_main is a driver.
int driver_main(const struct sdk *sdk);

// What the SDK's file tells.
void session_up(struct session *s, bool present);                                           // CONNACK said yes
void session_refused(struct session *s, enum outcome o, int reason, const char *text); // the attempt failed
void session_lost(struct session *s, const char *why);                                      // the connection is over
bool session_wanted(struct session *s);
void told(struct publish *p, enum outcome o, const char *text);
void returned(struct publish *p, struct ack ack); // frees p

// arrived is the application's callback for a message. It returns when the
// application is done with it, which a pause or a delay makes later.
void arrived(struct session *s, const struct message *m);

// In time.c: condition variables on the monotonic clock.
void cond_init(pthread_cond_t *c);
// cond_wait_until waits until a time of now; it is false once that is past.
bool cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, int64_t deadline);
int64_t after_ms(int64_t ms);

void thread_start(pthread_t *t, void *(*run)(void *), void *arg);

// Below is for the shared files alone.

// In session.c.
void session_init(struct session *s, const struct client *c, struct process *p);
void session_connect(struct session *s);
void session_disconnect(struct session *s);
struct ack session_subscribe(struct session *s, const char *filter, int qos, int conn);

struct process {
	const struct sdk *sdk;
	const struct json *spec;
	struct client client;
	struct session session;
	struct producer *producer; // NULL for who publishes nothing
	struct reader *reader;     // NULL for who reads no registers

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const char *commands[64];
	int first, count;
	bool paused, quit, ended; // quit: stdin has ended
	bool finished;            // publishing
	_Atomic bool ending;      // nothing comes after this disconnect

	const struct json *filters;
	bool *subscribed; // filters acknowledged
	pthread_mutex_t subscribing;
};

// In process.c.
struct process *process_make(const struct sdk *sdk, const struct json *spec, const struct json *client);
void process_do(struct process *p, const char *command);
void *process_run(void *process);
void process_ready(struct session *s, bool present, int conn);
void process_connect(struct process *p);
// process_wait waits until a time, or the end of stdin: then it is false.
bool process_wait(struct process *p, int64_t deadline);

// In producer.c.
struct producer *producer_make(struct process *p, const struct json *work);
void producer_start(struct producer *q);
void producer_wake(struct producer *q);
void producer_finish(struct producer *q);

// In registers.c.
struct reader *reader_make(struct process *p, const struct json *work);
void reader_connect(struct reader *r);
void reader_disconnect(struct reader *r);
void reader_ready(struct reader *r, int conn);
void reader_message(struct reader *r, const struct message *m);

const char *outcome_word(enum outcome o);

#endif
