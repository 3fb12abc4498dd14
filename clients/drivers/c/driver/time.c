#include <time.h>

#include "driver.h"
#include "line.h"

void cond_init(pthread_cond_t *c)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

bool cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, int64_t deadline)
{
	struct timespec t = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
	return pthread_cond_timedwait(c, m, &t) == 0 || now() < deadline;
}

int64_t after_ms(int64_t ms)
{
	return now() + ms * 1000000;
}

void thread_start(pthread_t *t, void *(*run)(void *), void *arg)
{
	if (pthread_create(t, NULL, run, arg) != 0)
		own_failure("cannot start a thread");
	pthread_detach(*t);
}
