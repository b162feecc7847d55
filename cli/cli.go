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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// runner is a command. Its fields contain the values of the flags after parsing.
type runner interface {
	run(ctx context.Context, s Streams, args []string) error
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
		fmt.Fprintf(s.Err, "carrel: %s\n", usage)
		return ExitUsage
	}
	fmt.Fprintf(s.Err, "carrel: %s\n", err)
	return ExitFailed
}

func run(ctx context.Context, args []string, s Streams, serve ServeFunc) error {
	root := newRoot(s, serve)
	switch {
	case len(args) > 0 && args[0] == "help":
		about, rest, err := root.Find(args[1:])
		if err != nil || len(rest) > 0 {
			return unknownCommand(root, rest)
		}
		return about.Help()
	case len(args) > 0 && args[0] == "--version":
		args = []string{"version"}
	}
	if i := slices.Index(args, "--no-app"); i > 0 && args[0] == "serve" {
		args = slices.Concat(args[:i], []string{"--app=false"}, args[i+1:])
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// newRoot returns the program with all its commands.
func newRoot(s Streams, serve ServeFunc) *cobra.Command {
	root := &cobra.Command{
		Use: "carrel COMMAND", Short: "A GraphQL gateway for libraries of shared content.",
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		Args:              unknownCommand,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(s.Out)
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand(&cobra.Command{Hidden: true}) // run does what it would do
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if errors.As(err, new(*config.UsageError)) {
			return err
		}
		return wrongUsage(c, err.Error())
	})
	config.Declare(root.PersistentFlags(), new(config.ConfigFlag))
	add := func(use, short string, do runner) { root.AddCommand(newCommand(s, use, short, do)) }
	add("serve", "Serve the API.", &serveCommand{serve: serve})
	add("token", "Print a token for a user.", &tokenCommand{})
	add("import FILE", "Store users, groups and content from a file of JSON lines; - reads standard input.", &importCommand{})
	add("export", "Write users, groups and content as JSON lines, in the format of import.", &exportCommand{})
	add("forget USER", "Delete a user (u:TENANT:NAME) for good, and print what is gone and what stays as JSON.", &forgetCommand{})
	add("copy", "Copy a whole store to a new one, of the same or another kind.", &copyCommand{})
	add("migrate", "Bring the schema of a store up to date.", &migrateCommand{})
	add("audit", "Compare all derived rows with the rows they are derived from, and print a summary as JSON.", &auditCommand{})
	add("rebuild [ID...]", "Rebuild the libraries of users and groups, or without an ID all derived rows.", &rebuildCommand{})
	add("health", "Ask the gateway on this machine whether it is ready; fail if it is not.", &healthCommand{})
	add("version", "Print the version.", &versionCommand{})
	return root
}

// newCommand returns a command. use is its name and its arguments, as the help shows them.
func newCommand(s Streams, use, short string, do runner) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.Args = func(c *cobra.Command, args []string) error {
		if takes := strings.Fields(use)[1:]; len(args) != len(takes) && !strings.Contains(use, "...") {
			return wrongUsage(c, "usage: "+c.UseLine())
		}
		return nil
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error { return config.Complete(c.Flags(), settings(c.Root())) }
	c.RunE = func(c *cobra.Command, args []string) error { return do.run(c.Context(), s, args) }
	c.Flags().SortFlags = false
	config.Declare(c.Flags(), do)
	return c
}

// settings returns the flags of all commands by name.
func settings(root *cobra.Command) map[string]*pflag.Flag {
	all := map[string]*pflag.Flag{}
	for _, c := range root.Commands() {
		for _, flag := range config.Settings(c.Flags()) {
			all[flag.Name] = flag
		}
	}
	return all
}

// unknownCommand refuses a first argument that is no command.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if similar := root.SuggestionsFor(args[0]); len(similar) > 0 {
		text += fmt.Sprintf(", did you mean %q?", similar[0])
	}
	return wrongUsage(root, text)
}

// wrongUsage returns the error about a wrong command line of c.
func wrongUsage(c *cobra.Command, text string) error {
	help := "carrel help" + strings.TrimPrefix(c.CommandPath(), "carrel")
	return config.NewUsageError(text + " (see " + help + ")")
}

// printHelp prints what a command does, its commands, and its flags with their variables and
// defaults.
func printHelp(c *cobra.Command, _ []string) {
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%s\n\nUsage: %s\n", c.Short, c.UseLine())
	if !c.HasParent() {
		fmt.Fprint(w, "\nCommands:\n")
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				fmt.Fprintf(w, "  %-15s  %s\n", sub.Use, sub.Short)
			}
		}
		fmt.Fprint(w, "\nThe flags of a command: carrel help COMMAND\n")
	}
	c.InitDefaultHelpFlag()
	c.Flag("help").Usage = "Show this help"
	fmt.Fprintf(w, "\nFlags:\n%s%s", c.LocalFlags().FlagUsagesWrapped(100), c.InheritedFlags().FlagUsagesWrapped(100))
}
