package oracle

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
)

// faults are the errors of a refused mutation: "CODE path" if the path names a part of the
// input, "CODE" if the error is about the whole.
type faults []string

func (f *faults) add(wrong bool, code string, path ...string) {
	if wrong {
		*f = append(*f, strings.TrimSpace(code+" "+strings.Join(path, ".")))
	}
}

// codeOf is the contract's code of a fault.
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

// faultsOf returns the faults of an error. It does not compare how often, and at which paths,
// an error is reported that no part of the input could avoid.
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

// agrees fails unless the Service has refused what the model refuses. It reports whether the
// operation was accepted.
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

// request is a keyed mutation as the model follows it.
type request struct {
	v    viewer
	key  *string
	hash string
}

// request follows a mutation, and keeps one with a key to be made again.
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

// remember keeps the first outcome.
func (w *world) remember(r *request, partition string) {
	if r.key != nil {
		w.requests[requestID{partition, r.v.user, *r.key}] = r.hash
	}
}

// fix is the first step of a creation with a key: a key that has created something creates
// nothing else.
func (w *world) fix(r *request, id string) error {
	if r.key == nil {
		return nil
	}
	k := creationID{r.v.user, *r.key}
	before, used := w.creations[k]
	if used && before.hash != r.hash {
		if _, happened := w.requests[requestID{before.id, r.v.user, *r.key}]; happened {
			return errMismatch
		}
	}
	if !used || before.hash != r.hash {
		w.creations[k] = created{r.hash, id}
	}
	return nil
}
