package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/config"
	"carrel/edge"
)

// TestLimits_AreConfigurableAndReturned: every limit that refuses clients can be set and is
// returned by the query limits, each with its own number.
func TestLimits_AreConfigurableAndReturned(t *testing.T) {
	returned := []struct{ name, value, field, says string }{
		{"depth", "4", "maxDepth", "4"}, {"aliases", " 2 ", "maxAliases", "2"}, {"cost", "901", "maxCost", "901"},
		{"body", "90001", "maxBodyBytes", "90001"},
		{"values", "902", "maxValues", "902"}, {"characters", "903", "maxQueryCharacters", "903"}, {"tokens", "904", "maxTokens", "904"},
		{"directives", "3", "maxDirectives", "3"}, {"operations", "5", "maxOperations", "5"}, {"root-fields", "6", "maxRootFields", "6"},
		{"root-mutations", "7", "maxRootMutations", "7"}, {"repetitions", "8", "maxRepetitions", "8"}, {"overlap", "905", "maxOverlap", "905"},
		{"introspection-depth", "9", "maxIntrospectionDepth", "9"}, {"answer-bytes", "90003", "maxAnswerBytes", "90003"},
		{"page-size", "50", "maxPageSize", "50"}, {"ids", "51", "maxIds", "51"},
		{"share-targets", "52", "maxShareTargets", "52"}, {"errors", "11", "maxErrors", "11"}, {"query-time", "1500ms", "maxQuerySeconds", "2"},
		{"mutation-time", "3s", "maxMutationSeconds", "3"}, {"subscriptions", "12", "maxSubscriptions", "12"},
		{"socket-operations", "13", "maxSocketOperations", "13"},
		{"streams-per-viewer", "15", "maxStreams", "15"}, {"stream-write-time", "16s", "maxStreamWriteSeconds", "16"},
		{"socket-init-time", "17s", "maxSocketInitSeconds", "17"},
		{"pending-sockets", "19", "maxPendingSockets", "19"}, {"ping-time", "18s", "pingSeconds", "18"},
		{"document-bytes", "90002", "documentCacheBytes", "90002"},
		{"header", "9000", "maxHeaderBytes", "9000"}, {"read-header-time", "4s", "maxHeaderSeconds", "4"},
		{"read-time", "14s", "maxReadSeconds", "14"},
		{"write-time", "41s", "maxWriteSeconds", "41"}, {"idle-time", "61s", "maxIdleSeconds", "61"},
		{"address-points", "31", "addressPointsPerMinute", "31"}, {"pastes-per-minute", "32", "pastesPerMinute", "32"},
		{"confirmed-keys", "33", "maxConfirmedKeys", "33"},
	}
	names := []string{"answer-memory", "body-memory", "concurrent", "connections", "documents", "persisted", "persisted-bytes", "streams"}
	for _, l := range returned {
		names = append(names, l.name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(new(edge.Limits).Names(), names); diff != "" {
		t.Errorf("limits that can be set (-) and that are returned or private (+):\n%s", diff)
	}
	cfg := testConfig(t)
	cfg.RateLimit = 90
	query, want := "{limits{", `{"data":{"limits":{`
	for _, l := range returned {
		cfg.Limit = append(cfg.Limit, l.name+"="+l.value)
		query += l.field + " "
		want += `"` + l.field + `":` + l.says + ","
	}
	s := serve(t, cfg)
	want += `"viewerPointsPerMinute":90}}}`
	if got := s.graphql("", query+"viewerPointsPerMinute}}"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.graphql("", `{viewer{library{nodes{createdBy{id}}}}}`); !strings.Contains(got, "DEPTH_LIMIT") {
		t.Errorf("got %s", got)
	}
	s.end()
	for rate, want := range map[int]string{0: `"viewerPointsPerMinute":null,"addressPointsPerMinute":null`,
		90: `"viewerPointsPerMinute":90,"addressPointsPerMinute":30`} {
		cfg = testConfig(t)
		cfg.RateLimit = rate
		if got := serve(t, cfg).graphql("", `{limits{viewerPointsPerMinute addressPointsPerMinute}}`); got != `{"data":{"limits":{`+want+`}}}` {
			t.Errorf("got %s", got)
		}
	}
}

// The domain enforces this limit, so the server must pass it on.
func TestLimits_ShareTargetsReachTheDomain(t *testing.T) {
	cfg := testConfig(t)
	cfg.Limit = []string{"share-targets=1"}
	ann := tokenFor(t, cfg.AuthHS256File, "u:demo:ann")
	s := serve(t, cfg)
	s.graphql(ann, createAnn)
	members := `{principalId:"u:demo:ben",role:VIEWER},{principalId:"u:demo:cleo",role:VIEWER}`
	got := s.graphql(ann, `mutation{createContent(input:{kind:NOTE,title:"T",members:[`+members+`]}){userErrors{code}}}`)
	if want := `{"data":{"createContent":{"userErrors":[{"code":"TOO_MANY"}]}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The domain enforces this limit, so the server must pass it on: a lease within it is acquired, one that
// exceeds it is not.
func TestLimits_ConfirmedKeysReachTheDomain(t *testing.T) {
	cfg := testConfig(t)
	cfg.Limit = []string{"confirmed-keys=2"}
	ann := tokenFor(t, cfg.AuthHS256File, "u:demo:ann")
	s := serve(t, cfg)
	s.graphql(ann, createAnn)
	const (
		acquired = `{"data":{"acquireLease":{"lease":{"state":"PENDING"},"userErrors":[]}}}`
		refused  = `{"data":{"acquireLease":{"lease":null,"userErrors":[{"code":"TOO_MANY"}]}}}`
	)
	for _, step := range []struct{ documents, want string }{
		{`{key:"a"},{key:"b"},{key:"c"}`, refused}, {`{key:"d"},{key:"e"}`, acquired}, {`{key:"f"}`, refused},
	} {
		got := s.graphql(ann, `mutation{acquireLease(input:{documents:[`+step.documents+`]}){lease{state} userErrors{code}}}`)
		if got != step.want {
			t.Errorf("%s: got %s, want %s", step.documents, got, step.want)
		}
	}
}

func TestEdgeSettings_InvalidAreRefused(t *testing.T) {
	bad := file(t, "documents.json", `{"Bad":"{nothing}"}`)
	for name, c := range map[string]struct {
		change func(*config.Config)
		says   string
	}{
		"an unknown limit":        {func(c *config.Config) { c.Limit = []string{"width=1"} }, "depth"},
		"a limit without a value": {func(c *config.Config) { c.Limit = []string{"depth"} }, "depth takes"},
		"points without a rate":   {func(c *config.Config) { c.RateLimit, c.Limit = 0, []string{"address-points=9"} }, "rate-limit 0"},
		"write-time too short":    {func(c *config.Config) { c.Limit = []string{"write-time=10s", "mutation-time=3s"} }, "which is 25s"},
		"a rate below 0":          {func(c *config.Config) { c.RateLimit = -1 }, "rate-limit"},
		"a proxy without address": {func(c *config.Config) { c.TrustedProxy = []string{"proxy"} }, "trusted-proxy"},
		"a missing manifest":      {func(c *config.Config) { c.Documents = "gone.json" }, "gone.json"},
		"manifest that is a list": {func(c *config.Config) { c.Documents = file(t, "list.json", "[]") }, "documents"},
		"an invalid document":     {func(c *config.Config) { c.Documents = bad }, "Bad"},
		"cookies without origins": {func(c *config.Config) { c.CORSCredentials = true }, "cors-origin"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			c.change(&cfg)
			err := runServer(context.Background(), cfg, newFirstLine())
			var usage *config.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}
