package commit_test

import (
	"testing"

	"carrel/core/commit"
)

func TestReminder_RowSurvivesEncoding(t *testing.T) {
	for row, due := range map[string]commit.Reminder{
		"c:acme:a":   {At: 3, Kind: commit.Content, Key: "c:acme:a", MTS: 5},
		"c:acme:a=b": {At: 3, Kind: commit.Content, Key: "c:acme:a=b", MTS: 5},
		"x=key":      {At: 3, Kind: 'x', Key: "key", MTS: 5},
		"x=":         {At: 3, Kind: 'x', MTS: 5},
		"c":          {At: 3, Kind: commit.Content, Key: "c", MTS: 5},
	} {
		if got := due.Row(); got != row {
			t.Errorf("%+v is written as %q, want %q", due, got, row)
		}
		if got := commit.ReminderOf(3, row, 5); got != due {
			t.Errorf("%q is read as %+v, want %+v", row, got, due)
		}
	}
}
