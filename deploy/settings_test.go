package deploy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"carrel/cli"
	"carrel/config"
	"carrel/gateway"
)

// A compose file, reduced to the fields that are checked. Unknown keys are an error, so
// that misspelled ones are found.
type compose struct {
	Name     string                           `yaml:"name"`
	Services map[string]service               `yaml:"services"`
	Secrets  map[string]struct{ File string } `yaml:"secrets"`
	Volumes  map[string]any                   `yaml:"volumes"`
}

type service struct {
	Build           string                                `yaml:"build"`
	Image           string                                `yaml:"image"`
	Command         []string                              `yaml:"command"`
	Environment     map[string]string                     `yaml:"environment"`
	Secrets         []string                              `yaml:"secrets"`
	Volumes         []string                              `yaml:"volumes"`
	Ports           []string                              `yaml:"ports"`
	Restart         string                                `yaml:"restart"`
	StopGracePeriod string                                `yaml:"stop_grace_period"`
	ReadOnly        bool                                  `yaml:"read_only"`
	CapDrop         []string                              `yaml:"cap_drop"`
	SecurityOpt     []string                              `yaml:"security_opt"`
	DependsOn       map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck     struct {
		Test        []string `yaml:"test"`
		Interval    string   `yaml:"interval"`
		Timeout     string   `yaml:"timeout"`
		StartPeriod string   `yaml:"start_period"`
		Retries     int      `yaml:"retries"`
	} `yaml:"healthcheck"`
}

// readCompose reads a compose file.
func readCompose(t *testing.T, name string) (file compose) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "deploy/"+name)), &file, yaml.DisallowUnknownField()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return file
}

// settings runs a command of the image in this process with the variables of a file, and
// stops after reading the settings. Paths inside the container are replaced by existing
// ones.
func settings(t *testing.T, args []string, env map[string]string, secrets map[string]string) (cfg config.Config) {
	t.Helper()
	known := flagVariables(t, args[0])
	for name, value := range env {
		if !strings.HasPrefix(name, "CARREL_") || !slices.Contains(known, name) {
			t.Errorf("%s: the variable %s belongs to no flag", args[0], name)
		}
		if path, isSecret := strings.CutPrefix(value, "/run/secrets/"); isSecret {
			content, exists := secrets[path]
			if !exists {
				t.Errorf("%s names %s, which is no secret of the file", name, value)
			}
			value = filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(value, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv(name, value)
	}
	var errs bytes.Buffer
	served := false
	code := cli.Execute(t.Context(), args, cli.Streams{Out: io.Discard, Err: &errs},
		func(_ context.Context, c config.Config, _ io.Writer) error {
			served, cfg = true, c
			_, err := gateway.TargetOf(c.StoreFlag)
			_, edgeErr := c.Edge()
			return errors.Join(err, edgeErr, c.Check())
		})
	if code != cli.ExitDone || !served {
		t.Errorf("%q with %v: exit %d, %s", args, env, code, &errs)
	}
	return cfg
}

// flagVariables returns the variables in the help text of a command.
func flagVariables(t *testing.T, command string) (names []string) {
	t.Helper()
	var out bytes.Buffer
	if code := cli.Execute(t.Context(), []string{command, "--help"}, cli.Streams{Out: &out, Err: io.Discard}, nil); code != cli.ExitDone {
		t.Fatalf("%s --help: exit %d", command, code)
	}
	for word := range strings.FieldsSeq(out.String()) {
		if _, name, ok := strings.Cut(word, "($CARREL_"); ok {
			names = append(names, "CARREL_"+strings.TrimRight(name, ").,;"))
		}
	}
	if len(names) < 3 {
		t.Fatalf("the help of %s names %v", command, names)
	}
	return names
}

func TestCompose_SettingsAreAcceptedByTheBinary(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	for name, store := range map[string]string{"compose.pebble.yml": "pebble:/data/store",
		"compose.cassandra.yml": "cassandra://cassandra/carrel"} {
		t.Run(name, func(t *testing.T) {
			file := readCompose(t, name)
			g := file.Services["gateway"]
			env := final(t).environment()
			maps.Copy(env, g.Environment)
			secrets := map[string]string{}
			for _, s := range g.Secrets {
				if file.Secrets[s].File != "./secrets/"+s {
					t.Errorf("the secret %s is the file %q", s, file.Secrets[s].File)
				}
				secrets[s] = secret
			}
			cfg := settings(t, g.Command, env, secrets)
			if cfg.Store != store || cfg.Listen != "0.0.0.0:8080" || cfg.Dev {
				t.Errorf("it serves %s at %s, development %v", cfg.Store, cfg.Listen, cfg.Dev)
			}
			if !slices.Equal(g.Ports, []string{"127.0.0.1:8080:8080"}) {
				t.Errorf("it publishes %v; only this machine should be able to connect", g.Ports)
			}
			checkGrace(t, g.StopGracePeriod, cfg)
			if !g.ReadOnly || !slices.Equal(g.CapDrop, []string{"ALL"}) {
				t.Error("the gateway needs neither a writable file system nor capabilities")
			}
			for dependency := range g.DependsOn {
				if _, ok := file.Services[dependency]; !ok {
					t.Errorf("it waits for %s, which is no service", dependency)
				}
			}
		})
	}
}

// checkGrace compares the time after which the container is killed with the time that the
// gateway needs to stop.
func checkGrace(t *testing.T, grace string, cfg config.Config) {
	t.Helper()
	allowed, err := time.ParseDuration(grace)
	if err != nil {
		t.Fatal(err)
	}
	edge, err := cfg.Edge()
	if err != nil {
		t.Fatal(err)
	}
	if needed := cfg.DrainDelay + edge.Limits.Stop; allowed <= needed {
		t.Errorf("it is killed after %v, but may need %v to stop", allowed, needed)
	}
}

// TestCompose_StoresAreOnTheirVolumes checks that data outlives the container, and that the tables
// are created in the keyspace that is served.
func TestCompose_StoresAreOnTheirVolumes(t *testing.T) {
	pebble := readCompose(t, "compose.pebble.yml")
	if _, ok := pebble.Volumes["data"]; !ok || !slices.Equal(pebble.Services["gateway"].Volumes,
		[]string{"data:" + final(t).one(t, "VOLUME").text}) {
		t.Errorf("the volumes are %v", pebble.Services["gateway"].Volumes)
	}
	cluster := readCompose(t, "compose.cassandra.yml")
	migrate := cluster.Services["migrate"]
	if migrate.Environment["CARREL_STORE"] != cluster.Services["gateway"].Environment["CARREL_STORE"] ||
		!slices.Equal(migrate.Command, []string{"migrate"}) {
		t.Errorf("it migrates %v by %q", migrate.Environment, migrate.Command)
	}
	known := flagVariables(t, "migrate")
	for name := range migrate.Environment {
		if !slices.Contains(known, name) {
			t.Errorf("migrate does not take %s", name)
		}
	}
	if cluster.Services["gateway"].DependsOn["migrate"].Condition != "service_completed_successfully" ||
		migrate.DependsOn["cassandra"].Condition != "service_healthy" {
		t.Error("the gateway must wait for migrate, and migrate for Cassandra")
	}
}
