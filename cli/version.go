package cli

import (
	"context"
	"fmt"
	"runtime/debug"
)

// The linker sets these for a release (.ci/compile): the version that was released,
// and the commit that it was built from.
var releasedVersion, releasedRevision string

// versionCommand is `carrel version`.
type versionCommand struct{}

// run prints the version, the commit if it is known, and the version of Go.
func (*versionCommand) run(_ context.Context, s Streams, _ []string) error {
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintln(s.Out, "carrel", describe(info, releasedVersion, releasedRevision))
	return err
}

// Version returns the version of the program: that of the release, or else the one that Go has
// recorded, which is "(devel)" for a build from a directory.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, releasedVersion)
}

// versionOf returns the released version, or else that of the build.
func versionOf(info *debug.BuildInfo, released string) string {
	switch {
	case released != "":
		return released
	case info == nil:
		return "unknown"
	}
	return info.Main.Version
}

// describe adds to the version the commit and the version of Go, if they are known.
func describe(info *debug.BuildInfo, released, revision string) string {
	text := versionOf(info, released)
	if info == nil {
		return text
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && revision == "" {
			revision = setting.Value
		}
	}
	if revision != "" {
		text += " " + revision
	}
	return text + " " + info.GoVersion
}
