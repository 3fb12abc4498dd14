#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "line.h"
#include "payload.h"

const char *outcome_word(enum outcome o)
{
	return o == OK ? "ok" : o == FAIL ? "fail" : "info";
}

struct process *process_make(const struct sdk *sdk, const struct json *spec, const struct json *c)
{
	const struct json *work = json_get(c, "publish"), *registers = json_get(c, "read_registers");
	struct process *p = allot(1, sizeof *p);
	p->sdk = sdk;
	p->spec = spec;
	p->client = (struct client){
		.process = (int)json_number(c, "process"),
		.id = json_text(c, "client_id"),
		.transport = *json_text(c, "transport") ? json_text(c, "transport") : "tcp",
		.ca = json_text(c, "ca"),
		.user = json_text(c, "username"),
		.password = json_text(c, "password"),
		.endpoints = json_get(c, "endpoints"),
		.mqtt5 = strcmp(json_text(c, "protocol"), "mqtt5") == 0,
		.clean = json_bool(c, "clean") || registers != NULL,
		.expiry_s = registers != NULL ? 0 : (int)json_number(c, "expiry_s"),
		.keep_alive_s = (int)json_number(c, "keep_alive_s"),
		.receive_max = (int)json_number(c, "receive_max"),
		.reconnect_ms = (int)json_number(c, "reconnect_ms"),
		.delay_ms = (int)json_number(c, "delay_ms"),
		.window = (int)json_number(work, "max_inflight"),
	};
	p->client.tls = strcmp(p->client.transport, "tls") == 0 || strcmp(p->client.transport, "wss") == 0;
	if (p->client.window <= 0)
		p->client.window = 20;
	p->filters = registers != NULL ? NULL : json_get(c, "subscribe");
	p->subscribed = allot((size_t)json_count(p->filters) + 1, sizeof *p->subscribed);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_mutex_init(&p->subscribing, NULL);
	cond_init(&p->changed);
	if (registers != NULL)
		p->reader = reader_make(p, registers);
	else if (json_get(work, "streams") != NULL)
		p->producer = producer_make(p, work);
	session_init(&p->session, &p->client, p);
	return p;
}

void process_do(struct process *p, const char *command)
{
	pthread_mutex_lock(&p->mutex);
	if (strcmp(command, "abandon") == 0) {
		p->quit = p->ending = true;
		p->count = 0;
	}
	int size = sizeof p->commands / sizeof *p->commands;
	if (p->count < size)
		p->commands[(p->first + p->count++) % size] = command;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
}

static const char *next(struct process *p)
{
	pthread_mutex_lock(&p->mutex);
	while (p->count == 0)
		pthread_cond_wait(&p->changed, &p->mutex);
	const char *command = p->commands[p->first];
	p->first = (p->first + 1) % (int)(sizeof p->commands / sizeof *p->commands);
	p->count--;
	pthread_mutex_unlock(&p->mutex);
	return command;
}

static void point(struct process *p, const char *kind)
{
	struct fields f = {.len = 0};
	put_text(&f, "k", kind);
	put_number(&f, "p", p->client.process);
	line("point", &f);
}

static void set_paused(struct process *p, bool paused)
{
	pthread_mutex_lock(&p->mutex);
	bool change = p->paused != paused;
	p->paused = paused;
	pthread_cond_broadcast(&p->changed);
	if (change)
		point(p, paused ? "pause" : "resume");
	pthread_mutex_unlock(&p->mutex);
	if (p->producer != NULL)
		producer_wake(p->producer);
}

void process_connect(struct process *p)
{
	if (p->reader != NULL)
		reader_connect(p->reader);
	else if (!session_wanted(&p->session))
		session_connect(&p->session);
	if (p->producer != NULL)
		producer_wake(p->producer);
}

static void disconnect(struct process *p)
{
	if (p->reader != NULL)
		reader_disconnect(p->reader);
	else if (session_wanted(&p->session))
		session_disconnect(&p->session);
}

