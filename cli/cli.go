// Package cli implements the commands of the program, one in each file. A command reads its flags
// with package config, calls the package that does the work, and prints the result. It has no rules
// of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"carrel/config"
)

// Exit codes.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// Streams are the outputs of a command: Out for its result, Err for its log, progress and errors.
type Streams struct{ Out, Err io.Writer }

// ServeFunc serves the API until ctx ends. Package main implements it, because it
// connects all layers around the domain.
type ServeFunc func(ctx context.Context, cfg config.Config, out io.Writer) error

// commandLine declares the commands and flags, and contains their values after parsing.
type commandLine struct {
	ConfigFile string `name:"config" help:"JSON file with values for flags that are given neither on the command line nor in the environment." placeholder:"FILE"`

	Serve   serveCommand   `cmd:"" help:"Serve the API."`
	Token   tokenCommand   `cmd:"" help:"Print a token for a user."`
	Import  importCommand  `cmd:"" help:"Store users, groups and content from a file of JSON lines."`
	Export  exportCommand  `cmd:"" help:"Write users, groups and content as JSON lines, in the format of import."`
	Forget  forgetCommand  `cmd:"" help:"Delete a user for good, and print what is gone and what stays as JSON."`
	Copy    copyCommand    `cmd:"" help:"Copy a whole store to a new one, of the same or another kind."`
	Migrate migrateCommand `cmd:"" help:"Bring the schema of a store up to date."`
	Audit   auditCommand   `cmd:"" help:"Compare all derived rows with the rows they are derived from, and print a summary as JSON."`
	Rebuild rebuildCommand `cmd:"" help:"Rebuild libraries and other derived rows from the rows they are derived from."`
	Health  healthCommand  `cmd:"" help:"Ask the gateway on this machine whether it is ready; fail if it is not."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// Execute runs one command line and returns its exit code. serve
// implements the command of that name.
func Execute(ctx context.Context, args []string, s Streams, serve ServeFunc) int {
	err := run(ctx, args, s, serve)
	var usage *config.UsageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage):
		fmt.Fprintf(s.Err, "carrel: %s\n", err)
		return ExitUsage
	}
	fmt.Fprintf(s.Err, "carrel: %s\n", err)
	return ExitFailed
}

// helpShown is the value of the panic that ends parsing after the help was printed.
type helpShown struct{}

// newParser returns a parser that reads command lines into line.
func newParser(line *commandLine, ctx context.Context, s Streams, serve ServeFunc) (*kong.Kong, error) {
	return kong.New(line,
		kong.Name("carrel"), kong.Description("A GraphQL gateway for libraries of shared content."),
		kong.DefaultEnvars("CARREL"), kong.Writers(s.Out, s.Err), kong.ValueFormatter(withDefault),
		kong.WithBeforeResolve(config.TakeConfigFile),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s, serve),
	)
}

// withDefault returns the help text of a flag with its default and its variable.
func withDefault(v *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(v)
	if v.HasDefault && v.Default != "" {
		return fmt.Sprintf("%s Default: %s", text, v.Default)
	}
	return text
}

func run(ctx context.Context, args []string, s Streams, serve ServeFunc) error {
	var line commandLine
	parser, err := newParser(&line, ctx, s, serve)
	if err != nil {
		return fmt.Errorf("reading the command line: %w", err)
	}
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(helpShown); !ok {
				panic(v)
			}
		}
	}()
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		args = []string{"version"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		return asUsage(err)
	}
	return command.Run()
}

// asUsage turns kong's error about a wrong command line into a UsageError.
func asUsage(err error) error {
	var usage *config.UsageError
	if errors.As(err, &usage) {
		return usage
	}
	return config.NewUsageError(strings.TrimPrefix(err.Error(), "carrel: ") + " (see carrel help)")
}
