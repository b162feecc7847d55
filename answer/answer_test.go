package answer

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// text returns everything that was written.
func (b *Body) text() string { return string(bytes.Join(b.chunks, nil)) }

func TestBody_WritesItsInput(t *testing.T) {
	for name, sizes := range map[string][]int{
		"nothing":          {},
		"a few bytes":      {1, 2, 3},
		"a chunk":          {step - 1, 1},
		"more than one":    {step, 1, step + 1, 7},
		"one long write":   {10 * step},
		"short then long":  {firstChunk, 3 * step, 1},
		"growing":          {1, 600, 1200, 2400, 40_000, 80_000},
		"many short ones":  append(make([]int, 0), repeat(333, 1000)...),
		"an empty one too": {0, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var want strings.Builder
			m := NewMemory(1<<30, 1<<20)
			b := New(1<<30, m, "a", nil)
			for i, n := range sizes {
				piece := strings.Repeat(string(rune('a'+i%26)), n)
				want.WriteString(piece)
				if i%2 == 0 {
					_, _ = b.WriteString(piece)
				} else {
					_, _ = b.Write([]byte(piece))
				}
			}
			b.Finish()
			if b.Err() != nil || b.text() != want.String() {
				t.Fatalf("%v: %d bytes, want %d", b.Err(), len(b.text()), want.Len())
			}
			kept := 0
			for _, chunk := range b.Chunks() {
				kept += cap(chunk)
			}
			if m.Used() != int64(kept) {
				t.Errorf("%d bytes are reserved for %d", m.Used(), kept)
			}
			if kept > 2*want.Len()+step {
				t.Errorf("%d bytes are kept of %d", kept, want.Len())
			}
			b.Release()
			b.Release()
			if m.Used() != 0 {
				t.Errorf("%d bytes are reserved after Release", m.Used())
			}
		})
	}
}

func repeat(n, times int) (list []int) {
	for range times {
		list = append(list, n)
	}
	return list
}

func TestBody_FailsBeyondItsLimit(t *testing.T) {
	const limit = 3 * step
	for name, build := range map[string]func(b *Body, n int){
		"written":      func(b *Body, n int) { _, _ = b.Write(make([]byte, n)) },
		"byte by byte": func(b *Body, n int) { eachByte(n, func() { _, _ = b.WriteString("x") }) },
		"a part":       func(b *Body, n int) { (&Part{Body: b}).End(make([]byte, n)) },
		"two parts":    func(b *Body, n int) { (&Part{Body: b}).End(make([]byte, n-10)); (&Part{Body: b}).End(make([]byte, 10)) },
		"beside a part": func(b *Body, n int) {
			p := &Part{Body: b}
			p.End(make([]byte, n-10))
			_, _ = b.WriteString("[")
			p.Join()
			_, _ = b.Write(make([]byte, 9))
		},
		"beside a short part": func(b *Body, n int) {
			p := &Part{Body: b}
			p.End(make([]byte, 10))
			p.Join()
			_, _ = b.Write(make([]byte, n-10))
		},
		"a cut part": func(b *Body, n int) {
			p := &Part{Body: b}
			p.End(p.Cut(make([]byte, n)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, stops := NewMemory(1<<30, 1<<20), 0
			b := New(limit, m, "a", func() { stops++ })
			build(b, limit)
			if b.Err() != nil {
				t.Fatalf("%d bytes of %d: %v", limit, limit, b.Err())
			}
			again := New(limit, m, "a", func() { stops++ })
			build(again, limit+1)
			if again.Err() != ErrTooLarge || stops != 1 {
				t.Fatalf("one byte more: %v, stopped %d times", again.Err(), stops)
			}
			build(again, 100)
			again.Finish()
			if len(again.Chunks()) > 0 {
				t.Errorf("%d chunks are kept", len(again.Chunks()))
			}
			b.Release()
			if m.Used() != 0 {
				t.Errorf("%d bytes are reserved after the failure", m.Used())
			}
		})
	}
}

func eachByte(n int, do func()) {
	for range n {
		do()
	}
}

func TestBody_FailsWithoutMemory(t *testing.T) {
	m := NewMemory(3*step, 1<<20)
	first, stops := New(1<<30, m, "a", nil), 0
	first.Hold(2*step + 1)
	if first.Err() != nil || m.Used() != 3*step {
		t.Fatalf("%v, %d bytes", first.Err(), m.Used())
	}
	for name, use := range map[string]func(b *Body){
		"held":    func(b *Body) { b.Hold(1) },
		"written": func(b *Body) { _, _ = b.WriteString("x") },
	} {
		b := New(1<<30, m, "a", func() { stops++ })
		use(b)
		if b.Err() != ErrNoMemory || m.Used() != 3*step {
			t.Errorf("%s: %v, %d bytes", name, b.Err(), m.Used())
		}
		b.Release()
	}
	if stops != 2 {
		t.Errorf("%d answers were stopped, want 2", stops)
	}
	first.Release()
	b := New(1<<30, m, "a", nil)
	if b.Hold(3 * step); b.Err() != nil {
		t.Errorf("afterwards: %v", b.Err())
	}
	b.Release()
	// After Release nothing is reserved, because nothing would free it.
	if b.Hold(1 << 20); b.Err() != nil || m.Used() != 0 {
		t.Errorf("after Release: %v, %d bytes", b.Err(), m.Used())
	}
}

func TestBody_HoldsInSteps(t *testing.T) {
	m := NewMemory(1<<30, 1<<20)
	b := New(1<<30, m, "a", nil)
	for _, c := range []struct{ hold, want int64 }{{1, step}, {step - 1, step}, {1, 2 * step}, {5 * step, 7 * step}} {
		if b.Hold(int(c.hold)); m.Used() != c.want {
			t.Errorf("%d more: %d bytes are reserved, want %d", c.hold, m.Used(), c.want)
		}
	}
	// What was resolved is garbage when the answer is written.
	_, _ = b.WriteString("short")
	if b.Finish(); m.Used() != firstChunk {
		t.Errorf("%d bytes are reserved for a short answer, want those of its chunk", m.Used())
	}
	b.Release()
}

func TestBody_ConcurrentHoldsAreCounted(t *testing.T) {
	m := NewMemory(1<<30, 1<<20)
	b := New(1<<30, m, "a", nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				b.Hold(100)
				(&Part{Body: b}).End(make([]byte, 1))
			}
		})
	}
	all.Wait()
	if want := roundUp(800_000); m.Used() != want || b.Size() != 8000 {
		t.Errorf("%d bytes are reserved, want %d", m.Used(), want)
	}
	b.Release()
	if m.Used() != 0 {
		t.Errorf("%d bytes after Release", m.Used())
	}
}

