package pebblestore

import "sync"

// A deleted row stays in memory, and costs every slice that passes it about
// 150 ns, until its table is flushed and merged. So a flush is started when one
// library has lost deadPerOwner places since the last one: then the newest page
// costs at most a fifth more than without dead rows, and a flush and its
// merging, some 5 ms of CPU, are shared by as many mutations. It is also
// started when more owners than deadOwners have lost any.
const (
	deadPerOwner = 100
	deadOwners   = 1 << 16
)

// dead counts the places lost by each library, and by each feed, since the last flush: a
// place is one entry in each bucket.
type dead struct {
	mu    sync.Mutex
	rows  map[string]int
	flush chan struct{} // of one place: a flush is wanted
}

func (d *dead) init() {
	d.rows = make(map[string]int)
	d.flush = make(chan struct{}, 1)
}

// add counts n places that a library or a feed has lost. The caller holds mu.
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

// flushDead flushes when a library has seen enough deletions, until Close.
func (s *Store) flushDead() {
	defer s.tasks.Done()
	for {
		select {
		case <-s.stop:
			return
		case <-s.dead.flush:
		}
		// It waits for the lock that a failed write may keep (see apply).
		s.writing.Lock()
		if s.broken.Load() != nil {
			s.writing.Unlock()
			return
		}
		flushed, err := s.db.AsyncFlush()
		s.writing.Unlock()
		if err != nil {
			s.log.Error("store: flush", "cause", err.Error())
			continue
		}
		select {
		case <-s.stop:
			return
		case <-flushed:
		}
	}
}
