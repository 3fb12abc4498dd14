// A producer publishes a process's messages, from one thread.
#include <stdlib.h>

#include "driver.h"
#include "line.h"
#include "payload.h"

// catch_up is how much of a delay the pace makes up for, in nanoseconds. What a
// stall kept from being sent for longer is not sent in a burst afterwards.
static const int64_t catch_up = 100000000;

struct stream {
	int stream, qos;
	bool retain;
	const char *topic;
	int64_t next; // sequence number
};

struct producer {
	struct process *p;
	struct stream *streams;
	int count; // of streams
	double rate;
	int64_t first; // how long the first message is put off, in nanoseconds
	int64_t total; // 0: until the end
	size_t payload;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool started, stop, stopped;
	int open;               // messages called and not returned
	struct publish *marker; // the end marker that is waited for
	bool marked;            // and that it returned
	enum outcome marker_outcome;
};

struct producer *producer_make(struct process *p, const struct json *work)
{
	const struct json *streams = json_get(work, "streams");
	struct producer *q = allot(1, sizeof *q);
	int count = json_count(streams), i = 0;
	q->streams = allot((size_t)count + 1, sizeof *q->streams);
	q->p = p;
	q->count = count;
	q->rate = json_number(work, "rate_per_s");
	q->first = (int64_t)(json_number(work, "first_ms") * 1e6);
	q->total = (int64_t)json_number(work, "count");
	q->payload = (size_t)json_number(work, "payload_bytes");
	for (const struct json *s = streams->first; s != NULL; s = s->next)
		q->streams[i++] = (struct stream){.stream = (int)json_number(s, "stream"), .topic = json_text(s, "topic"),
						  .qos = (int)json_number(s, "qos"), .retain = json_bool(s, "retain")};
	pthread_mutex_init(&q->mutex, NULL);
	cond_init(&q->changed);
	return q;
}

static void put_publish(struct fields *f, const struct publish *p)
{
	put_number(f, "p", p->process->client.process);
	put_number(f, "s", p->stream);
	put_number(f, "n", p->seq);
}

// publish publishes the next message of a stream. Its call is in the history
// before the SDK hears of it.
static void publish(struct producer *q, struct stream *s, char kind)
{
	struct publish *p = allot(1, sizeof *p);
	size_t size = q->payload;
	*p = (struct publish){.process = q->p, .seq = s->next++, .stream = s->stream, .topic = s->topic, .qos = s->qos,
			      .retain = s->retain, .marker = kind == 'E'};
	struct header h = {.run = json_text(q->p->spec, "run"), .process = q->p->client.process,
			   .epoch = (int)json_number(q->p->spec, "epoch"), .stream = s->stream, .qos = s->qos,
			   .seq = p->seq, .kind = kind};
	unsigned char *payload = payload_make(&h, &size);
	struct fields f = {.len = 0};
	put_text(&f, "k", "publish");
	put_publish(&f, p);
	put_int(&f, "q", p->qos);
	put_bool(&f, "end", p->marker);
	p->call = line_call(&f);
	if (p->marker) {
		pthread_mutex_lock(&q->mutex);
		q->marker = p;
		q->marked = false;
		pthread_mutex_unlock(&q->mutex);
	}
	q->p->sdk->publish(&q->p->session, p, payload, size);
	free(payload);
}

void told(struct publish *p, enum outcome o, const char *text)
{
	struct fields f = {.len = 0};
	put_text(&f, "k", "told");
	put_publish(&f, p);
	put_text(&f, "o", outcome_word(o));
	put_text(&f, "x", text);
	line("point", &f);
}

void returned(struct publish *p, struct ack a)
{
	struct producer *q = p->process->producer;
	struct fields f = {.len = 0};
	put_text(&f, "k", "publish");
	put_number(&f, "p", p->process->client.process);
	put_int(&f, "c", p->call);
	put_text(&f, "o", outcome_word(a.outcome));
	put_int(&f, "r", a.reason);
	put_int(&f, "i", a.id);
	put_text(&f, "x", a.text);
	line("return", &f);
	pthread_mutex_lock(&q->mutex);
	if (q->marker == p) {
		q->marked = true;
		q->marker_outcome = a.outcome;
	} else if (!p->marker) {
		q->open--;
	}
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->mutex);
	free(p);
}