func TestPart_IsWrittenInOrder(t *testing.T) {
	m := NewMemory(1<<30, 1<<20)
	b := New(1<<30, m, "a", nil)
	p := &Part{Body: b}
	buf := []byte("[")
	for i := range 5 {
		buf = p.Cut(append(buf, strings.Repeat(string(rune('0'+i)), step/2)...))
	}
	p.End(append(buf, ']'))
	_, _ = b.WriteString("{")
	p.Join()
	_, _ = b.WriteString("}")
	b.Finish()
	want := "{["
	for i := range 5 {
		want += strings.Repeat(string(rune('0'+i)), step/2)
	}
	if want += "]}"; b.text() != want || b.Size() != len(want) {
		t.Errorf("%d bytes, %.20s", b.Size(), b.text())
	}
	if len(b.Chunks()) < 4 {
		t.Errorf("%d chunks: long parts are copied", len(b.Chunks()))
	}
	b.Release()
}

// TestBody_BufferIsReused: by a later answer, and not by one in progress.
func TestBody_BufferIsReused(t *testing.T) {
	m := NewMemory(1<<30, 1<<20)
	first, second := New(1<<20, m, "a", nil), New(1<<20, m, "a", nil)
	write := func(b *Body, text string) {
		part := &Part{Body: b}
		part.End(append(b.Buffer(10_000), strings.Repeat(text, 5000)...))
		part.Join()
		b.Finish()
	}
	write(first, "a")
	write(second, "b")
	if first.text() != strings.Repeat("a", 5000) || second.text() != strings.Repeat("b", 5000) {
		t.Error("two answers share a buffer")
	}
	if cap(first.Buffer(1)) < 10_000 {
		t.Error("an answer has several buffers")
	}
	first.Release()
	first.Release()
	second.Release()
	if m.Used() != 0 {
		t.Errorf("%d bytes are reserved afterwards", m.Used())
	}
	// Releasing an answer twice returns its buffer once, so no two later answers share it.
	for range 100 {
		used := map[*byte]bool{}
		for range 8 {
			b := New(1<<20, m, "a", nil)
			defer b.Release()
			first := &b.Buffer(10_000)[:1][0]
			if used[first] {
				t.Fatal("two later answers share a buffer")
			}
			used[first] = true
		}
		b := New(1<<20, m, "a", nil)
		b.Buffer(10_000)
		b.Release()
		b.Release()
	}
	if testing.AllocsPerRun(100, func() {
		b := New(1<<20, m, "a", nil)
		b.Buffer(10_000)
		b.Release()
	}) > 1.5 { // the Body; the pool may drop a buffer now and then
		t.Error("buffers are not used again")
	}
}
