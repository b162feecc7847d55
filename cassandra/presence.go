package cassandra

import (
	"context"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
)

// A process that uses the keyspace leaves a mark there with a time to live,
// and renews it three times within that time. Whether a mark stands is judged
// by the cluster, which forgets it by itself, and by no clock of a process.
const (
	markLives  = 30 * time.Second
	markEvery  = 10 * time.Second
	markWithin = 5 * time.Second // for one renewal
)

const (
	putMark     = `INSERT INTO gateway (part, id, host, doing, lists) VALUES (0, ?, ?, ?, 1) USING TTL ? AND TIMESTAMP ?`
	dropMark    = `DELETE FROM gateway USING TIMESTAMP ? WHERE part = 0 AND id = ?`
	selectMarks = `SELECT id, host, doing, lists, ttl(host) FROM gateway WHERE part = 0`
)

// Presence is another process that uses the keyspace, or did so a moment ago.
type Presence struct {
	Host  string
	Doing string // such as "carrel serve"
	// Left is when its mark ends, unless it renews it.
	Left time.Duration
}

// mark is that of this process.
type mark struct {
	id          gocql.UUID
	host, doing string

	mu sync.Mutex
	// stamp is the write time of the mark. It rises by itself, so that a clock
	// that is set back does not make a renewal the older write.
	stamp int64
}

// next is the write time of the next write of the mark.
func (m *mark) next(now int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamp = max(now, m.stamp+1)
	return m.stamp
}

// Join tells everybody who uses the keyspace that this process does, until the
// Store is closed, and gives the others. Of two that join at the same time at
// least one is told of the other. heed is told of them again whenever the mark
// was renewed; nil: nobody is.
func (s *Store) Join(ctx context.Context, host, doing string, logUnreadable func(others []Presence)) ([]Presence, error) {
	m := &mark{id: gocql.MustRandomUUID(), host: host, doing: doing}
	// Before it is written, so that Close takes a mark away of which it is not
	// known whether it stands: who tries again would take it for another process.
	s.session.Background(ctx, func(ctx context.Context) { s.attend(ctx, m, logUnreadable) })
	if err := s.renew(ctx, m); err != nil {
		return nil, err
	}
	return s.others(ctx, m)
}

// attend renews the mark until ctx ends, and takes it away then.
func (s *Store) attend(ctx context.Context, m *mark, logUnreadable func([]Presence)) {
	for session.Pause(ctx, markEvery) == nil {
		// What fails is tried again: the mark lives three times as long.
		if others, err := s.remind(ctx, m); err == nil && logUnreadable != nil {
			logUnreadable(others)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	// A mark that stays ends by itself.
	_ = s.session.WriteStamped(ctx, "mark a process", dropMark, m.next(int64(s.now())), m.id)
}

// remind renews the mark and looks for others.
func (s *Store) remind(ctx context.Context, m *mark) ([]Presence, error) {
	ctx, cancel := context.WithTimeout(ctx, markWithin)
	defer cancel()
	if err := s.renew(ctx, m); err != nil {
		return nil, err
	}
	return s.others(ctx, m)
}

// Others are all whose marks stand, for one that has left none itself.
func (s *Store) Others(ctx context.Context) ([]Presence, error) { return s.others(ctx, &mark{}) }

func (s *Store) renew(ctx context.Context, m *mark) error {
	return s.session.WriteStamped(ctx, "mark a process", putMark, m.id, m.host, m.doing, int(markLives.Seconds()), m.next(int64(s.now())))
}

// others are all whose marks stand, without the one given.
func (s *Store) others(ctx context.Context, m *mark) ([]Presence, error) {
	var (
		all   []Presence
		id    gocql.UUID
		p     Presence
		lists int8
		left  int
	)
	began, whole := time.Now(), true
	err := s.session.Read(ctx, session.Query{Operation: "look for other processes", Stmt: selectMarks}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&id, &p.Host, &p.Doing, &lists, &left) {
			return false
		}
		whole = whole && lists == wholeLists
		if id != m.id {
			p.Left = time.Duration(left) * time.Second
			all = append(all, p)
		}
		return true
	})
	if err == nil {
		s.vouching.sawMarks(whole, began)
	}
	return all, err
}
