package dataloader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"carrel/core/input"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting loads the length of each id and records its calls.
type counting struct {
	mu    sync.Mutex
	calls [][]string
	err   error
}

func (c *counting) load(_ context.Context, ids []string) ([]int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, slices.Clone(ids))
	lengths := make([]int, len(ids))
	for i, id := range ids {
		lengths[i] = len(id)
	}
	return lengths, c.err
}

func TestLoader_BatchesAnnouncedIDs(t *testing.T) {
	many := make([]string, input.MaxList+20)
	for i := range many {
		many[i] = fmt.Sprintf("id %d", i)
	}
	cases := []struct {
		name   string
		expect []string
		load   []string
		calls  [][]string
	}{
		{"one id, nothing announced", nil, []string{"a"}, [][]string{{"a"}}},
		{"announced ids come with the first", []string{"a", "bb", "ccc"}, []string{"bb", "a", "ccc"}, [][]string{{"bb", "a", "ccc"}}},
		{"an id twice is read once", []string{"a", "a", "bb", "a"}, []string{"a", "a", "bb"}, [][]string{{"a", "bb"}}},
		{"nothing is loaded, nothing is read", []string{"a"}, nil, nil},
		{"an id that was not announced", []string{"a"}, []string{"zz", "a"}, [][]string{{"zz", "a"}}},
		{"no more than one call takes", many, []string{many[0], many[1], many[input.MaxList], many[input.MaxList+1]},
			[][]string{many[:input.MaxList], append(slices.Clone(many[input.MaxList:input.MaxList+1]), many[input.MaxList+1:]...)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			source := &counting{}
			l := newLoader(source.load)
			l.Expect(c.expect)
			for _, id := range c.load {
				if got, err := l.Load(t.Context(), id); err != nil || got != len(id) {
					t.Errorf("%s: got %d, %v", id, got, err)
				}
			}
			if diff := cmp.Diff(c.calls, source.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoader_PrimedValueIsNotLoaded(t *testing.T) {
	source := &counting{}
	l := newLoader(source.load)
	l.Prime("a", 17)
	l.Expect([]string{"a", "bb"})
	for id, want := range map[string]int{"a": 17, "bb": 2} {
		if got, err := l.Load(t.Context(), id); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", id, got, err, want)
		}
	}
	if diff := cmp.Diff([][]string{{"bb"}}, source.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestForget_LoadsAgain(t *testing.T) {
	source := &counting{}
	l := newLoader(source.load)
	l.Expect([]string{"bb"})
	for range 2 {
		if _, err := l.Load(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		l.forget()
	}
	if diff := cmp.Diff([][]string{{"a", "bb"}, {"a"}}, source.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestLoader_ErrorIsReturnedToAllCallers(t *testing.T) {
	source := &counting{err: errors.New("down")}
	l := newLoader(source.load)
	l.Expect([]string{"a", "bb"})
	for _, id := range []string{"a", "bb", "a"} {
		if _, err := l.Load(t.Context(), id); !errors.Is(err, source.err) {
			t.Errorf("%s: got %v, want %v", id, err, source.err)
		}
	}
	if len(source.calls) != 1 {
		t.Errorf("%d calls, want 1", len(source.calls))
	}
}

func TestLoader_ShortResultIsAnError(t *testing.T) {
	l := newLoader(func(context.Context, []string) ([]int, error) { return nil, nil })
	if _, err := l.Load(t.Context(), "a"); err == nil {
		t.Error("an answer without values was accepted")
	}
}

// TestLoader_ConcurrentCallersShareACall: a caller that arrives during a call gets its result, or
// returns when its own context ends. A panic wakes all waiters.
func TestLoader_ConcurrentCallersShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrive := make(chan struct{})
		calls := 0
		l := newLoader(func(_ context.Context, ids []string) ([]int, error) {
			calls++
			<-arrive
			return make([]int, len(ids)), nil
		})
		l.Expect([]string{"a", "bb"})
		errs := make([]error, 3)
		impatient, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, ctx := range []context.Context{t.Context(), t.Context(), impatient} {
			wg.Go(func() { _, errs[i] = l.Load(ctx, []string{"a", "bb", "bb"}[i]) })
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		close(arrive)
		wg.Wait()
		if calls != 1 || errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], context.Canceled) {
			t.Errorf("%d calls, errors %v; want 1 call and only the third cancelled", calls, errs)
		}
	})
}

func TestLoader_PanicWakesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrive := make(chan struct{})
		l := newLoader(func(context.Context, []string) ([]int, error) {
			<-arrive
			panic("defect")
		})
		l.Expect([]string{"a", "bb"})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach its caller")
				}
			}()
			_, _ = l.Load(t.Context(), "a")
		})
		synctest.Wait()
		var err error
		wg.Go(func() { _, err = l.Load(t.Context(), "bb") })
		synctest.Wait()
		close(arrive)
		wg.Wait()
		if err == nil {
			t.Error("the waiter got a value from a call that panicked")
		}
	})
}

// TestLoadOnce_LoadsEachIDInOneCall: distinct ids are loaded in one call. The error is cached, the
// values are not.
func TestLoadOnce_LoadsEachIDInOneCall(t *testing.T) {
	source := &counting{}
	l := newLoader(source.load)
	got, err := l.LoadOnce(t.Context(), []string{"bb", "a", "bb", "ccc", "a"})
	if want := []int{2, 1, 2, 3, 1}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if n, err := l.Load(t.Context(), "a"); err != nil || n != 1 {
		t.Errorf("afterwards: %d, %v", n, err)
	}
	if diff := cmp.Diff([][]string{{"bb", "a", "ccc"}, {"a"}}, source.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestLoadOnce_KeepsAnError(t *testing.T) {
	down := errors.New("down")
	source := &counting{err: down}
	l := newLoader(source.load)
	if _, err := l.LoadOnce(t.Context(), []string{"a", "bb", "a"}); !errors.Is(err, down) {
		t.Errorf("the error is %v", err)
	}
	for _, id := range []string{"a", "bb"} {
		if _, err := l.Load(t.Context(), id); !errors.Is(err, down) {
			t.Errorf("%s afterwards: %v", id, err)
		}
	}
	if len(source.calls) != 1 {
		t.Errorf("%d calls", len(source.calls))
	}
}

func TestLoadOnce_KeepsAPanicAsAnError(t *testing.T) {
	l := newLoader(func(context.Context, []string) ([]int, error) { panic("in the domain") })
	func() {
		defer func() { _ = recover() }()
		_, _ = l.LoadOnce(t.Context(), []string{"a"})
	}()
	if _, err := l.Load(t.Context(), "a"); err == nil {
		t.Error("a later load returns no error")
	}
}
