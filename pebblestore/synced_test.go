package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/lease"
	"carrel/note"
	"carrel/paste"
)

// TestCrash_AfterADecisionLosesNothing: what these calls have decided is on the disk when they return.
func TestCrash_AfterADecisionLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		key   []byte
		write func(s *Store) error
	}{
		"lease": {appendSingle(nil, tableLease, "l"), func(s *Store) error {
			_, err := s.Leases.CommitRow(t.Context(), lease.Row{ID: "l", Seq: 1})
			return err
		}},
		"paste": {appendPasteKey(nil, "p"), func(s *Store) error {
			_, err := s.Pastes.CommitRow(t.Context(), paste.Row{ID: "p", Seq: 1})
			return err
		}},
		"draft": {appendDraftKey(nil, "u:acme:ann", "d"), func(s *Store) error {
			_, err := s.Texts.PutDraft(t.Context(), note.DraftRow{User: "u:acme:ann", Name: "d"}, nil)
			return err
		}},
		"claim": {appendClaimKey(nil, claim.Key{Space: "s", Name: "n"}), func(s *Store) error {
			_, err := s.Claims.PutClaim(t.Context(), claim.Claim{Key: claim.Key{Space: "s", Name: "n"}, Record: "r"}, nil)
			return err
		}},
		"day of a feed": {appendBucketKey(nil, "f", 7), func(s *Store) error {
			_, err := s.Feeds.RecordBucket(t.Context(), "f", feed.Bucket{Day: 7, Shards: 1})
			return err
		}},
		"creation": {appendSingle(nil, tableCreation, string(make([]byte, len(commit.RequestKey{})))), func(s *Store) error {
			_, err := s.Registers.PutCreationIfAbsent(t.Context(), commit.Creation{ID: "c"}, nil)
			return err
		}},
		"setting": {appendSingle(nil, tableSetting, "s"), func(s *Store) error {
			_, err := s.Registers.PutSettingIfAbsent(t.Context(), "s", nil)
			return err
		}},
		"block": {appendSingle(nil, tableBlock, "h"), func(s *Store) error {
			_, err := s.ReserveBlock(t.Context(), "h", 1)
			return err
		}},
		"note of a copy": {[]byte{tableCopy}, func(s *Store) error { return s.PutCopyNote(t.Context(), []byte("n")) }},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			if err := tc.write(openStore(t, "", Options{FS: mem})); err != nil {
				t.Fatal(err)
			}
			_, found, err := openStore(t, "", Options{FS: mem.CrashClone(vfs.CrashCloneCfg{})}).get(tc.key)
			if err != nil || !found {
				t.Errorf("after a crash it is there: %v, %v", found, err)
			}
		})
	}
}