void *process_run(void *process)
{
	struct process *p = process;
	for (bool over = false; !over;) {
		const char *command = next(p);
		bool end = strcmp(command, "end") == 0, again = strcmp(command, "reconnect") == 0;
		over = end || strcmp(command, "abandon") == 0;
		if ((end || strcmp(command, "finish") == 0) && p->producer != NULL && !p->finished) {
			p->finished = true;
			producer_finish(p->producer);
		}
		if (over) {
			pthread_mutex_lock(&p->mutex);
			p->ending = true;
			pthread_cond_broadcast(&p->changed);
			pthread_mutex_unlock(&p->mutex);
		}
		if (over || again || strcmp(command, "disconnect") == 0)
			disconnect(p);
		if (again || strcmp(command, "connect") == 0)
			process_connect(p);
		if (strcmp(command, "pause") == 0 || strcmp(command, "resume") == 0)
			set_paused(p, *command == 'p');
	}
	pthread_mutex_lock(&p->mutex);
	p->ended = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

bool process_wait(struct process *p, int64_t deadline)
{
	pthread_mutex_lock(&p->mutex);
	while (!p->quit && cond_wait_until(&p->changed, &p->mutex, deadline))
		;
	bool quit = p->quit;
	pthread_mutex_unlock(&p->mutex);
	return !quit;
}

// subscribe asks for the subscriptions that the session cannot have: all of
// them where the broker did not keep it, else those never acknowledged.
static void subscribe(struct process *p, bool present, int conn)
{
	int i = 0;
	for (const struct json *s = p->filters == NULL ? NULL : p->filters->first; s != NULL; s = s->next, i++) {
		if (present && p->subscribed[i])
			continue;
		const char *filter = json_text(s, "filter");
		int qos = (int)json_number(s, "qos");
		struct fields f = {.len = 0}, r = {.len = 0};
		put_text(&f, "k", "subscribe");
		put_number(&f, "p", p->client.process);
		put_int(&f, "q", qos);
		put_text(&f, "x", filter);
		int64_t call = line_call(&f);
		struct ack a = session_subscribe(&p->session, filter, qos, conn);
		p->subscribed[i] = a.outcome == OK;
		put_text(&r, "k", "subscribe");
		put_number(&r, "p", p->client.process);
		put_int(&r, "c", call);
		put_text(&r, "o", outcome_word(a.outcome));
		put_int(&r, "r", a.reason);
		put_text(&r, "x", a.text);
		line("return", &r);
	}
}

void process_ready(struct session *s, bool present, int conn)
{
	struct process *p = s->process;
	if (p->reader != NULL) {
		reader_ready(p->reader, conn);
		return;
	}
	pthread_mutex_lock(&p->subscribing);
	subscribe(p, present, conn);
	pthread_mutex_unlock(&p->subscribing);
	if (p->producer != NULL)
		producer_start(p->producer);
}

// hold waits while the process is paused, or until a time, unless the session
// is to be disconnected.
static void hold(struct session *s, int64_t deadline)
{
	struct process *p = s->process;
	pthread_mutex_lock(&p->mutex);
	while (session_wanted(s) && (deadline != 0 || p->paused)) {
		int64_t look = after_ms(20); // at what has another mutex
		bool last = deadline != 0 && deadline < look;
		if (!cond_wait_until(&p->changed, &p->mutex, last ? deadline : look) && last)
			break;
	}
	pthread_mutex_unlock(&p->mutex);
}

void arrived(struct session *s, const struct message *m)
{
	struct process *p = s->process;
	if (p->reader != NULL) {
		reader_message(p->reader, m);
		return;
	}
	hold(s, 0);
	struct fields f = {.len = 0};
	put_text(&f, "k", "deliver");
	put_number(&f, "p", p->client.process);
	put_int(&f, "q", m->qos);
	put_int(&f, "i", m->id);
	put_bool(&f, "dup", m->dup);
	put_bool(&f, "ret", m->retain);
	put_payload(&f, m->payload, m->len);
	put_text(&f, "x", m->topic);
	line("point", &f);
	if (p->client.delay_ms > 0)
		hold(s, after_ms(p->client.delay_ms));
}
