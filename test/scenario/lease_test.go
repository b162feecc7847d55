package scenario

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	acquireLease = `mutation($in: AcquireLeaseInput!) { acquireLease(input: $in) { lease { id state expiresAt documents { key value etag } } token collidingKeys userErrors { code field message } } }`
	confirmLease = `mutation($in: ConfirmLeaseInput!) { confirmLease(input: $in) { lease { id state expiresAt isConfirmed documents { key value etag } } userErrors { code field message } } }`
	cancelLease  = `mutation($in: CancelLeaseInput!) { cancelLease(input: $in) { lease { id state isCancelled } userErrors { code field message } } }`
	readLease    = `query($id: ID!, $token: String!) { lease(id: $id, token: $token) { state isExpired expiresAt documents { key value } } node(id: $id) { id } }`
	available    = `query($key: String!) { isKeyAvailable(key: $key) }`
)

// leaseInput is the input of acquireLease.
func leaseInput(ttl int, keys ...string) vars {
	var documents []vars
	for _, k := range keys {
		documents = append(documents, vars{"key": k, "value": "value of " + k})
	}
	return vars{"in": vars{"documents": documents, "ttlMs": ttl}}
}

// acquire leases keys and returns the input that ends the lease.
func (g *gateway) acquire(token string, ttl int, keys ...string) vars {
	g.t.Helper()
	got := g.must(token, acquireLease, leaseInput(ttl, keys...)).Data["acquireLease"].(map[string]any)
	return vars{"in": vars{"id": got["lease"].(map[string]any)["id"], "token": got["token"]}}
}

// wantAvailable checks whether a key could be leased.
func (g *gateway) wantAvailable(token, key string, want bool) {
	g.t.Helper()
	if got := g.must(token, available, vars{"key": key}).Data["isKeyAvailable"]; got != want {
		g.t.Errorf("the key %q is available: %v, want %t", key, got, want)
	}
}

// wantRefused checks the codes and paths of the userErrors of an operation.
func (g *gateway) wantRefused(token, query, field string, in vars, want ...string) *answer {
	g.t.Helper()
	a := g.ask(token, query, in)
	if got := a.userErrors(field); !slices.Equal(got, want) || len(a.Errors) > 0 {
		g.t.Errorf("%s of %v: %q and %v, want %q", field, in, got, a.Errors, want)
	}
	return a
}

// TestLeases_SurviveACrash leases keys over HTTP, and kills the gateway before it ends the leases.
// No token may be logged.
func TestLeases_SurviveACrash(t *testing.T) {
	t.Parallel() // a cluster waits for the end of a killed gateway before its audit
	g := serve(t)
	ann, bob := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC")
	kept := g.acquire(ann, 3_600_000, "a", "b")
	a := g.wantRefused(bob, acquireLease, "acquireLease", leaseInput(5000, "c", "b", "a"), "TAKEN documents")
	if got := fmt.Sprint(a.Data["acquireLease"].(map[string]any)["collidingKeys"]); got != "[b a]" {
		t.Errorf("the colliding keys are %s", got)
	}
	for key, free := range map[string]bool{"a": false, "b": false, "c": true} {
		g.wantAvailable(ann, key, free)
	}
	stolen := vars{"in": vars{"id": kept["in"].(vars)["id"], "token": "0123456789012345678901"}}
	g.wantRefused(bob, confirmLease, "confirmLease", stolen, "FORBIDDEN token")
	g.wantRefused(bob, cancelLease, "cancelLease", stolen, "FORBIDDEN token")
	g.wantRefused(ann, acquireLease, "acquireLease", leaseInput(0, "x", "", "x"), "INVALID documents.1.key",
		"INVALID documents.2.key", "INVALID ttlMs")
	if e := g.ask("", acquireLease, leaseInput(5000, "x")); len(e.Errors) != 1 || e.Errors[0].Extensions["code"] != "UNAUTHENTICATED" {
		t.Errorf("an anonymous acquire: %+v", e)
	}
	if e := g.ask(bob, readLease, stolen["in"].(vars)); len(e.Errors) != 1 || e.Errors[0].Extensions["code"] != "FORBIDDEN" {
		t.Errorf("a read with another token: %+v", e)
	}
	seen := g.must("", readLease, kept["in"].(vars)).Data
	if l := seen["lease"].(map[string]any); l["state"] != "PENDING" || seen["node"] != nil ||
		!strings.Contains(fmt.Sprint(l["documents"]), "value of b") {
		t.Errorf("the lease is read as %v", seen)
	}
	given := g.acquire(bob, 3_600_000, "d")
	short := g.acquire(bob, 1000, "e")

	g.kill()
	g.start()
	done := g.must(ann, confirmLease, kept).Data["confirmLease"].(map[string]any)["lease"].(map[string]any)
	if done["state"] != "CONFIRMED" || done["expiresAt"] != nil || done["isConfirmed"] != true ||
		strings.Contains(fmt.Sprint(done["documents"]), "etag:<nil>") {
		t.Errorf("the confirmed lease is %v", done)
	}
	g.wantRefused(ann, confirmLease, "confirmLease", kept, "CONFIRMED")
	g.wantRefused(ann, cancelLease, "cancelLease", kept, "CONFIRMED")
	g.must(bob, cancelLease, given)
	g.wantRefused(bob, confirmLease, "confirmLease", given, "CANCELLED")
	g.awaitKey(ann, "e")
	g.wantRefused(bob, confirmLease, "confirmLease", short, "EXPIRED")
	for key, free := range map[string]bool{"a": false, "b": false, "c": true, "d": true, "e": true} {
		g.wantAvailable(ann, key, free)
	}
	g.acquire(ann, 5000, "c", "d", "e")
	g.stop()
	for _, secret := range []vars{kept, given, short} {
		token := secret["in"].(vars)["token"].(string)
		if strings.Contains(g.log.String(), token) || strings.Contains(g.output.String(), token) {
			t.Error("a token is in the log")
		}
	}
	g.audit()
}

// awaitKey waits until a key can be leased.
func (g *gateway) awaitKey(token, key string) {
	g.t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if g.must(token, available, vars{"key": key}).Data["isKeyAvailable"] == true {
			return
		}
	}
	g.t.Fatalf("the key %q is not free after 20 s", key)
}

// TestLeases_DocumentationCanBeRun runs the operations of docs/leases.md as they are
// written there.
func TestLeases_DocumentationCanBeRun(t *testing.T) {
	text, err := os.ReadFile("../../docs/leases.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(string(text))
	if len(blocks) != 2 {
		t.Fatalf("docs/leases.md has %d blocks of code, want acquireLease and confirmLease", len(blocks))
	}
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	got := g.must(ann, blocks[0].text, nil).Data["acquireLease"].(map[string]any)
	id := got["lease"].(map[string]any)["id"]
	done := g.must("", blocks[1].text, vars{"id": id, "token": got["token"]}).Data["confirmLease"].(map[string]any)
	if state := done["lease"].(map[string]any)["state"]; state != "CONFIRMED" {
		t.Errorf("the lease is %v", state)
	}
	g.wantAvailable(ann, "report/index", false)
}
