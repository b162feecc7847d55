package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// ConfigFlag names the config file.
type ConfigFlag struct {
	File string `name:"config" help:"JSON file with values for flags that are given neither on the command line nor in the environment." placeholder:"FILE"`
}

// readConfigFile returns the values in a config file as the texts that a variable would have. The
// file is a JSON object whose keys are names of flags, without the dashes in front:
// {"listen": "127.0.0.1:8080", "cors-origin": ["https://a.example"]}. Without a path there are none.
func readConfigFile(path string, known map[string]*pflag.Flag) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, NewUsageError(fmt.Sprintf("config: %v", err))
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var syntax *json.SyntaxError // its message may quote the file, which may contain secrets
	if errors.As(json.Unmarshal(b, new(any)), &syntax) {
		line := 1 + bytes.Count(b[:syntax.Offset], []byte("\n"))
		return nil, NewUsageError(fmt.Sprintf("config: %s is not JSON: there is a mistake in line %d", path, line))
	}
	if d.Decode(&object) != nil || object == nil {
		return nil, WrongUsage("config", path, "a file that contains one JSON object")
	}
	values := map[string]string{}
	for key, value := range object {
		flag := known[key]
		if flag == nil || key == "config" {
			return nil, NewUsageError(fmt.Sprintf("config: the key %q in %s is not the name of a flag", key, path))
		}
		text, ok := asText(value, flag.Value.(*setting).list)
		if !ok {
			return nil, NewUsageError(fmt.Sprintf("config: the key %q in %s takes a text, a number or a boolean, or a list of texts if it is repeatable", key, path))
		}
		values[key] = text
	}
	return values, nil
}

// asText returns a value of the file as the text of a variable.
func asText(value any, takesList bool) (text string, ok bool) {
	switch value := value.(type) {
	case string, bool, json.Number:
		return fmt.Sprint(value), true
	case []any:
		var items []string
		for _, v := range value {
			item, ok := v.(string)
			if !ok {
				return "", false
			}
			items = append(items, item)
		}
		return strings.Join(items, ","), takesList
	}
	return "", false
}
