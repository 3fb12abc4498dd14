#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "line.h"

enum { CONTRACT = 1, RUN_LEN = 8 };

static void refuse(const char *what, const char *which)
{
	fprintf(stderr, "driver: %s %s\n", what, which);
	exit(1);
}

static char *read_line(void)
{
	char *text = NULL;
	size_t size = 0;
	if (getline(&text, &size, stdin) <= 0) {
		free(text);
		return NULL;
	}
	return text;
}

// read_spec reads the specification and ends the driver where it cannot do what
// that says.
static struct json *read_spec(const struct sdk *sdk)
{
	char *text = read_line();
	if (text == NULL)
		refuse("no specification on stdin;", "the driver is started by rmq-mcp");
	struct json *spec = json_read(text);
	if (spec == NULL)
		refuse("the specification is not JSON:", text);
	free(text);
	if (json_number(spec, "contract") != CONTRACT)
		refuse("the specification is of a contract other than", "1");
	if (strlen(json_text(spec, "run")) != RUN_LEN)
		refuse("not 8 characters is the run", json_text(spec, "run"));
	const struct json *clients = json_get(spec, "clients");
	for (const struct json *c = clients == NULL ? NULL : clients->first; c != NULL; c = c->next) {
		const char *protocol = json_text(c, "protocol"), *transport = json_text(c, "transport");
		if (strcmp(protocol, "mqtt3") != 0 && strcmp(protocol, "mqtt5") != 0)
			refuse("it speaks mqtt3 and mqtt5, not", protocol);
		bool ws = strcmp(transport, "ws") == 0, wss = strcmp(transport, "wss") == 0, tls = strcmp(transport, "tls") == 0;
		if (*transport != 0 && strcmp(transport, "tcp") != 0 && !(ws && sdk->websocket) && !(tls && sdk->tls) &&
		    !(wss && sdk->websocket && sdk->tls))
			refuse("it has no transport", transport);
		if (json_count(json_get(c, "endpoints")) == 0)
			refuse("there is no endpoint for", json_text(c, "client_id"));
	}
	return spec;
}

static void hello(const struct sdk *sdk)
{
	struct fields f = {.len = 0};
	put_number(&f, "p", 0);
	put_int(&f, "contract", CONTRACT);
	put_text(&f, "sdk", sdk->name);
	put_text(&f, "version", sdk->version);
	put_text(&f, "clock", "monotonic");
	put_bool(&f, "dedupes", sdk->dedupes);
	f.len += (size_t)sprintf(f.json + f.len, ",\"cannot\":[");
	for (int i = 0; sdk->cannot[i] != NULL; i++)
		f.len += (size_t)sprintf(f.json + f.len, "%s\"%s\"", i == 0 ? "" : ",", sdk->cannot[i]);
	f.len += (size_t)sprintf(f.json + f.len, "]");
	line("hello", &f);
}

struct all {
	struct process **processes;
	int count;
};

// commands hands each command to its processes. The end of stdin ends all.
static void *commands(void *arg)
{
	static const char *const known[] = {"connect", "disconnect", "reconnect", "pause", "resume", "finish", "end"};
	struct all *all = arg;
	for (char *text; (text = read_line()) != NULL; free(text)) {
		struct json *command = json_read(text);
		const char *word = NULL;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (strcmp(json_text(command, "do"), known[i]) == 0)
				word = known[i];
		if (word == NULL) {
			fprintf(stderr, "driver: no command of the contract: %s", text);
			continue;
		}
		int process = json_get(command, "process") == NULL ? -1 : (int)json_number(command, "process");
		for (int i = 0; i < all->count; i++)
			if (process == -1 || process == all->processes[i]->client.process)
				process_do(all->processes[i], word);
	}
	for (int i = 0; i < all->count; i++)
		process_do(all->processes[i], "abandon");
	return NULL;
}

int driver_main(const struct sdk *sdk)
{
	lines_open();
	signal(SIGPIPE, SIG_IGN);
	struct json *spec = read_spec(sdk);
	hello(sdk);
	const struct json *clients = json_get(spec, "clients");
	struct all all = {.count = json_count(clients)};
	all.processes = allot((size_t)all.count + 1, sizeof *all.processes);
	int i = 0;
	pthread_t t;
	for (const struct json *c = clients->first; c != NULL; c = c->next, i++) {
		all.processes[i] = process_make(sdk, spec, c);
		if (strcmp(json_text(c, "start"), "waiting") != 0)
			process_do(all.processes[i], "connect");
	}
	for (i = 0; i < all.count; i++)
		thread_start(&t, process_run, all.processes[i]);
	thread_start(&t, commands, &all);
	for (i = 0; i < all.count; i++) {
		struct process *p = all.processes[i];
		pthread_mutex_lock(&p->mutex);
		while (!p->ended)
			pthread_cond_wait(&p->changed, &p->mutex);
		pthread_mutex_unlock(&p->mutex);
	}
	line_bye();
	fflush(stderr);
	_exit(0); // threads of the SDK may still be around
}
