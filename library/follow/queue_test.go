package follow

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// TestQueue_MissedChangesComeFirst: all missed changes come first, whatever comes while they are
// queued. A cursor that was delivered in between would cover changes that were not delivered yet.
func TestQueue_MissedChangesComeFirst(t *testing.T) {
	const most, others = 5000, queueMost / 2
	f := &Follower{s: &Service{Publisher: &Publisher{watch: library.Unwatched{}}}, bucket: principal.Private, limit: queueMost,
		waiting: map[library.ContentID]pending{}}
	missed := make([]library.Change, most)
	for i := range missed {
		missed[i] = library.Change{ChangeKey: library.ChangeKey{At: clock.Instant(1 + i),
			Content: library.ContentID(fmt.Sprintf("c:t:missed%d", i)), MTS: 1}}
	}
	var group sync.WaitGroup
	begun, caughtUp := make(chan struct{}), make(chan struct{})
	group.Go(func() {
		for n := 0; ; n++ {
			f.offer(f.toDeliver(library.Change{ChangeKey: library.ChangeKey{At: most + 1,
				Content: library.ContentID(fmt.Sprintf("c:t:come%d", n%others)), MTS: 1}}))
			switch n {
			case 0:
				close(begun)
			default:
				select {
				case <-caughtUp:
					return
				default:
				}
			}
		}
	})
	<-begun
	f.catchUp(missed)
	close(caughtUp)
	group.Wait()
	if f.cut != nil || len(f.queue) < most {
		t.Fatalf("%d items wait: %v", len(f.queue), f.cut)
	}
	for i, id := range f.queue[:most] {
		if id != missed[i].Content {
			t.Fatalf("%s is delivered instead of %s, of %d that were missed", id, missed[i].Content, most)
		}
	}
	if slices.ContainsFunc(f.queue[most:], func(id library.ContentID) bool { return f.waiting[id].At <= most }) {
		t.Error("something that was missed waits behind what has come since")
	}
}
