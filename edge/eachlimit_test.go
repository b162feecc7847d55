package edge

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// limitCase is a limit that an operator can set, with a request that is just within it and one that
// exceeds it.
type limitCase struct {
	set            string // NAME=VALUE
	within, beyond string // documents, or bodies if they start with "body "
	code           string
}

// byShape returns the limits on documents and bodies.
func byShape() []limitCase {
	library := func(first int) string {
		return fmt.Sprintf(`{user(id:"x"){library(first:%d){bucket nodes{id}}}}`, first)
	}
	return []limitCase{
		{"depth=3", `{user(id:"x"){library{bucket}}}`, `{user(id:"x"){library{nodes{id}}}}`, "DEPTH_LIMIT"},
		{"introspection-depth=3", `{__schema{types{name}}}`, `{__schema{types{fields{name}}}}`, "DEPTH_LIMIT"},
		{"aliases=2", aliases(2), aliases(3), "ALIAS_LIMIT"},
		{"directives=1", `{viewer{id @skip(if:false)}}`, `{viewer{id @skip(if:false) tenant @skip(if:false)}}`, "DIRECTIVE_LIMIT"},
		{"operations=1", `query A{viewer{id}}`, `body {"query":"query A{viewer{id}} query B{viewer{id}}","operationName":"A"}`,
			"OPERATION_LIMIT"},
		{"root-fields=2", rootFields("query", 2, "__typename"), rootFields("query", 3, "viewer{id}"), "ROOT_FIELD_LIMIT"},
		{"root-mutations=1", rootFields("mutation", 1, anyMutation), rootFields("mutation", 2, anyMutation), "ROOT_FIELD_LIMIT"},
		{"repetitions=3", `{viewer{id id}}`, `{viewer{id id id}}`, "DUPLICATE_LIMIT"},
		{"cost=22", library(20), library(21), "COST_LIMIT"},
		{"overlap=40", overlapping(3, "id"), overlapping(6, "id"), "DUPLICATE_LIMIT"},
		{"characters=20", `{viewer{id}}` + strings.Repeat(" ", 8), `{viewer{id}}` + strings.Repeat(" ", 9), "QUERY_TOO_LONG"},
		{"tokens=7", `{viewer{id}}`, `{viewer{id tenant displayName}}`, "TOKEN_LIMIT"},
		{"page-size=50", library(50), library(51), "BAD_USER_INPUT"},
		{"ids=2", entitiesOf(2), entitiesOf(3), "BAD_USER_INPUT"},
		{"values=3", `body {"query":"{viewer{id}}","x":[1]}`, `body {"query":"{viewer{id}}","x":[1,2]}`, "BAD_USER_INPUT"},
		{"body=40", `body {"query":"{viewer{id}}"}` + strings.Repeat(" ", 16), `body {"query":"{viewer{id}}"}` + strings.Repeat(" ", 17),
			"PAYLOAD_TOO_LARGE"},
	}
}

func entitiesOf(n int) string {
	return `{_entities(representations:[` + strings.Repeat(`{__typename:"User",id:"u:acme:ann"}`, n) + `]){...on User{id}}}`
}

func (c *limitCase) ask(t *testing.T, request string) (*edgeUnderTest, *answerUnderTest) {
	t.Helper()
	name, value, _ := strings.Cut(c.set, "=")
	e := newEdge(t, func(cfg *Config) {
		cfg.Development = strings.HasPrefix(name, "introspection")
		if err := cfg.Limits.Set(name, value); err != nil {
			t.Fatal(err)
		}
	})
	if body, ok := strings.CutPrefix(request, "body "); ok {
		return e, e.send(t, body)
	}
	return e, e.query(t, request, nil)
}

// TestLimits_EachIsEnforced: each limit can be set. A request within it runs. One that exceeds it
// is refused before any resolver is called.
func TestLimits_EachIsEnforced(t *testing.T) {
	for _, c := range byShape() {
		t.Run(c.set, func(t *testing.T) {
			if e, a := c.ask(t, c.within); a.code() != "" {
				t.Errorf("within it, after %d calls: %s", e.calls.Load(), a.Body)
			}
			e, a := c.ask(t, c.beyond)
			if a.code() != c.code || e.calls.Load() > 0 {
				t.Errorf("exceeding it, after %d calls: %s", e.calls.Load(), a.Body)
			}
			if _, has := a.keys["data"]; has {
				t.Errorf("exceeding it, there is data: %s", a.Body)
			}
		})
	}
}