void producer_wake(struct producer *q)
{
	pthread_mutex_lock(&q->mutex);
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->mutex);
}

// may reports whether the next message may be sent: not while the process is
// paused or to be disconnected, and not beyond the window.
static bool may(struct producer *q)
{
	struct process *p = q->p;
	pthread_mutex_lock(&p->mutex);
	bool paused = p->paused;
	pthread_mutex_unlock(&p->mutex);
	return !paused && session_wanted(&p->session);
}

static void *produce(void *arg)
{
	struct producer *q = arg;
	int64_t due = now() + q->first, interval = q->rate > 0 ? (int64_t)(1e9 / q->rate) : 0;
	pthread_mutex_lock(&q->mutex);
	for (int64_t n = 0; q->total == 0 || n < q->total; n++) {
		while (!q->stop && now() < due)
			cond_wait_until(&q->changed, &q->mutex, due);
		while (!q->stop && !may(q))
			cond_wait_until(&q->changed, &q->mutex, after_ms(20));
		while (!q->stop && q->open >= q->p->client.window)
			pthread_cond_wait(&q->changed, &q->mutex);
		if (q->stop)
			break;
		int64_t late = now() - due;
		if (late > catch_up && interval > 0)
			due += late - late % interval;
		due += interval;
		q->open++;
		pthread_mutex_unlock(&q->mutex);
		publish(q, &q->streams[n % q->count], 'M');
		pthread_mutex_lock(&q->mutex);
	}
	q->stopped = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->mutex);
	return NULL;
}

void producer_start(struct producer *q)
{
	pthread_t t;
	pthread_mutex_lock(&q->mutex);
	bool start = !q->started && !q->stop;
	q->started = q->started || start;
	pthread_mutex_unlock(&q->mutex);
	if (start)
		thread_start(&t, produce, q);
}

static bool given_up(struct producer *q)
{
	pthread_mutex_lock(&q->p->mutex);
	bool quit = q->p->quit;
	pthread_mutex_unlock(&q->p->mutex);
	return quit;
}

// wait waits up to 20 ms, which is how often the end of stdin is looked for. It
// is false once that has come, or the deadline.
static bool wait(struct producer *q, int64_t deadline)
{
	int64_t look = after_ms(20);
	cond_wait_until(&q->changed, &q->mutex, deadline < look ? deadline : look);
	return now() < deadline && !given_up(q);
}

// mark publishes one end marker and waits for its acknowledgement. It is false
// where the outcome is another: the stream goes on by one more marker.
static bool mark(struct producer *q, struct stream *s, int64_t deadline)
{
	publish(q, s, 'E');
	pthread_mutex_lock(&q->mutex);
	bool in_time = true;
	while (!q->marked && in_time)
		in_time = wait(q, deadline);
	bool good = q->marked && q->marker_outcome == OK;
	pthread_mutex_unlock(&q->mutex);
	return good;
}

void producer_finish(struct producer *q)
{
	process_connect(q->p);
	int64_t wait_ms = (int64_t)json_number(q->p->spec, "ack_wait_ms"), deadline = after_ms(wait_ms);
	pthread_mutex_lock(&q->mutex);
	q->stop = true;
	pthread_cond_broadcast(&q->changed);
	bool in_time = true;
	while (in_time && ((q->started && !q->stopped) || q->open > 0))
		in_time = wait(q, deadline);
	bool held = q->started && !q->stopped; // the SDK still holds the last message: a marker would overtake it
	pthread_mutex_unlock(&q->mutex);
	deadline = after_ms(wait_ms);
	int again_ms = q->p->client.reconnect_ms < 10 ? 10 : q->p->client.reconnect_ms;
	for (int i = 0; i < q->count && !held; i++)
		while (!mark(q, &q->streams[i], deadline))
			if (after_ms(again_ms) > deadline || !process_wait(q->p, after_ms(again_ms)))
				return;
}
