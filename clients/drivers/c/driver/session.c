// A session stays connected by a thread of its own, which tries the endpoints
// in turn: SDKs in C connect to one address at a time, or give up the first
// once they have left it.
#include <stdlib.h>

#include "driver.h"
#include "line.h"

void session_init(struct session *s, const struct client *c, struct process *p)
{
	*s = (struct session){.client = c, .process = p};
	pthread_mutex_init(&s->mutex, NULL);
	cond_init(&s->changed);
	p->sdk->open(s);
}

bool session_wanted(struct session *s)
{
	pthread_mutex_lock(&s->mutex);
	bool wanted = s->wanted;
	pthread_mutex_unlock(&s->mutex);
	return wanted;
}

// connect_returned writes the return of the connect, where it is not written.
// The mutex is held.
static void connect_returned(struct session *s, const struct ack *a, bool present)
{
	struct fields f = {.len = 0};
	if (s->call == 0)
		return;
	put_text(&f, "k", "connect");
	put_number(&f, "p", s->client->process);
	put_int(&f, "c", s->call);
	put_text(&f, "o", outcome_word(a->outcome));
	put_int(&f, "r", a->reason);
	put_bool(&f, "sp", present);
	put_text(&f, "x", a->text);
	line("return", &f);
	s->call = 0;
}

struct ready {
	struct session *session;
	bool present;
	int conn;
};

static void *ready(void *arg)
{
	struct ready r = *(struct ready *)arg;
	free(arg);
	process_ready(r.session, r.present, r.conn);
	return NULL;
}

void session_up(struct session *s, bool present)
{
	struct ready *r = allot(1, sizeof *r);
	pthread_t t;
	pthread_mutex_lock(&s->mutex);
	connect_returned(s, &(struct ack){.outcome = OK}, present);
	s->up = true;
	s->turn = 0;
	*r = (struct ready){s, present, ++s->conn};
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	thread_start(&t, ready, r);
}

void session_refused(struct session *s, enum outcome o, int reason, const char *text)
{
	pthread_mutex_lock(&s->mutex);
	connect_returned(s, &(struct ack){.outcome = o, .reason = reason, .text = text}, false);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
}

void session_lost(struct session *s, const char *why)
{
	pthread_mutex_lock(&s->mutex);
	if (s->up) {
		struct fields f = {.len = 0};
		put_text(&f, "k", "disconnect");
		put_number(&f, "p", s->client->process);
		put_text(&f, "x", s->wanted ? why : "closed by the client");
		line("point", &f);
		s->up = false;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
}

// endpoint is the one whose turn it is.
static const char *endpoint(const struct session *s)
{
	const struct json *e = s->client->endpoints->first;
	for (int i = 0; i < s->turn; i++)
		e = e->next;
	return e->text;
}

static void *stay_connected(void *arg)
{
	struct session *s = arg;
	pthread_mutex_lock(&s->mutex);
	while (s->wanted) {
		const char *at = endpoint(s);
		struct fields f = {.len = 0};
		put_text(&f, "k", "connect");
		put_number(&f, "p", s->client->process);
		put_text(&f, "a", at);
		s->call = line_call(&f);
		int before = s->conn;
		pthread_mutex_unlock(&s->mutex);
		s->process->sdk->run(s, at);
		pthread_mutex_lock(&s->mutex);
		connect_returned(s, &(struct ack){.outcome = INFO, .text = "given up"}, false);
		if (s->conn == before)
			s->turn = (s->turn + 1) % json_count(s->client->endpoints);
		int64_t deadline = after_ms(s->turn == 0 ? s->client->reconnect_ms : 0);
		while (s->wanted && cond_wait_until(&s->changed, &s->mutex, deadline))
			;
	}
	s->running = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

void session_connect(struct session *s)
{
	pthread_t t;
	pthread_mutex_lock(&s->mutex);
	s->wanted = s->running = true;
	s->turn = 0;
	pthread_mutex_unlock(&s->mutex);
	thread_start(&t, stay_connected, s);
}

// session_disconnect returns when the connection is closed. A broker that reads
// nothing can make that take as long as the SDK takes to notice; when the
// driver is about to end, the end closes it.
void session_disconnect(struct session *s)
{
	pthread_mutex_lock(&s->mutex);
	s->wanted = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	s->process->sdk->close(s);
	int64_t deadline = after_ms(WAIT_MS);
	pthread_mutex_lock(&s->mutex);
	while (s->running) {
		if (cond_wait_until(&s->changed, &s->mutex, deadline))
			continue;
		if (s->process->ending)
			break;
		deadline = after_ms(WAIT_MS);
	}
	pthread_mutex_unlock(&s->mutex);
	if (s->process->ending)
		session_lost(s, "");
}

struct ack session_subscribe(struct session *s, const char *filter, int qos, int conn)
{
	pthread_mutex_lock(&s->mutex);
	bool current = s->up && s->conn == conn;
	pthread_mutex_unlock(&s->mutex);
	if (!current)
		return (struct ack){.outcome = FAIL, .text = "the connection is lost"};
	return s->process->sdk->subscribe(s, filter, qos);
}
