package subject

import (
	"reflect"
	"testing"

	"github.com/spf13/pflag"

	"github.com/robustmq/rmq-mcp/cluster"
)

func TestSettings(t *testing.T) {
	var c cluster.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	Flags(f, &c)
	if err := f.Parse([]string{"--set", "limit=3", "--set", "sync=true,dir=/var,x", "--set", `a=null,b="c"`, "--set", "list=[1,2]"}); err == nil {
		t.Error("a word without = was taken")
	}
	c.Settings = nil
	if err := f.Parse([]string{"--set", "limit=3", "--set", "sync=true,dir=/var", "--set", "a=null", "--set", "list=[1,2]"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"limit": 3.0, "sync": true, "dir": "/var", "a": "null", "list": []any{1.0, 2.0}}
	if !reflect.DeepEqual(c.Settings, want) {
		t.Errorf("%v, want %v", c.Settings, want)
	}
}
