package dataloader

import (
	"context"
	"fmt"
	"sync"

	"carrel/core/input"
)

// Loader loads values of one kind by id. It is safe for concurrent use.
type Loader[K comparable, V any] struct {
	load func(context.Context, []K) ([]V, error)

	mu       sync.Mutex
	expected []K // announced; may hold ids twice and ids that are known by now
	known    map[K]answer[V]
}

// answer is a value that was primed, or the call that brings it.
type answer[V any] struct {
	value V
	call  *call
}

// call is a load under way or done: the answers it brought stand in known.
type call struct {
	done chan struct{}
	err  error // may be read once done is closed
}

func newLoader[K comparable, V any](load func(context.Context, []K) ([]V, error)) Loader[K, V] {
	return Loader[K, V]{load: load, known: map[K]answer[V]{}}
}

// Expect announces ids that may be asked for: the first Load of any of them
// loads them all. It reads nothing itself.
func (l *Loader[K, V]) Expect(ids []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = append(l.expected, ids...)
}

// Prime says what was read elsewhere in this operation.
func (l *Loader[K, V]) Prime(id K, v V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[id] = answer[V]{value: v}
}

// Load gives the value of id. An error is kept like a value: one operation
// gets one answer for one id.
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
		return l.brought(id, a.call)
	case <-ctx.Done():
		return a.value, context.Cause(ctx)
	}
}

// join finds the answer for id. Where there is none it makes a call of id and
// of as many announced ids as one call takes, which the caller must run; id is
// its first.
func (l *Loader[K, V]) join(id K) (a answer[V], ids []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.known[id]; ok {
		return a, nil
	}
	a = answer[V]{call: &call{done: make(chan struct{})}}
	l.known[id] = a
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

// run makes the call and keeps its values. It is done in any case, also when
// the load panics: others wait for it.
func (l *Loader[K, V]) run(ctx context.Context, c *call, ids []K) (values []V, err error) {
	c.err = fmt.Errorf("load %d ids: the call did not return", len(ids))
	defer close(c.done)
	values, err = l.load(ctx, ids)
	if err == nil && len(values) != len(ids) {
		err = fmt.Errorf("load %d ids: got %d answers", len(ids), len(values))
	}
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

// brought reads what a finished call has brought for id.
func (l *Loader[K, V]) brought(id K, c *call) (V, error) {
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
