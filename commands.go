// Command carrel is the library gateway.
//
// This package holds the commands and connects the packages; it holds no rule.
// Package config reads flags, environment and config file; gateway.go opens the
// domain on a store; server.go serves it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"carrel/config"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// streams are where a command writes.
type streams struct{ out, err io.Writer }

// commandLine is what the process is asked to do.
type commandLine struct {
	ConfigFile string `name:"config" help:"JSON file with the values of flags that are given neither here nor in the environment." placeholder:"FILE"`

	Serve   serveCommand   `cmd:"" help:"Serve the API."`
	Token   tokenCommand   `cmd:"" help:"Print a token for a user."`
	Import  importCommand  `cmd:"" help:"Store users, groups and content from a file of JSON lines."`
	Export  exportCommand  `cmd:"" help:"Write users, groups and content as JSON lines that import takes."`
	Copy    copyCommand    `cmd:"" help:"Copy a whole store to a new one, of this kind or another."`
	Migrate migrateCommand `cmd:"" help:"Bring the schema of a store up to date."`
	Audit   auditCommand   `cmd:"" help:"Compare every library with what should stand in it, and print a summary as JSON."`
	Rebuild rebuildCommand `cmd:"" help:"Make libraries, and what else is derived, again from what they are derived of."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, s streams) int {
	err := run(ctx, args, s)
	var usage *config.UsageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintf(s.err, "carrel: %s\n", err)
		return exitUsage
	}
	fmt.Fprintf(s.err, "carrel: %s\n", err)
	return exitFailed
}

// helpShown ends parsing where only help was asked for.
type helpShown struct{}

// newParser reads command lines into line.
func newParser(line *commandLine, ctx context.Context, s streams) (*kong.Kong, error) {
	return kong.New(line,
		kong.Name("carrel"), kong.Description("A GraphQL gateway for libraries of shared content."),
		kong.DefaultEnvars("CARREL"), kong.Writers(s.out, s.err),
		kong.WithBeforeResolve(config.TakeConfigFile),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s),
	)
}

func run(ctx context.Context, args []string, s streams) error {
	var line commandLine
	parser, err := newParser(&line, ctx, s)
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
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		return asUsage(err)
	}
	return command.Run()
}

// asUsage is what kong says of a wrong command line, as an error of ours.
func asUsage(err error) error {
	var usage *config.UsageError
	if errors.As(err, &usage) {
		return usage
	}
	return config.NewUsageError(strings.TrimPrefix(err.Error(), "carrel: "))
}
