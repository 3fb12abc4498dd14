// Reading JSON: the specification and the commands.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

// A json is one value; what is in a list or an object hangs on first and next.
struct json {
	enum json_type type;
	double number; // of a bool: 0 or 1
	char *text;    // UTF-8
	char *key;     // in an object
	struct json *first, *next;
};

// json_read reads one value that is all of the text; NULL where it is not
// JSON. The value is never freed: it is the specification, or a command.
struct json *json_read(const char *text);

// json_get is a member of an object, NULL where there is none; of NULL it is
// NULL. The others are its value, or zero, false, "" where there is none.
const struct json *json_get(const struct json *object, const char *key);
double json_number(const struct json *object, const char *key);
bool json_bool(const struct json *object, const char *key);
const char *json_text(const struct json *object, const char *key);
int json_count(const struct json *list);

#endif
