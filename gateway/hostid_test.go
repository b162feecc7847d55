package gateway_test

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"carrel/config"
	"carrel/gateway"
	"carrel/library"
	"carrel/principal"
)

// TestHostID_IsRandomByDefault: generated names contain the host id, and if none is given, a random one
// for each start instead of the machine's name.
func TestHostID_IsRandomByDefault(t *testing.T) {
	store := config.StoreFlag{Store: "pebble:" + t.TempDir()}
	ann := &principal.Viewer{User: "u:acme:ann"}
	name := func(hostID string) string {
		g, err := gateway.Open(t.Context(), store, gateway.Options{HostID: hostID, Log: slog.New(slog.DiscardHandler),
			Fatal: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		if hostID != "" {
			if _, err := g.People.CreateUser(t.Context(), ann, principal.CreateUser{
				Tenant: "acme", Name: "ann", DisplayName: "Ann", Email: "ann@example.com", Visibility: principal.Private}); err != nil {
				t.Fatal(err)
			}
		}
		made, err := g.Library.CreateContent(t.Context(), ann, library.CreateContent{Kind: library.Note, Title: "t",
			Visibility: principal.Private})
		if err != nil {
			t.Fatal(err)
		}
		return string(made.ID)
	}
	if given := name("given"); given != "c:acme:given/1" {
		t.Errorf("with a host id: %s", given)
	}
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	one, two := name(""), name("")
	if format := regexp.MustCompile(`^c:acme:[a-z2-7]{8}/1$`); !format.MatchString(one) || !format.MatchString(two) ||
		one == two || strings.Contains(one, strings.ToLower(machine)) {
		t.Errorf("the names of two starts are %s and %s", one, two)
	}
}
