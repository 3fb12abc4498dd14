package driver;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON: objects are maps, arrays lists, numbers doubles. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads an object. What is none throws an IllegalArgumentException. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        var json = new Json(text);
        var value = json.value();
        if (!(value instanceof Map) || json.next() != 0) {
            throw json.unexpected();
        }
        return (Map<String, Object>) value;
    }

    private Object value() {
        switch (next()) {
            case '{':
                return members();
            case '[':
                return elements();
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> members() {
        var members = new HashMap<String, Object>();
        for (at++; next() != '}'; comma('}')) {
            if (next() != '"') {
                throw unexpected();
            }
            var key = string();
            if (next() != ':') {
                throw unexpected();
            }
            at++;
            members.put(key, value());
        }
        at++;
        return members;
    }

    private List<Object> elements() {
        var elements = new ArrayList<Object>();
        for (at++; next() != ']'; comma(']')) {
            elements.add(value());
        }
        at++;
        return elements;
    }

    private void comma(char end) {
        if (next() == ',') {
            at++;
        } else if (next() != end) {
            throw unexpected();
        }
    }

    private String string() {
        var s = new StringBuilder();
        for (at++; peek() != '"'; at++) {
            if (peek() == 0) {
                throw unexpected();
            }
            if (peek() != '\\') {
                s.append(peek());
                continue;
            }
            at++;
            var escape = "bfnrt".indexOf(peek());
            if (peek() == 'u' && at + 4 < text.length()) {
                s.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                s.append(escape < 0 ? peek() : "\b\f\n\r\t".charAt(escape));
            }
        }
        at++;
        return s.toString();
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw unexpected();
        }
        at += word.length();
        return value;
    }

    private Double number() {
        int from = at;
        while (peek() != 0 && "+-.eE0123456789".indexOf(peek()) >= 0) {
            at++;
        }
        if (at == from) {
            throw unexpected();
        }
        return Double.valueOf(text.substring(from, at));
    }

    /** The next character that is no space, 0 at the end. */
    private char next() {
        while (peek() != 0 && Character.isWhitespace(peek())) {
            at++;
        }
        return peek();
    }

    private char peek() {
        return at < text.length() ? text.charAt(at) : 0;
    }

    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("not JSON at character " + at);
    }
}
