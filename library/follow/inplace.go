package follow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// updatePause is the minimum time between two events for updates in place of one item. Only hot
// items are updated in place, and they change often.
const updatePause = 250 * time.Millisecond

// Updated passes on an update whose move is deferred: it changes no library until then, so
// there are no changes to read. Nothing depends on it, because the move has its own changes.
func (s *Publisher) Updated(id library.ContentID) {
	if s.notifier != nil {
		s.announcer.updated(id)
	}
	s.noteUpdate(id)
}

// noteUpdate passes an update on to the libraries followed here.
func (s *Publisher) noteUpdate(id library.ContentID) {
	if !s.feeds.anyOpen() || !s.feeds.beginUpdate(id) {
		return
	}
	s.rt.Go(func() {
		for again := true; again; again = s.feeds.again(id) {
			if err := s.passUpdate(s.life, id); err != nil {
				s.log.WarnContext(s.life, "an update in place could not be delivered", "content", string(id), "error", err)
			}
			if s.rt.After(s.life, updatePause) != nil {
				return
			}
		}
	})
}

// beginUpdate returns true if the caller must pass the update on, because no task is doing so.
func (fs *feeds) beginUpdate(id library.ContentID) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	_, busy := fs.updates[id]
	fs.updates[id] = busy
	return !busy
}

// again reports whether the item was updated once more meanwhile.
func (fs *feeds) again(id library.ContentID) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !fs.updates[id] {
		delete(fs.updates, id)
		return false
	}
	fs.updates[id] = false
	return true
}

// passUpdate finds the libraries followed here that contain the item: by its members if there
// are fewer of them, otherwise by the libraries.
func (s *Publisher) passUpdate(ctx context.Context, id library.ContentID) error {
	rows, err := s.contents.Read(ctx, id, library.ContentQuery{})
	if err != nil {
		return fmt.Errorf("read an item: %w", err)
	}
	key := library.ChangeKey{At: s.feeds.stampNow(s.engine.StoreNow()), Content: id, MTS: rows.Header.MTS}
	pass := func(m library.Member) {
		if fd := s.feeds.find(m.Principal); fd != nil && m.Active() {
			fd.passUpdate(key, rows.Header.Visibility)
		}
	}
	owners := s.feeds.owners()
	if rows.Header.Members < len(owners) {
		return s.eachMember(ctx, id, pass)
	}
	for part := range slices.Chunk(owners, input.MaxList) {
		rows, err := s.contents.Read(ctx, id, library.ContentQuery{Members: part})
		if err != nil {
			return fmt.Errorf("read members of an item: %w", err)
		}
		for i, m := range rows.Members {
			m.Principal = part[i]
			pass(m)
		}
	}
	return nil
}

// eachMember reads all member rows of an item.
func (s *Publisher) eachMember(ctx context.Context, id library.ContentID, see func(library.Member)) error {
	var after principal.ID
	for {
		page, err := s.contents.MembersPage(ctx, id, after, s.snapshotPage, false)
		if err != nil {
			return fmt.Errorf("read members of an item: %w", err)
		}
		for _, m := range page.Members {
			see(m)
		}
		if len(page.Members) < s.snapshotPage {
			return nil
		}
		after = page.Members[len(page.Members)-1].Principal
	}
}
