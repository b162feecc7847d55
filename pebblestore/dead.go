package pebblestore

import "sync"

// A deleted row stays in memory, and costs every read that passes it about 150 ns, until its table
// is flushed and merged. So a flush starts when one library has lost deadPerOwner entries since the
// last flush. Then dead rows slow the newest page by at most a fifth, and the cost of the flush and
// merge, some 5 ms of CPU, is spread over deadPerOwner mutations. A flush also starts when
// deadOwners owners have lost entries.
const (
	deadPerOwner = 100
	deadOwners   = 1 << 16
)

// dead counts the entries that each library and each feed has lost since the last flush. The
// entries of one item in several buckets count as one.
type dead struct {
	mu    sync.Mutex
	rows  map[string]int
	flush chan struct{} // holds one signal: a flush is wanted
}

func (d *dead) init() {
	d.rows = make(map[string]int)
	d.flush = make(chan struct{}, 1)
}

// add counts n entries that a library or a feed has lost. The caller holds mu.
func (d *dead) add(owner string, n int) {
	rows := d.rows[owner] + n
	d.rows[owner] = rows
	if rows >= deadPerOwner || len(d.rows) >= deadOwners {
		clear(d.rows)
		select {
		case d.flush <- struct{}{}:
		default:
		}
	}
}

// flushDead flushes whenever add wants a flush. It runs until Close.
func (s *Store) flushDead() {
	defer s.tasks.Done()
	for {
		select {
		case <-s.stop:
			return
		case <-s.dead.flush:
		}
		if s.broken.Load() != nil {
			return
		}
		flushed, err := s.db.AsyncFlush()
		if err != nil {
			s.report(s.log.Error, "store: cannot flush", "cause", err.Error())
			continue
		}
		select {
		case <-s.stop:
			return
		case <-flushed:
		}
	}
}
