package session

import (
	"errors"
	"strings"
	"testing"

	"carrel/core/fault"
)

// oneLine checks an error for operators: one line, with the code Unavailable.
func oneLine(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	var shown *fault.Error
	if !errors.As(err, &shown) || shown.Code != fault.Unavailable {
		t.Fatalf("not a fault.Error: %v", err)
	}
	if !strings.Contains(shown.Msg, want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %q, want %q in it", err, want)
	}
}

func TestReplication_IsWrittenInCQL(t *testing.T) {
	for _, c := range []struct {
		factors map[string]int
		want    string
	}{
		{nil, "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"},
		{map[string]int{"": 1}, "{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"},
		{map[string]int{"b": 3, "a": 2}, "{'class': 'NetworkTopologyStrategy', 'a': 2, 'b': 3}"},
	} {
		if got := (&Options{Replication: c.factors}).replication(); got != c.want {
			t.Errorf("%v: %s, want %s", c.factors, got, c.want)
		}
	}
}

func TestCompareReplicas_ReportsDifferences(t *testing.T) {
	const topology = "org.apache.cassandra.locator.NetworkTopologyStrategy"
	for _, c := range []struct {
		name    string
		asked   map[string]int
		centres []string
		current map[string]string
		alter   string // part of the advice; "" for no error
	}{
		{"nothing asked for", nil, []string{"a"}, map[string]string{"class": topology, "a": "1"}, ""},
		{"the same everywhere", map[string]int{"": 3}, []string{"a", "b"}, map[string]string{"class": topology, "a": "3", "b": "3"}, ""},
		{"the same, by name", map[string]int{"a": 3}, []string{"a", "b"}, map[string]string{"class": topology, "a": "3", "b": "0"}, ""},
		{"by name, others for the rest", map[string]int{"": 3, "b": 2}, []string{"a", "b"},
			map[string]string{"class": topology, "a": "3", "b": "2"}, ""},
		{"fewer", map[string]int{"": 3}, []string{"a"}, map[string]string{"class": topology, "a": "1"}, "'a': 3}"},
		{"a data centre that came later", map[string]int{"": 3}, []string{"a", "b"}, map[string]string{"class": topology, "a": "3"},
			"'a': 3, 'b': 3}"},
		{"one too many", map[string]int{"a": 3}, []string{"a", "b"}, map[string]string{"class": topology, "a": "3", "b": "1"}, "'a': 3}"},
		{"transient ones", map[string]int{"a": 3}, []string{"a"}, map[string]string{"class": topology, "a": "3/1"}, "'a': 3}"},
		{"without data centres", map[string]int{"": 3}, []string{"a"},
			map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "3"}, "'a': 3}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&Options{Keyspace: "k", Replication: c.asked}).compareReplicas(c.current, c.centres)
			if c.alter == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			oneLine(t, err, "ALTER KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', "+c.alter+", then nodetool repair")
			oneLine(t, err, "has the replication "+replicasText(c.current))
		})
	}
}
