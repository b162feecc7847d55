package config

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Declare declares a flag for each field with the tag name of the struct that to points to. Other tags
// are its help, its default, the placeholder for its value in the help, the values that an enum takes,
// required, and nonempty with what it takes instead of nothing. Fields that are structs belong to it, too.
func Declare(flags *pflag.FlagSet, to any) {
	s := reflect.ValueOf(to).Elem()
	for i := range s.NumField() {
		field, name := s.Type().Field(i), s.Type().Field(i).Tag.Get("name")
		target := s.Field(i).Addr()
		switch {
		case field.Type.Kind() == reflect.Struct:
			Declare(flags, target.Interface())
		case name != "":
			declare(flags, name, field.Tag, target.Interface())
		}
	}
}

// declare declares the flag of one field.
func declare(flags *pflag.FlagSet, name string, tag reflect.StructTag, to any) {
	v := &setting{text: tag.Get("default"), read: reader(name, tag, to), kind: tag.Get("placeholder")}
	if v.text != "" {
		if err := v.read(v.text); err != nil {
			panic(err) // the default is a constant
		}
	}
	flag := flags.VarPF(v, name, "", strings.TrimSuffix(tag.Get("help"), ".")+" ($"+variable(name)+")")
	if _, required := tag.Lookup("required"); required {
		flag.Usage += " (required)"
		flag.Annotations = map[string][]string{"required": nil}
	}
	switch to.(type) {
	case *bool:
		v.kind, flag.NoOptDefVal = "bool", "true"
	case *[]string, interface{ read(text string) error }:
		v.list = true
	}
}

// setting is the value of a flag: how it is read, and what the help calls it.
type setting struct {
	text string // as it was given last
	read func(text string) error
	kind string
	list bool // takes several texts with commas between them
}

func (v *setting) String() string { return v.text }
func (v *setting) Type() string   { return v.kind }
func (v *setting) Set(text string) error {
	v.text = text
	return v.read(text)
}

// reader returns a function that reads the text of a flag into to. Its errors say what the flag takes.
func reader(name string, tag reflect.StructTag, to any) func(text string) error {
	switch to := to.(type) {
	case *string:
		return parsed(to, name, strings.ReplaceAll(tag.Get("enum"), ",", " or ")+tag.Get("nonempty"), func(text string) (string, error) {
			enum, chosen := tag.Lookup("enum")
			_, given := tag.Lookup("nonempty")
			if chosen && !slices.Contains(strings.Split(enum, ","), text) || given && text == "" {
				return "", strconv.ErrSyntax
			}
			return text, nil
		})
	case *bool:
		return parsed(to, name, "true or false", strconv.ParseBool)
	case *int:
		return parsed(to, name, "a whole number", strconv.Atoi)
	case *float64:
		return parsed(to, name, "a number such as 0.25", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
	case *time.Duration:
		return parsed(to, name, "a time with its unit, such as 30s or 10m", time.ParseDuration)
	case *[]string:
		return func(text string) error {
			if text != "" {
				*to = append(*to, strings.Split(text, ",")...)
			}
			return nil
		}
	case interface{ read(text string) error }:
		return to.read
	}
	panic("a flag of another type: " + name)
}

// parsed returns a function that parses a value.
func parsed[T any](to *T, name, takes string, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := parse(text)
		if err != nil {
			return WrongUsage(name, text, takes)
		}
		*to = v
		return nil
	}
}

// variable returns the name of a flag's variable in the environment.
func variable(name string) string {
	return "CARREL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Complete gives the flags that are not on the command line their values from the environment, or
// else the config file. known has the flags of all commands, which can share a file.
func Complete(flags *pflag.FlagSet, known map[string]*pflag.Flag) error {
	file := flags.Lookup("config")
	path := file.Value.String()
	if !file.Changed {
		path = os.Getenv(variable("config"))
	}
	values, err := readConfigFile(path, known)
	for _, f := range Settings(flags) {
		text, given := os.LookupEnv(variable(f.Name))
		if !given {
			text, given = values[f.Name]
		}
		if err == nil && given && !f.Changed {
			err = flags.Set(f.Name, text)
		}
		if _, required := f.Annotations["required"]; err == nil && required && !f.Changed {
			err = NewUsageError(f.Name + ": got none; it is required")
		}
	}
	return err
}

// Settings returns the flags that are also a variable and a key of the config file.
func Settings(flags *pflag.FlagSet) (settings []*pflag.Flag) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			settings = append(settings, f)
		}
	})
	return settings
}
