package oracle

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// faults are the errors of a refused mutation: "CODE path" if the path names a part of the
// input, "CODE" if the error is about the whole.
type faults []string

func (f *faults) add(wrong bool, code string, path ...string) {
	if wrong {
		*f = append(*f, strings.TrimSpace(code+" "+strings.Join(path, ".")))
	}
}

// codeOf returns the code of a fault in the API.
func codeOf(f *fault.Error) string {
	if f.Reason != "" {
		return string(f.Reason)
	}
	switch f.Code {
	case fault.Invalid:
		return "INVALID"
	case fault.Unauthenticated:
		return "UNAUTHENTICATED"
	case fault.Forbidden:
		return "FORBIDDEN"
	case fault.NotFound:
		return "NOT_FOUND"
	}
	return "OTHER " + strconv.Itoa(int(f.Code))
}

// faultsOf returns the faults of an error. An error that no other input could avoid is returned
// once and without its path.
func faultsOf(err error) faults {
	var all faults
	for _, f := range fault.ListOf(err) {
		code := codeOf(f)
		switch code {
		case "INVALID", "NOT_FOUND", "TOO_MANY":
			all.add(true, code, f.Path...)
		default:
			if !slices.Contains(all, code) {
				all.add(true, code)
			}
		}
	}
	return all
}

// agrees fails the test unless the Service and the model report the same faults. It reports
// whether the operation was accepted.
func (g *game) agrees(what string, in any, v viewer, want faults, err error) bool {
	g.Helper()
	got := faultsOf(err)
	g.Logf("%s by %+v of %s: %v", what, v, g.hash("", in), got)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		g.Fatalf("%s by %+v of %+v (-model +service):\n%s%v", what, v, in, diff, err)
	}
	return err == nil
}

// request is a mutation in the model, with its idempotency key if it has one.
type request struct {
	v    viewer
	key  *string
	hash string
}

// request starts a mutation in the model, and keeps it for a repetition if it has a key.
func (g *game) request(v viewer, key *string, mutation string, in any, again func()) *request {
	g.w.again = false
	if key != nil && *key != "" {
		g.keyed = append(g.keyed, again)
	}
	return &request{v, key, g.hash(mutation, in)}
}

var errMismatch = errors.New("IDEMPOTENCY_MISMATCH")

// answered reports whether the partition has answered this request before.
func (w *world) answered(r *request, partition string) (again bool, err error) {
	if r.key == nil {
		return false, nil
	}
	hash, ok := w.requests[requestID{partition, r.v.user, *r.key}]
	if ok && hash != r.hash {
		return false, errMismatch
	}
	w.again = ok
	return ok, nil
}

// remember records that the partition has answered the request.
func (w *world) remember(r *request, partition string) {
	if r.key != nil {
		w.requests[requestID{partition, r.v.user, *r.key}] = r.hash
	}
}

// used reports whether an id is that of something, also if that was deleted.
func (w *world) used(id string) bool {
	return w.items[library.ContentID(id)] != nil || w.principals[principal.ID(id)] != nil || w.gone[principal.ID(id)]
}

// recordCreation records what a key creates, as the first step of a creation: a key creates one
// thing only.
func (w *world) recordCreation(r *request, id string) error {
	if r.key == nil {
		return nil
	}
	k := creationID{r.v.user, *r.key}
	before, used := w.creations[k]
	if used && before.hash != r.hash {
		claimed := requestID{before.id, r.v.user, *r.key}
		if _, happened := w.requests[claimed]; happened {
			return errMismatch
		}
		if before.id != "" && !w.used(before.id) {
			w.claims[claimed] = r.hash // the former input does not create this id any more
		}
	}
	if !used || before.hash != r.hash {
		w.creations[k] = created{r.hash, id}
	}
	if hash, claimed := w.claims[requestID{id, r.v.user, *r.key}]; claimed && hash != r.hash {
		return errMismatch
	}
	return nil
}
