package cassandra

import (
	"context"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
)

// A process that uses the keyspace writes a mark, a row with a time to live, and renews it three
// times within that time. The mark expires in the cluster, so whether it exists does not depend on
// the clock of a process.
const (
	markLives   = 30 * time.Second
	markEvery   = 10 * time.Second
	markTimeout = 5 * time.Second // limit for one renewal
)

const (
	putMark     = `INSERT INTO gateway (part, id, host, doing) VALUES (0, ?, ?, ?) USING TTL ? AND TIMESTAMP ?`
	dropMark    = `DELETE FROM gateway USING TIMESTAMP ? WHERE part = 0 AND id = ?`
	selectMarks = `SELECT id, host, doing, ttl(host) FROM gateway WHERE part = 0`
)

// Presence is another process that uses the keyspace or did so a moment ago.
type Presence struct {
	Host  string
	Doing string // such as "carrel serve"
	// ExpiresIn is the time until its mark expires, unless it is renewed.
	ExpiresIn time.Duration
}

// mark is the mark of this process.
type mark struct {
	id          gocql.UUID
	host, doing string

	mu sync.Mutex
	// stamp is the write time of the mark. It always increases, so that a renewal is newer even if
	// the clock was set back.
	stamp int64
}

// next returns the write time for the next write of the mark.
func (m *mark) next(now int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamp = max(now, m.stamp+1)
	return m.stamp
}

// Register registers this process as a user of the keyspace until the Store is closed, and returns
// the other processes. If two processes register at the same time, at least one sees the other. If
// observe is not nil, it is called with the others after each renewal of the mark.
func (s *Store) Register(ctx context.Context, host, doing string, observe func(others []Presence)) ([]Presence, error) {
	m := &mark{id: gocql.MustRandomUUID(), host: host, doing: doing}
	// This starts before the mark is written, so that Close deletes the mark even if the outcome of
	// the write is unknown. Otherwise a retry would take it for another process.
	s.session.Background(ctx, func(ctx context.Context) { s.keepMark(ctx, m, observe) })
	if err := s.renew(ctx, m); err != nil {
		return nil, err
	}
	return s.others(ctx, m)
}

// keepMark renews the mark until ctx ends, and then deletes it.
func (s *Store) keepMark(ctx context.Context, m *mark, observe func([]Presence)) {
	for session.Pause(ctx, markEvery) == nil {
		// A failed renewal is retried: the mark lives three times as long.
		if others, err := s.renewAndRead(ctx, m); err == nil && observe != nil {
			observe(others)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	// If this fails, the mark expires by itself.
	_ = s.session.WriteStamped(ctx, "mark a process", dropMark, m.next(int64(s.now())), m.id)
}

// renewAndRead renews the mark and returns the other processes.
func (s *Store) renewAndRead(ctx context.Context, m *mark) ([]Presence, error) {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	if err := s.renew(ctx, m); err != nil {
		return nil, err
	}
	return s.others(ctx, m)
}

// Others returns all processes with a mark, for a process that has none itself.
func (s *Store) Others(ctx context.Context) ([]Presence, error) { return s.others(ctx, &mark{}) }

func (s *Store) renew(ctx context.Context, m *mark) error {
	return s.session.WriteStamped(ctx, "mark a process", putMark, m.id, m.host, m.doing, int(markLives.Seconds()), m.next(int64(s.now())))
}

// others returns all processes with a mark except the given one.
func (s *Store) others(ctx context.Context, m *mark) ([]Presence, error) {
	var (
		all  []Presence
		id   gocql.UUID
		p    Presence
		left int
	)
	q := session.Query{Operation: "look for other processes", Stmt: selectMarks}
	err := s.session.Read(ctx, q, []any{&id, &p.Host, &p.Doing, &left}, func() error {
		if id != m.id {
			p.ExpiresIn = time.Duration(left) * time.Second
			all = append(all, p)
		}
		return nil
	})
	return all, err
}
