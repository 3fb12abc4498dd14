#include "line.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int out = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t written, calls;

int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// room is how long a field may get and still leave the line whole JSON.
static size_t room(const struct fields *f)
{
	return sizeof f->json - 16 - f->len;
}

static bool key_of(struct fields *f, const char *key)
{
	if (room(f) < strlen(key) + 32)
		return false;
	f->len += (size_t)sprintf(f->json + f->len, ",\"%s\":", key);
	return true;
}

void put_number(struct fields *f, const char *key, int64_t n)
{
	if (key_of(f, key))
		f->len += (size_t)sprintf(f->json + f->len, "%" PRId64, n);
}

void put_int(struct fields *f, const char *key, int64_t n)
{
	if (n != 0)
		put_number(f, key, n);
}

void put_bool(struct fields *f, const char *key, bool v)
{
	if (v && key_of(f, key))
		f->len += (size_t)sprintf(f->json + f->len, "true");
}

// quote adds bytes between quotes, and escapes them up to the highest that are
// as they are.
static void quote(struct fields *f, const char *key, const unsigned char *bytes, size_t len, unsigned char highest)
{
	if (!key_of(f, key))
		return;
	f->json[f->len++] = '"';
	for (size_t i = 0; i < len && room(f) > 8; i++) {
		unsigned char c = bytes[i];
		if (c < ' ' || c == 0x7f || c > highest || c == '"' || c == '\\')
			f->len += (size_t)sprintf(f->json + f->len, "\\u%04x", c);
		else
			f->json[f->len++] = (char)c;
	}
	f->json[f->len++] = '"';
}

void put_text(struct fields *f, const char *key, const char *text)
{
	if (text != NULL && *text != 0)
		quote(f, key, (const unsigned char *)text, strlen(text), 0xff);
}

void put_bytes(struct fields *f, const char *key, const unsigned char *bytes, size_t len)
{
	quote(f, key, bytes, len, '~');
}

void lines_open(void)
{
	out = dup(1);
	if (out < 0 || dup2(2, 1) < 0) {
		perror("driver: move stdout away");
		exit(1);
	}
}

// emit writes a line; the lock is held, so that times are in order of lines.
static void emit(const char *event, const struct fields *f, int64_t number)
{
	char text[4096];
	int n = sprintf(text, "{\"e\":\"%s\",\"t\":%" PRId64, event, now());
	if (number != 0)
		n += sprintf(text + n, ",\"c\":%" PRId64, number);
	if (f != NULL) {
		memcpy(text + n, f->json, f->len);
		n += (int)f->len;
	}
	memcpy(text + n, "}\n", 2);
	n += 2;
	for (char *at = text; n > 0;) {
		ssize_t wrote = write(out, at, (size_t)n);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			_exit(1);
		at += wrote;
		n -= (int)wrote;
	}
	written++;
}

void line(const char *event, const struct fields *f)
{
	pthread_mutex_lock(&lock);
	emit(event, f, 0);
	pthread_mutex_unlock(&lock);
}

int64_t line_call(const struct fields *f)
{
	pthread_mutex_lock(&lock);
	int64_t number = ++calls;
	emit("call", f, number);
	pthread_mutex_unlock(&lock);
	return number;
}

void line_bye(void)
{
	pthread_mutex_lock(&lock); // for good: a thread that still ends a call must not write behind it
	struct fields f = {.len = 0};
	put_number(&f, "lines", written);
	emit("bye", &f, 0);
}