// triedElsewhere returns the limits that no single document can exceed, with the tests that exceed
// them.
func triedElsewhere() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"answer-bytes":   TestAnswerLimit_ExactlyTheLimitPassesAndOneByteMoreFails,
		"answer-memory":  TestAnswerMemory_IsHeldUntilTheAnswerIsSent,
		"body-memory":    TestBodies_WaitingOnesOfAnAddressHoldItsShare,
		"connections":    TestConnections_InTotalAreBounded,
		"errors":         TestHandler_ReturnsAtMostTenErrors,
		"concurrent":     TestHandler_OverloadIsRefused,
		"query-time":     TestHandler_OperationsHaveADeadline,
		"mutation-time":  TestHandler_OperationsHaveADeadline,
		"documents":      TestDocumentCache_IsBounded,
		"document-bytes": TestDocumentCache_IsBounded,
		"persisted":      TestPersistedDocuments_AreBounded, "persisted-bytes": TestPersistedDocuments_AreBounded,
		"streams":            TestEvents_TooManyStreamsAreRefused,
		"streams-per-viewer": TestStreams_OfACallerAreBounded,
		"subscriptions":      TestEvents_TooManySubscriptionsAreRefused,
		"socket-operations":  TestSocket_OperationsAreBounded,
		"pending-sockets":    TestSocket_OneTooManyPendingClosesTheOldestOfItsAddress,
		"socket-init-time":   TestSocket_WithoutInitIsClosed,
		"stream-write-time":  TestEvents_ClientThatReadsNothingIsDisconnected,
		"ping-time":          TestSocket_WithoutAClientIsClosed,
		"header":             TestServer_EndlessHeadersAreRefused,
		"read-header-time":   TestServer_SlowHeadersAreRefused,
		"read-time":          TestServer_SlowBodyIsAnsweredWith408,
		"write-time":         TestServer_TakesTimesFromLimits, "idle-time": TestServer_TakesTimesFromLimits,
		"address-points":    TestRates_ViewersAndAddressesHaveSeparateAccounts,
		"pastes-per-minute": TestRates_AnonymousPastesAreLimited,
		// The Service enforces this; see TestShareContent_TooManyTargetsAreRefused of library.
		"share-targets": nil,
		// Likewise; see TestConfirm_LimitsTheKeysOfAUser of lease.
		"confirmed-keys": nil,
	}
}

func TestLimits_EachHasATest(t *testing.T) {
	elsewhere := triedElsewhere()
	l := DefaultLimits()
	for _, name := range l.Names() {
		_, tried := elsewhere[name]
		if !tried && !slices.ContainsFunc(byShape(), func(c limitCase) bool { return strings.HasPrefix(c.set, name+"=") }) {
			t.Errorf("no test exceeds the limit %s", name)
		}
	}
}

// TestServer_TakesTimesFromLimits: the timeout of an answer includes reading and running the
// request.
func TestServer_TakesTimesFromLimits(t *testing.T) {
	l := DefaultLimits()
	for name, value := range map[string]string{"write-time": "40s", "idle-time": "7s", "read-time": "3s",
		"read-header-time": "2s", "header": "9000"} {
		if err := l.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	s := Server(http.NotFoundHandler(), l, slog.New(slog.DiscardHandler))
	if got := fmt.Sprint(s.WriteTimeout, s.IdleTimeout, s.ReadTimeout, s.ReadHeaderTimeout, s.MaxHeaderBytes); got != "40s 7s 3s 2s 13096" {
		t.Errorf("got %s", got)
	}
	l.Query = time.Minute
	if s := Server(http.NotFoundHandler(), l, slog.New(slog.DiscardHandler)); s.WriteTimeout != time.Minute+3*time.Second {
		t.Errorf("a query with a timeout of a minute is cut off after %s", s.WriteTimeout)
	}
}
