package oracle

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// keyRaces is the number of pairs of concurrent creations.
const keyRaces = 20

// RunKeyRaces lets two processes on one store create at the same time, with the same
// idempotency key and two inputs. At most one of them may succeed.
func RunKeyRaces(t *testing.T, store domain.Store, tenant string) {
	runtime := sched.NewReal()
	t.Cleanup(runtime.Close)
	var services [2]*domain.Services
	for n := range services {
		names := &prefixedNames{prefix: fmt.Sprintf("race-%d", n)}
		services[n] = domaintest.Open(t, domain.Config{Store: store, Runtime: runtime, Names: names,
			Journal: journal.New(t.Context(), store.Journal, runtime, nil)})
	}
	ann := principal.ID("u:" + tenant + ":ann")
	_, err := services[0].People.CreateUser(t.Context(), &principal.Viewer{User: ann}, principal.CreateUser{Tenant: tenant, Name: "ann",
		DisplayName: "Ann", Email: "ann@example.com", Visibility: principal.Public})
	if err != nil {
		t.Fatal(err)
	}
	for race := range keyRaces {
		key := fmt.Sprint("key-", race)
		var wait sync.WaitGroup
		var outs [2]*library.ContentOutcome
		var errs [2]error
		for n, svc := range services {
			wait.Go(func() {
				outs[n], errs[n] = svc.Library.CreateContent(t.Context(), &principal.Viewer{User: ann}, library.CreateContent{
					Kind: library.Note, Title: fmt.Sprint("input ", n), Visibility: principal.Private, IdempotencyKey: &key})
			})
		}
		wait.Wait()
		created := 0
		for n := range outs {
			switch {
			case errs[n] == nil:
				created++
			case fault.ReasonOf(errs[n]) != fault.ReasonIdempotencyMismatch && fault.CodeOf(errs[n]) != fault.Unavailable:
				t.Errorf("race %d, input %d: %v", race, n, errs[n])
			}
		}
		if created > 1 {
			t.Errorf("race %d: one key created %s and %s", race, outs[0].ID, outs[1].ID)
		}
	}
}

// prefixedNames generates names with a prefix.
type prefixedNames struct {
	mu     sync.Mutex
	prefix string
	n      int
}

// ContentName implements library.Namer.
func (b *prefixedNames) ContentName(context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return fmt.Sprintf("%s/%d", b.prefix, b.n), nil
}
