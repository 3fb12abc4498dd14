#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

enum { MAX_DEPTH = 32 };

struct reader {
	const char *at;
	int depth;
};

static struct json *value(struct reader *r);

static void space(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

static bool take(struct reader *r, const char *word)
{
	size_t n = strlen(word);
	if (strncmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static struct json *make(enum json_type type)
{
	struct json *v = allot(1, sizeof *v);
	v->type = type;
	return v;
}

static int hex4(const char *s)
{
	int n = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d;
		char c = s[i] >= 'A' && s[i] <= 'F' ? s[i] - 'A' + 'a' : s[i];
		if (c == 0 || (d = strchr(digits, c)) == NULL)
			return -1;
		n = n * 16 + (int)(d - digits);
	}
	return n;
}

static char *utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xC0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3F));
	} else if (c < 0x10000) {
		*to++ = (char)(0xE0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3F));
		*to++ = (char)(0x80 | (c & 0x3F));
	} else {
		*to++ = (char)(0xF0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3F));
		*to++ = (char)(0x80 | (c >> 6 & 0x3F));
		*to++ = (char)(0x80 | (c & 0x3F));
	}
	return to;
}

// escape reads what follows a backslash; NULL where it is no escape.
static char *escape(struct reader *r, char *to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	char c = *r->at++;
	if (c == 'u') {
		int high = hex4(r->at), low;
		if (high < 0)
			return NULL;
		r->at += 4;
		if (high >= 0xD800 && high < 0xDC00 && r->at[0] == '\\' && r->at[1] == 'u' &&
		    (low = hex4(r->at + 2)) >= 0xDC00 && low < 0xE000) {
			r->at += 6;
			high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
		}
		return utf8(to, (unsigned)high);
	}
	const char *found = c == 0 ? NULL : strchr(from, c);
	if (found == NULL)
		return NULL;
	*to++ = into[found - from];
	return to;
}

// string reads a string behind its quote; NULL where it does not end.
static char *string(struct reader *r)
{
	char *text = allot(strlen(r->at) + 1, 1), *to = text; // an escape is longer than what it means
	while (to != NULL && *r->at != '"') {
		char c = *r->at;
		if (c == 0) {
			to = NULL;
		} else {
			r->at++;
			if (c == '\\')
				to = escape(r, to);
			else
				*to++ = c;
		}
	}
	if (to == NULL) {
		free(text);
		return NULL;
	}
	r->at++;
	*to = 0;
	return text;
}

// members reads the members of a list or an object up to its end.
static bool members(struct reader *r, struct json *v, char end)
{
	struct json **last = &v->first;
	space(r);
	if (*r->at == end) {
		r->at++;
		return true;
	}
	for (;;) {
		char *key = NULL;
		space(r);
		if (v->type == JSON_OBJECT) {
			if (!take(r, "\"") || (key = string(r)) == NULL)
				return false;
			space(r);
			if (!take(r, ":"))
				return false;
		}
		struct json *member = value(r);
		if (member == NULL)
			return false;
		member->key = key;
		*last = member;
		last = &member->next;
		space(r);
		char c = *r->at;
		if (c != 0)
			r->at++;
		if (c == end)
			return true;
		if (c != ',')
			return false;
	}
}

static struct json *value(struct reader *r)
{
	struct json *v = NULL;
	bool good = true;
	space(r);
	if (take(r, "{") || take(r, "[")) {
		char end = r->at[-1] == '{' ? '}' : ']';
		v = make(end == '}' ? JSON_OBJECT : JSON_LIST);
		good = ++r->depth <= MAX_DEPTH && members(r, v, end);
		r->depth--;
	} else if (take(r, "\"")) {
		v = make(JSON_TEXT);
		v->text = string(r);
		good = v->text != NULL;
	} else if (take(r, "null")) {
		v = make(JSON_NULL);
	} else if (take(r, "true")) {
		v = make(JSON_BOOL);
		v->number = 1;
	} else if (take(r, "false")) {
		v = make(JSON_BOOL);
	} else {
		char *end;
		v = make(JSON_NUMBER);
		v->number = strtod(r->at, &end);
		good = end != r->at;
		r->at = end;
	}
	return good ? v : NULL;
}

struct json *json_read(const char *text)
{
	struct reader r = {.at = text};
	struct json *v = value(&r);
	space(&r);
	return *r.at == 0 ? v : NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
	if (object == NULL || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *m = object->first; m != NULL; m = m->next)
		if (strcmp(m->key, key) == 0)
			return m;
	return NULL;
}

double json_number(const struct json *object, const char *key)
{
	const struct json *v = json_get(object, key);
	return v != NULL && v->type == JSON_NUMBER ? v->number : 0;
}

bool json_bool(const struct json *object, const char *key)
{
	const struct json *v = json_get(object, key);
	return v != NULL && v->type == JSON_BOOL && v->number != 0;
}

const char *json_text(const struct json *object, const char *key)
{
	const struct json *v = json_get(object, key);
	return v != NULL && v->type == JSON_TEXT ? v->text : "";
}

int json_count(const struct json *list)
{
	int n = 0;
	for (const struct json *m = list == NULL ? NULL : list->first; m != NULL; m = m->next)
		n++;
	return n;
}
