package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// configFile is a JSON object whose keys are names of flags, without the
// dashes in front: {"listen": "127.0.0.1:8080", "cors-origin": ["https://a.example"]}.
// All commands can share a file: each uses the keys that it knows.
type configFile struct {
	path   string
	values map[string]any
}

// TakeConfigFile reads the file that --config or the environment names.
func TakeConfigFile(c *kong.Context) error {
	for _, flag := range c.Flags() {
		if flag.Name != "config" {
			continue
		}
		path, _ := c.FlagValue(flag).(string)
		if path == "" {
			path = os.Getenv(flag.Envs[0])
		}
		if path == "" {
			return nil
		}
		file, err := readConfigFile(path)
		if err != nil {
			return err
		}
		// kong would check the file only after using it.
		if err := file.Validate(c.Model); err != nil {
			return err
		}
		c.AddResolver(file)
	}
	return nil
}

// readConfigFile reads a config file; Validate checks its keys.
func readConfigFile(path string) (*configFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, NewUsageError(fmt.Sprintf("config: %v", err))
	}
	f := &configFile{path: path}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if !json.Valid(b) || d.Decode(&f.values) != nil || f.values == nil {
		// The decoder's message may quote the file, which may contain secrets.
		return nil, WrongUsage("config", path, "a file that contains one JSON object")
	}
	return f, nil
}

// Validate returns a UsageError for a key that no command knows, or a value of a wrong type.
func (f *configFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	commands := []*kong.Node{app.Node}
	for len(commands) > 0 {
		for _, flag := range commands[0].Flags {
			known[flag.Name] = true
		}
		commands = append(commands[1:], commands[0].Children...)
	}
	for key, value := range f.values {
		if !known[key] || key == "help" || key == "config" {
			return NewUsageError(fmt.Sprintf("config: the key %q in %s is not the name of a flag", key, f.path))
		}
		if !plainValue(value) {
			return NewUsageError(fmt.Sprintf("config: the key %q in %s takes a string, a number, a boolean or a list of strings", key, f.path))
		}
	}
	return nil
}

func plainValue(v any) bool {
	switch v := v.(type) {
	case string, bool, json.Number:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { _, ok := item.(string); return !ok })
	}
	return false
}

// Resolve returns the value of a flag from the file, or nil if the environment has one, because
// kong calls it after it has read the environment.
func (f *configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	value, ok := f.values[flag.Name]
	if !ok {
		return nil, nil
	}
	if list, ok := value.([]any); ok {
		items := make([]string, len(list))
		for i, item := range list {
			items[i], _ = item.(string) // Validate has seen that it is one
		}
		return strings.Join(items, ","), nil
	}
	return fmt.Sprint(value), nil // text, so that the same values are refused as in the environment
}
