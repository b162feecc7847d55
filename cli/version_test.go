package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersion_ReleaseTakesPrecedence(t *testing.T) {
	built := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}
	bare := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}}
	for _, c := range []struct {
		info               *debug.BuildInfo
		released, revision string
		version, described string
	}{
		{nil, "", "", "unknown", "unknown"},
		{bare, "", "", "(devel)", "(devel) go1.26"},
		{built, "", "", "(devel)", "(devel) abc go1.26"},
		{built, "v1.2.3", "def", "v1.2.3", "v1.2.3 def go1.26"},
		{bare, "v1.2.3", "", "v1.2.3", "v1.2.3 go1.26"},
	} {
		if got := versionOf(c.info, c.released); got != c.version {
			t.Errorf("version %q, want %q", got, c.version)
		}
		if got := describe(c.info, c.released, c.revision); got != c.described {
			t.Errorf("described %q, want %q", got, c.described)
		}
	}
}
