// A reader reads registers: one clean session after the other, and in each what
// is retained on one topic after the other.
#include <string.h>

#include "driver.h"
#include "line.h"
#include "payload.h"

struct reader {
	struct process *p;
	const struct json *topics;
	int every_ms, wait_ms;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool wanted, running;
	int ready;          // the connection that is ready for use
	const char *topic;  // that is being read, NULL for none
	bool found;         // that it holds
	struct fields what; // what it holds
};

struct reader *reader_make(struct process *p, const struct json *work)
{
	struct reader *r = allot(1, sizeof *r);
	r->p = p;
	r->topics = json_get(work, "topics");
	r->every_ms = (int)json_number(work, "every_ms");
	r->wait_ms = (int)json_number(work, "wait_ms");
	pthread_mutex_init(&r->mutex, NULL);
	cond_init(&r->changed);
	return r;
}

void reader_ready(struct reader *r, int conn)
{
	pthread_mutex_lock(&r->mutex);
	r->ready = conn;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
}

void reader_message(struct reader *r, const struct message *m)
{
	pthread_mutex_lock(&r->mutex);
	if (m->retain && r->topic != NULL && !r->found && strcmp(m->topic, r->topic) == 0) {
		r->found = true;
		put_int(&r->what, "q", m->qos);
		put_int(&r->what, "i", m->id);
		put_bool(&r->what, "dup", m->dup);
		put_bool(&r->what, "ret", m->retain);
		put_payload(&r->what, m->payload, m->len);
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->mutex);
}

static bool lost(struct reader *r, int conn)
{
	struct session *s = &r->p->session;
	pthread_mutex_lock(&s->mutex);
	bool lost = !s->up || s->conn != conn;
	pthread_mutex_unlock(&s->mutex);
	return lost;
}

// look waits up to 20 ms, which is how often a lost connection is looked for.
static void look(struct reader *r)
{
	cond_wait_until(&r->changed, &r->mutex, after_ms(20));
}

// fetch reads one register. It is false when the session is of no more use.
static bool fetch(struct reader *r, const char *topic, int conn)
{
	struct fields f = {.len = 0};
	put_text(&f, "k", "fetch");
	put_number(&f, "p", r->p->client.process);
	struct fields call = f;
	put_text(&call, "x", topic);
	put_int(&f, "c", line_call(&call));
	pthread_mutex_lock(&r->mutex);
	r->topic = topic;
	r->found = false;
	r->what.len = 0;
	pthread_mutex_unlock(&r->mutex);

	struct ack a = session_subscribe(&r->p->session, topic, 1, conn);
	a.reason = a.outcome == OK ? 0 : a.reason;
	int64_t empty = after_ms(r->wait_ms);
	pthread_mutex_lock(&r->mutex);
	while (a.outcome == OK && !r->found && now() < empty) {
		look(r);
		if (!r->wanted)
			a = (struct ack){.outcome = INFO, .text = "the process has ended"};
		else if (lost(r, conn))
			a = (struct ack){.outcome = INFO, .text = "connection lost while reading"};
	}
	put_text(&f, "o", outcome_word(a.outcome));
	put_int(&f, "r", a.reason);
	put_text(&f, "x", a.text);
	if (a.outcome == OK && r->found) {
		memcpy(f.json + f.len, r->what.json, r->what.len);
		f.len += r->what.len;
	}
	r->topic = NULL;
	pthread_mutex_unlock(&r->mutex);
	line("return", &f);
	return a.outcome == OK;
}

// read_all reads every register once.
static void read_all(struct reader *r)
{
	pthread_mutex_lock(&r->mutex);
	r->ready = 0; // before the connection, which can be ready at once
	pthread_mutex_unlock(&r->mutex);
	session_connect(&r->p->session);
	pthread_mutex_lock(&r->mutex);
	while (r->wanted && r->ready == 0)
		look(r);
	int conn = r->ready;
	pthread_mutex_unlock(&r->mutex);
	for (const struct json *t = r->topics->first; t != NULL && conn != 0; t = t->next)
		if (!fetch(r, t->text, conn))
			break;
	session_disconnect(&r->p->session);
}

static bool paused(struct process *p)
{
	pthread_mutex_lock(&p->mutex);
	bool paused = p->paused;
	pthread_mutex_unlock(&p->mutex);
	return paused;
}

static void *run(void *arg)
{
	struct reader *r = arg;
	pthread_mutex_lock(&r->mutex);
	while (r->wanted) {
		if (!paused(r->p)) {
			pthread_mutex_unlock(&r->mutex);
			read_all(r);
			pthread_mutex_lock(&r->mutex);
		}
		int64_t next = after_ms(r->every_ms < 20 ? 20 : r->every_ms);
		while (r->wanted && now() < next)
			cond_wait_until(&r->changed, &r->mutex, next);
	}
	r->running = false;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

void reader_connect(struct reader *r)
{
	pthread_t t;
	pthread_mutex_lock(&r->mutex);
	bool start = !r->running;
	r->wanted = r->running = true;
	pthread_mutex_unlock(&r->mutex);
	if (start)
		thread_start(&t, run, r);
}

void reader_disconnect(struct reader *r)
{
	pthread_mutex_lock(&r->mutex);
	r->wanted = false;
	pthread_cond_broadcast(&r->changed);
	while (r->running)
		pthread_cond_wait(&r->changed, &r->mutex);
	pthread_mutex_unlock(&r->mutex);
}
