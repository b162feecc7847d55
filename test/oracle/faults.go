package oracle

import (
	"context"
	"fmt"
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

// request is a mutation in the model.
type request struct {
	v         viewer
	key       *string // its idempotency key; nil if it has none
	hash      string
	partition string // where its answer is remembered; "" if the model does not know it before the Service answers
	again     bool   // it was answered before
}

// perform makes a request of the model and of the Service, and compares their faults. ok is false if both have refused
// it. again makes the same request later, if it has a key.
func perform[I, O any](g *game, v viewer, in I, key *string, again func(viewer, I), model func(*request, I) faults,
	service func(context.Context, *principal.Viewer, I) (O, error)) (out O, r *request, ok bool) {
	g.Helper()
	if key != nil && *key != "" {
		g.keyed = append(g.keyed, func() { again(v, in) })
	}
	what := fmt.Sprintf("%T", in)
	r = &request{v: v, key: key, hash: g.hash(what, in)}
	want := model(r, in)
	out, err := service(g.ctx, v.fresh(), in)
	ok = g.agrees(what, in, v, want, err)
	if ok && !r.again && r.partition != "" {
		g.w.remember(r, r.partition)
	}
	return out, r, ok
}

// begin returns the faults of a request before the model looks at what the request changes. f are those of its other
// input. A request that was answered before has no further faults.
func (w *world) begin(r *request, f faults, tenant, partition string) faults {
	if f = r.check(f); f != nil {
		return f
	}
	if f = w.actor(r.v, tenant); f != nil {
		return f
	}
	r.partition = partition
	return w.answered(r, partition)
}

// check returns the faults that a request has whatever the state of the model is; f are those of its other input.
func (r *request) check(f faults) faults {
	if !r.v.signedIn() {
		return faults{"UNAUTHENTICATED"}
	}
	f.add(badKey(r.key), "INVALID", "idempotencyKey")
	return f
}

// answered finds out whether the partition has answered this request before.
func (w *world) answered(r *request, partition string) faults {
	if r.key == nil {
		return nil
	}
	hash, ok := w.requests[requestID{partition, r.v.user, *r.key}]
	if ok && hash != r.hash {
		return faults{"IDEMPOTENCY_MISMATCH"}
	}
	r.again = ok
	return nil
}

// remember records that the partition has answered the request.
func (w *world) remember(r *request, partition string) {
	if r.key != nil {
		w.requests[requestID{partition, r.v.user, *r.key}] = r.hash
	}
}

// rememberCreation records that the request has created something whose id the Service has chosen.
func (w *world) rememberCreation(r *request, id string) {
	w.remember(r, id)
	if r.key != nil {
		w.creations[creationID{r.v.user, *r.key}] = created{r.hash, id}
	}
}

// first returns the id of what the key of a request was used to create; "" if there is none.
func (w *world) first(r *request) string {
	if r.key == nil {
		return ""
	}
	return w.creations[creationID{r.v.user, *r.key}].id
}

// used reports whether an id is that of something, also if that was deleted.
func (w *world) used(id string) bool {
	return w.items[library.ContentID(id)] != nil || w.principals[principal.ID(id)] != nil || w.gone[principal.ID(id)]
}

// recordCreation records what a key creates, as the first step of a creation: a key creates one
// thing only.
func (w *world) recordCreation(r *request, id string) faults {
	if r.key == nil {
		return nil
	}
	k := creationID{r.v.user, *r.key}
	before, used := w.creations[k]
	if used && before.hash != r.hash {
		claimed := requestID{before.id, r.v.user, *r.key}
		if _, happened := w.requests[claimed]; happened {
			return faults{"IDEMPOTENCY_MISMATCH"}
		}
		if before.id != "" && !w.used(before.id) {
			w.claims[claimed] = r.hash // the former input does not create this id any more
		}
	}
	if !used || before.hash != r.hash {
		w.creations[k] = created{r.hash, id}
	}
	if hash, claimed := w.claims[requestID{id, r.v.user, *r.key}]; claimed && hash != r.hash {
		return faults{"IDEMPOTENCY_MISMATCH"}
	}
	return nil
}
