package driver;

import java.nio.charset.StandardCharsets;

/** A JSON object of one line, being written. Its first fields are e and t. */
final class Line {
    private final StringBuilder json = new StringBuilder(256);
    private final String event;

    Line(String event) {
        this.event = event;
    }

    Line put(String key, String value) {
        key(key);
        quote(value);
        return this;
    }

    Line put(String key, long value) {
        key(key);
        json.append(value);
        return this;
    }

    Line put(String key, boolean value) {
        key(key);
        json.append(value);
        return this;
    }

    Line put(String key, Iterable<String> values) {
        key(key);
        var separator = '[';
        for (var value : values) {
            json.append(separator);
            quote(value);
            separator = ',';
        }
        json.append(separator == '[' ? "[]" : "]");
        return this;
    }

    /** The field, unless its value is empty. */
    Line opt(String key, String value) {
        return value == null || value.isEmpty() ? this : put(key, value);
    }

    /** The field, unless its value is 0. */
    Line opt(String key, long value) {
        return value == 0 ? this : put(key, value);
    }

    /** The field, unless its value is false. */
    Line opt(String key, boolean value) {
        return value ? put(key, true) : this;
    }

    /** The field i, unless there is no id. */
    Line id(long id) {
        return id == Message.NO_ID ? this : put("i", id);
    }

    /** The line as it is at a time, in nanoseconds. */
    byte[] at(long time) {
        return ("{\"e\":\"" + event + "\",\"t\":" + time + json + "}\n").getBytes(StandardCharsets.UTF_8);
    }

    private void key(String key) {
        json.append(",\"").append(key).append("\":");
    }

    private void quote(String value) {
        json.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < 0x20 || c >= 0x7f && c < 0xa0 || Character.isSurrogate(c)) {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        json.append('"');
    }
}
