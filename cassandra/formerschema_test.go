package cassandra

import (
	"testing"

	"carrel/core/clock"
	"carrel/library"
)

// TestMigrate_ItemOfAnOlderSchemaIsReadAndChanged: after the migration, an item of a keyspace
// without the columns moved_at, url, page and data has no time of its last move and no URL, and
// gets both with its next change.
func TestMigrate_ItemOfAnOlderSchemaIsReadAndChanged(t *testing.T) {
	t.Parallel()
	o := ownOptions(t)
	s := open(t, o)
	c := creation("c:t:former", s.now())
	mustCommit(t, s, c)
	for _, stmt := range []string{
		`ALTER TABLE content DROP moved_at`, `ALTER TABLE content DROP url`, `ALTER TABLE content DROP page`, `ALTER TABLE content DROP data`,
		`DELETE FROM schema_version WHERE part = 0 AND version IN (7, 9)`,
	} {
		if err := s.session.Driver().Query(stmt).WithContext(t.Context()).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	var steps []string
	if err := Migrate(t.Context(), o, func(step string) { steps = append(steps, step) }); err != nil || len(steps) != 2 {
		t.Fatalf("the migration reported the steps %q, %v", steps, err)
	}
	s = open(t, o)
	moved := moveOf(c)
	url := ""
	for _, want := range []clock.Instant{0, 4711} {
		rows, err := s.Read(t.Context(), c.ID, library.ContentQuery{Serial: true})
		if err != nil || rows.Header.MovedAt != want || rows.Header.CanonicalURL != url || rows.Header.Title != "Title" {
			t.Errorf("moved at %d, want %d: %+v, %v", rows.Header.MovedAt, want, rows.Header, err)
		}
		if want == 0 {
			url = "https://example.com/"
			moved.Header.MovedAt, moved.Header.CanonicalURL = 4711, url
			mustCommit(t, s, moved)
		}
	}
}
