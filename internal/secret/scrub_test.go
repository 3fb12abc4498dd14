package secret

import "testing"

func TestScrubLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"RobustMQ's configuration as JSON",
			`2026-11-21T01:07:00.123Z INFO broker_server::common: broker config:{"cluster_name":"robustmq","admin":{"username":"admin","password":"admin","jwt_secret":"robustmq-change-me-in-production","token_ttl_hours":8},"mqtt_runtime":{"auth":{"default_user":"admin","default_password":"robustmq","secret_free_login":false}}}`,
			`2026-11-21T01:07:00.123Z INFO broker_server::common: broker config:{"cluster_name":"robustmq","admin":{"username":"admin","password":"[scrubbed]","jwt_secret":"[scrubbed]","token_ttl_hours":8},"mqtt_runtime":{"auth":{"default_user":"admin","default_password":"[scrubbed]","secret_free_login":false}}}`},
		{"Debug of Rust",
			`MqttAuthConfig { default_user: "admin", default_password: "robustmq", durable_sessions_enable: true, secret_free_login: false }`,
			`MqttAuthConfig { default_user: "admin", default_password: "[scrubbed]", durable_sessions_enable: true, secret_free_login: false }`},
		{"Debug of an option", `Login { username: "u", password: Some("s3 cret") }`, `Login { username: "u", password: Some("[scrubbed]") }`},
		{"Debug of bytes", `password: b"\x00abc", password: [114, 111, 98]`, `password: b"[scrubbed]", password: [[scrubbed]]`},
		{"an escaped quote", `password: "a\"b", user: "x"`, `password: "[scrubbed]", user: "x"`},
		{"JSON in a JSON string", `{"msg":"login {\"password\":\"hunter2\",\"user\":\"u\"}"}`, `{"msg":"login {\"password\":\"[scrubbed]\",\"user\":\"u\"}"}`},
		{"key=value", `connect user=admin passwd=hunter2 port=1883`, `connect user=admin passwd=[scrubbed] port=1883`},
		{"TOML", `jwt_secret = "robustmq-change-me"`, `jwt_secret = "[scrubbed]"`},
		{"YAML", `  password: hunter2`, `  password: [scrubbed]`},
		{"single quotes", `api_key='abc def'`, `api_key='[scrubbed]'`},
		{"a header", `> Authorization: Bearer eyJhbGciOi.J9.x-y`, `> Authorization: Bearer [scrubbed]`},
		{"a header as JSON", `{"authorization":"Basic YWRtaW46YWRtaW4="}`, `{"authorization":"[scrubbed]"}`},
		{"a URL", `dial mqtt://admin:hunter2@127.0.0.1:1883`, `dial mqtt://admin:[scrubbed]@127.0.0.1:1883`},
		{"colours", "\x1b[3mpassword\x1b[0m\x1b[2m=\x1b[0m\"admin\"", "\x1b[3mpassword\x1b[0m\x1b[2m=\x1b[0m\"[scrubbed]\""},
		{"two on a line", `token=a1 secret=b2`, `token=[scrubbed] secret=[scrubbed]`},
		{"before a colon", `connect with password=hunter2: refused`, `connect with password=[scrubbed] refused`},
		{"with a colon", `password=hun:ter2 x`, `password=[scrubbed] x`},
		{"base64", `token: aHVudGVyMg== x`, `token: [scrubbed] x`},
		{"within a quoted text", `msg="login password=hunter2" x`, `msg="login password=[scrubbed]" x`},
		{"within JSON", `{"msg":"login password=hunter2"}`, `{"msg":"login password=[scrubbed]"}`},
		{"no value", `WARN auth::password::check: bad password for user admin`, `WARN auth::password::check: bad password for user admin`},
		{"a flag", `use_token: true, password: None`, `use_token: true, password: None`},
		{"the vendor's name", `INFO robustmq broker robustmq starts at /opt/robustmq/data`, `INFO robustmq broker robustmq starts at /opt/robustmq/data`},
		{"a source file", `at src/common/password.rs:45 in tokens`, `at src/common/password.rs:45 in tokens`},
		{"an address", `http://127.0.0.1:58080/metrics`, `http://127.0.0.1:58080/metrics`},
		{"an environment", `AWS_SECRET_ACCESS_KEY=hunter2 secret_key=a1 TOKEN_VALUE=b2 access_key: c3`, `AWS_SECRET_ACCESS_KEY=[scrubbed] secret_key=[scrubbed] TOKEN_VALUE=[scrubbed] access_key: [scrubbed]`},
		{"its short name", `user=u pass=hunter2 db_pass: "x y" bypass=yes`, `user=u pass=[scrubbed] db_pass: "[scrubbed]" bypass=yes`},
		{"a quote that is not closed", `password="hunt er2`, `password="[scrubbed]`},
		{"a quote in what was cut", `password="it's ec`, `password="[scrubbed]`},
		{"a path of names before a value", `WARN auth::token=hunter2 x`, `WARN auth::token=[scrubbed] x`},
		{"a path of names", `WARN auth::token: failed to parse`, `WARN auth::token: failed to parse`},
		{"a sentence", `Bad user name or password: Not authorized`, `Bad user name or password: Not authorized`},
		{"a setting of tokens", `"token_ttl_hours":8, "keys": 3, monkey=7`, `"token_ttl_hours":8, "keys": 3, monkey=7`},
		{"nothing", "", ""},
	} {
		if got := string(New().Line([]byte(c.line))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if got := string(New().Line([]byte(c.want))); got != c.want {
			t.Errorf("%s: scrubbed again it is %s", c.name, got)
		}
	}
}

func TestScrubKnownSecrets(t *testing.T) {
	s := New("robustmq", "p+q", "")
	for _, c := range []struct{ line, want string }{
		{`INFO robustmq starts, robustmq-server 0.4.11`, `INFO robustmq starts, robustmq-server 0.4.11`},
		{`creds: "robustmq"`, `creds: "[scrubbed]"`},
		{`pw=robustmq, x`, `pw=[scrubbed], x`},
		{`data in /opt/robustmq/data`, `data in /opt/robustmq/data`},
		{`pw=p+q`, `pw=[scrubbed]`},
		{`pw=ppq`, `pw=ppq`},
	} {
		if got := string(s.Line([]byte(c.line))); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestScrubText(t *testing.T) {
	in := "\x1b[3mpassword\x1b[0m=\x1b[1mhunter2\x1b[0m\n\x1b]0;title\atoken: abc\n"
	if got, want := New().Text(in), "password=[scrubbed]\n␛]0;title␇token: [scrubbed]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnd(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		cut  bool
		want string
	}{
		{"a\nb\n", 10, false, "a\nb\n"},
		{"ter2\nb\n", 10, true, "b\n"},
		{"one\ntwo\nthree\n", 9, false, "three\n"},
		{"cut, and without an end", 10, true, ""},
		{"password=hunter2 and more", 8, false, "and more"},
		{"x password=hunter2", 6, false, "ubbed]"},
		{"x→yz", 4, false, "yz"},
	} {
		if got := New().End([]byte(c.text), c.n, c.cut); got != c.want {
			t.Errorf("the last %d bytes of %q are %q, want %q", c.n, c.text, got, c.want)
		}
	}
}

func BenchmarkScrub(b *testing.B) {
	line := []byte(`2026-11-21T01:07:00.123Z  INFO mqtt_broker::handler: client r1 published packet 17 to work/q1 in 1.2ms` + "\n")
	s := New("robustmq")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		s.Line(line)
	}
}
