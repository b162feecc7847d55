package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/library"
	"carrel/principal"
)

// TestOpen_StoreWithoutTitles: a store from before the order of titles is opened, and gets the present format. Its
// libraries are complete in the order of the last change only, until they are marked again.
func TestOpen_StoreWithoutTitles(t *testing.T) {
	const ann = principal.ID("u:acme:ann")
	mem := vfs.NewMem()
	s := openStore(t, "store", Options{FS: mem})
	mustCommit(t, s, "item", 1)
	mark := appendSingle(nil, tableBuilt, string(ann))
	if err := s.db.Set(mark, []byte{rowVersion}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set([]byte{tableFormat}, []byte(formatWithoutTitles), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	wantBuilt := func(byTitle bool) {
		t.Helper()
		for o, want := range map[library.Order]bool{library.ByChange: true, library.ByTitle: byTitle} {
			opening, err := s.Libraries.OpenLibrary(t.Context(), library.Slice{Owner: ann, Bucket: principal.Private, Order: o, Limit: 1}, false)
			if err != nil || opening.Built != want {
				t.Errorf("opened %s, the library is built: %v, %v", o, opening, err)
			}
			if built, err := s.Libraries.Built(t.Context(), ann, o); err != nil || built != want {
				t.Errorf("the library is built %s: %v, %v", o, built, err)
			}
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, "store", Options{FS: mem})
		if format, _, err := s.get([]byte{tableFormat}); err != nil || string(format) != storeFormat {
			t.Errorf("the format is %q, %v", format, err)
		}
		wantBuilt(false)
	}
	if err := s.db.Set(mark, []byte{rowVersion, 255}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	wantBuilt(false) // it was built for other keys
	if err := s.Libraries.SetBuilt(t.Context(), ann, 1); err != nil {
		t.Fatal(err)
	}
	wantBuilt(true)
}
