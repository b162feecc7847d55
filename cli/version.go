package cli

import (
	"fmt"
	"runtime/debug"
)

// versionCommand is `carrel version`.
type versionCommand struct{}

// Run prints the module's version and what it was built from.
func (*versionCommand) Run(s Streams) error {
	version, revision := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = " " + setting.Value
			}
		}
		version += revision + " " + info.GoVersion
	}
	_, err := fmt.Fprintln(s.Out, "carrel", version)
	return err
}
