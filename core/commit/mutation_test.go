package commit_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// rename is an input like those of mutations: a field may be omitted, null or a value.
type rename struct {
	ID   string
	Name struct {
		Set   bool
		Value *string
	}
	IdempotencyKey *string
}

// begin begins a mutation, and also returns the input as it is afterwards.
func begin(t *testing.T, caller, name string, in rename) (commit.Mutation, rename) {
	t.Helper()
	engine := commit.NewEngine(commit.Config{Runtime: sched.NewReal()})
	m, err := engine.Begin(caller, commit.Call{Name: name, Input: &in, Key: &in.IdempotencyKey})
	if err != nil {
		t.Fatal(err)
	}
	return m, in
}

// request returns the request of a mutation with an idempotency key.
func request(t *testing.T, caller, key, name string, in rename) commit.Request {
	t.Helper()
	in.IdempotencyKey = &key
	m, after := begin(t, caller, name, in)
	if m.Request == nil || after.IdempotencyKey != nil {
		t.Fatalf("the request is %v, and the key in the input %v", m.Request, after.IdempotencyKey)
	}
	return *m.Request
}

func TestBegin_DistinguishesRequests(t *testing.T) {
	const ann = "u:acme:ann"
	of := func(set bool, value *string) rename {
		in := rename{ID: ann}
		in.Name.Set, in.Name.Value = set, value
		return in
	}
	first := request(t, ann, "k", "updateUser", of(false, nil))
	if request(t, "u:acme:bob", "k", "updateUser", of(false, nil)).Key == first.Key {
		t.Error("two callers share a key")
	}
	if other := request(t, ann, "l", "updateUser", of(false, nil)); other.Key == first.Key || other.Hash != first.Hash {
		t.Errorf("another key leads from %+v to %+v", first, other)
	}
	if m, _ := begin(t, ann, "updateUser", of(false, nil)); m.Request != nil {
		t.Error("a mutation without a key has a request")
	}
	name, same := "x", "x"
	hashes := map[string][32]byte{
		"omitted":  first.Hash,
		"null":     request(t, ann, "k", "updateUser", of(true, nil)).Hash,
		"a value":  request(t, ann, "k", "updateUser", of(true, &name)).Hash,
		"mutation": request(t, ann, "k", "updateGroup", of(false, nil)).Hash,
	}
	seen := map[[32]byte]string{}
	for what, hash := range hashes {
		if earlier, twice := seen[hash]; twice {
			t.Errorf("%q and %q have one hash", what, earlier)
		}
		seen[hash] = what
	}
	if request(t, ann, "k", "updateUser", of(true, &same)).Hash != hashes["a value"] {
		t.Error("equal inputs have two hashes")
	}
}

func TestBegin_ReturnsAllFaultsOfTheInput(t *testing.T) {
	engine := commit.NewEngine(commit.Config{Runtime: sched.NewReal()})
	long, valid, enough := strings.Repeat("k", 129), "k", strings.Repeat("k", 22)
	title := fault.List{fault.Invalidf([]string{"title"}, "too long")}
	for _, c := range []struct {
		name   string
		caller string
		key    **string
		faults fault.List
		want   []string
	}{
		{"none", "u:acme:ann", ptr(&valid), nil, nil},
		{"of a field", "u:acme:ann", ptr(&valid), title, []string{"title"}},
		{"of the key", "u:acme:ann", ptr(&long), nil, []string{"idempotencyKey"}},
		{"of both", "u:acme:ann", ptr(&long), title, []string{"title", "idempotencyKey"}},
		{"of a field, without a key", "u:acme:ann", ptr[*string](nil), title, []string{"title"}},
		{"of a field, of a mutation that takes no key", "u:acme:ann", nil, title, []string{"title"}},
		{"a short key of an anonymous caller", "", ptr(&valid), nil, []string{"idempotencyKey"}},
		{"a long key of an anonymous caller", "", ptr(&enough), nil, nil},
		{"an anonymous caller without a key", "", ptr[*string](nil), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := engine.Begin(c.caller, commit.Call{Name: "updateContent", Input: &struct{}{}, Key: c.key, Faults: c.faults})
			var paths []string
			for _, f := range fault.ListOf(err) {
				paths = append(paths, strings.Join(f.Path, "."))
			}
			if !slices.Equal(paths, c.want) {
				t.Errorf("faults at %v, want %v", paths, c.want)
			}
			if err != nil && (m.Request != nil || m.Budget != (commit.Budget{})) {
				t.Errorf("a refused mutation has begun: %+v", m)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }
