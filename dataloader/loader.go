package dataloader

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"carrel/core/input"
)

// Loader loads values of one kind by id. It is safe for concurrent use.
type Loader[K comparable, V any] struct {
	load func(context.Context, []K) ([]V, error)

	mu       sync.Mutex
	expected []K // announced; may contain duplicates and ids that are already known
	known    map[K]answer[V]
}

// answer is a value that was primed, or the call that loads it.
type answer[V any] struct {
	value V
	call  *call
}

// call is a load that is running or done. Its results are in known.
type call struct {
	done chan struct{}
	err  error // may be read after done is closed
}

func newLoader[K comparable, V any](load func(context.Context, []K) ([]V, error)) Loader[K, V] {
	return Loader[K, V]{load: load}
}

// keep stores the answer for an id. l.mu is held.
func (l *Loader[K, V]) keep(id K, a answer[V]) {
	if l.known == nil { // most operations load nothing of most kinds
		l.known = map[K]answer[V]{}
	}
	l.known[id] = a
}

// Expect announces ids that may be loaded: the first Load of any of them loads them all. Expect
// itself reads nothing.
func (l *Loader[K, V]) Expect(ids []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = append(l.expected, ids...)
}

// Prime stores a value that was read elsewhere in this operation.
func (l *Loader[K, V]) Prime(id K, v V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(id, answer[V]{value: v})
}

// Load returns the value of id. Errors are cached like values: within one operation, one id has one
// result.
func (l *Loader[K, V]) Load(ctx context.Context, id K) (V, error) {
	a, ids := l.join(id)
	if a.call == nil {
		return a.value, nil
	}
	if ids != nil {
		values, err := l.run(ctx, a.call, ids)
		if err != nil {
			return a.value, err
		}
		return values[0], nil
	}
	select {
	case <-a.call.done:
		return l.resultOf(id, a.call)
	case <-ctx.Done():
		return a.value, context.Cause(ctx)
	}
}

// LoadOnce loads the values of ids, which may repeat, in their order and in one call. It caches an
// error, but not the values: it is for operations that load these ids nowhere else. There must not
// be more ids than one call accepts.
func (l *Loader[K, V]) LoadOnce(ctx context.Context, ids []K) ([]V, error) {
	distinct, at := distinct(ids)
	c := &call{done: make(chan struct{}), err: errNoReturn(len(distinct))}
	close(c.done)
	defer func() {
		if c.err == nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, id := range distinct {
			l.keep(id, answer[V]{call: c})
		}
	}()
	var loaded []V
	if loaded, c.err = l.call(ctx, distinct); c.err != nil {
		return nil, c.err
	}
	values := make([]V, len(ids))
	for i, n := range at {
		values[i] = loaded[n]
	}
	return values, nil
}

// distinct returns ids without duplicates, and for each id its index among them.
func distinct[K comparable](ids []K) (distinct []K, at []int) {
	distinct, at = make([]K, 0, len(ids)), make([]int, len(ids))
	for i, id := range ids {
		n := slices.Index(distinct, id)
		if n < 0 {
			n = len(distinct)
			distinct = append(distinct, id)
		}
		at[i] = n
	}
	return distinct, at
}

// join returns the answer for id. If there is none, it registers a call for id and as many
// announced ids as one call accepts, which the caller must run. id is the first of ids.
func (l *Loader[K, V]) join(id K) (a answer[V], ids []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.known[id]; ok {
		return a, nil
	}
	a = answer[V]{call: &call{done: make(chan struct{})}}
	l.keep(id, a)
	ids = append(make([]K, 0, min(1+len(l.expected), input.MaxList)), id)
	taken := 0
	for ; taken < len(l.expected) && len(ids) < input.MaxList; taken++ {
		next := l.expected[taken]
		if _, ok := l.known[next]; ok {
			continue
		}
		l.known[next] = a
		ids = append(ids, next)
	}
	l.expected = l.expected[taken:]
	return a, ids
}

// run makes the call and stores its values. It always finishes the call, even if the load panics,
// because others wait for it.
func (l *Loader[K, V]) run(ctx context.Context, c *call, ids []K) (values []V, err error) {
	c.err = errNoReturn(len(ids))
	defer close(c.done)
	values, err = l.call(ctx, ids)
	c.err = err
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range ids {
		l.known[id] = answer[V]{value: values[i]}
	}
	return values, nil
}

// call makes a call and checks the number of its values.
func (l *Loader[K, V]) call(ctx context.Context, ids []K) ([]V, error) {
	values, err := l.load(ctx, ids)
	if err == nil && len(values) != len(ids) {
		err = fmt.Errorf("load %d ids: got %d answers", len(ids), len(values))
	}
	return values, err
}

// errNoReturn returns the error of a call that panicked.
func errNoReturn(ids int) error { return fmt.Errorf("load %d ids: the call did not return", ids) }

// resultOf returns the result of a finished call for id.
func (l *Loader[K, V]) resultOf(id K, c *call) (V, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[id].value, c.err
}

func (l *Loader[K, V]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = nil
	clear(l.known)
}
