package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/cassandra"
	"carrel/repair"
)

// lines returns users, a group and items in the format of export and import.
func lines(items int) string {
	var b strings.Builder
	for _, name := range []string{"ann", "ben", "cleo"} {
		fmt.Fprintf(&b, `{"type":"user","id":"u:demo:%s","displayName":"%s","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}`+
			"\n", name, strings.ToUpper(name))
	}
	b.WriteString(`{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"u:demo:ben","role":"MEMBER"}]}` + "\n")
	changed := time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)
	for i := range items {
		visibility := []string{"PUBLIC", "LOGGEDIN", "PRIVATE"}[i%3]
		expires := ""
		if i%50 == 0 {
			expires = `"expiresAt":"2099-01-01T00:00:00.000000Z",`
		}
		fmt.Fprintf(&b, `{"type":"content","id":"c:demo:n%06d","kind":"NOTE","title":"Note %d","visibility":"%s",%s"createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ann","lastModified":"%s","version":%d,"members":[{"principalId":"g:demo:team","role":"VIEWER"},{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"u:demo:cleo","role":"EDITOR"}]}`+"\n",
			i, i, visibility, expires, changed.Add(time.Duration(i)*time.Second).Format("2006-01-02T15:04:05.000000Z"), i%7+1)
	}
	return b.String()
}

// holding returns an embedded store that contains lines, and its export.
func holding(t *testing.T, items int) (store, export string) {
	t.Helper()
	store = embedded(t)
	must(t, "import", written(t, lines(items)), "--store", store)
	return store, must(t, "export", "--store", store)
}

// written writes a text to a file and returns its path.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantExport compares the export of a store with that of another one.
func wantExport(t *testing.T, store, want string) {
	t.Helper()
	got := strings.Split(must(t, "export", "--store", store), "\n")
	if diff := cmp.Diff(sorted(strings.Split(want, "\n")), sorted(got)); diff != "" {
		t.Errorf("%s exports (-want +got):\n%s", store, diff)
	}
}

// wantAudit checks that the audit of a store finds nothing and that it has a number of items.
func wantAudit(t *testing.T, store string, items int) {
	t.Helper()
	var report repair.AuditReport
	if err := json.Unmarshal([]byte(must(t, "audit", "--store", store)), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Clean() || report.Contents != items || report.Entries == 0 {
		t.Errorf("the audit of %s found %+v", store, report)
	}
}

func TestCopy_ToAClusterAndBackKeepsAllRows(t *testing.T) {
	t.Parallel()
	const items = 700
	from, export := holding(t, items)
	there := keyspace(t)
	var report struct {
		Rows  map[string]int64
		Audit repair.AuditReport
	}
	if err := json.Unmarshal([]byte(must(t, "copy", "--from", from, "--to", there)), &report); err != nil {
		t.Fatal(err)
	}
	// One setting, the cursor keys; four principals with two member rows; four rows per item.
	if want := (map[string]int64{"settings": 1, "blocks": 0, "creations": 0, "principals": 6, "contents": 4 * items,
		"dues": items / 50, "texts": 0, "drafts": 0, "leases": 0, "pastes": 0, "bodies": 0}); !cmp.Equal(want, report.Rows) {
		t.Errorf("rows: %v, want %v", report.Rows, want)
	}
	wantAudit(t, there, items)
	wantExport(t, there, export)

	back := embedded(t)
	must(t, "copy", "--from", there, "--to", back)
	wantAudit(t, back, items)
	wantExport(t, back, export)

	if code, _, errs := run(t, "copy", "--from", from, "--to", there); code != 1 || !strings.Contains(errs, "the target is not empty") {
		t.Errorf("a copy to a target with data: exit %d: %s", code, errs)
	}
}

func TestExport_OnAClusterContainsWhatWasImported(t *testing.T) {
	t.Parallel()
	const items = 200
	first, second := keyspace(t), keyspace(t)
	must(t, "import", written(t, lines(items)), "--store", first)
	wantAudit(t, first, items)
	export := must(t, "export", "--store", first)
	must(t, "import", written(t, export), "--store", second)
	wantExport(t, second, export)
	if diff := cmp.Diff(sorted(strings.Split(lines(items), "\n")), sorted(strings.Split(export, "\n"))); diff != "" {
		t.Errorf("the export differs from what was imported (-imported +exported):\n%s", diff)
	}
}

// TestCopy_InterruptedIsContinued: no command uses the target of a copy that was interrupted, by a
// signal or a power failure, and the copy can be continued.
func TestCopy_InterruptedIsContinued(t *testing.T) {
	t.Parallel() // mainly with the other test that waits for a mark to expire
	const items = 1500
	from, export := holding(t, items)
	to := keyspace(t)
	store := opened(t, to)

	c := begin(t, "copy", "--from", from, "--to", to)
	reached := brokenOff(t, c, store, syscall.SIGINT, 0)
	if code, _, errs := run(t, "audit", "--store", to); code != 1 || !strings.Contains(errs, "run the same carrel copy again") {
		t.Errorf("an audit of an incomplete copy: exit %d: %s", code, errs)
	}
	c = begin(t, "copy", "--from", from, "--to", to)
	brokenOff(t, c, store, syscall.SIGKILL, reached)
	// Nothing can show that the process is dead before its mark expires.
	code, _, errs := run(t, "copy", "--from", from, "--to", to)
	if code != 1 || !strings.Contains(errs, "the target is in use by carrel copy on ") ||
		!strings.Contains(errs, "its registration expires within ") {
		t.Errorf("after a kill: exit %d: %s", code, errs)
	}
	awaitNobody(t, store)
	must(t, "copy", "--from", from, "--to", to)
	wantAudit(t, to, items)
	wantExport(t, to, export)
}

// brokenOff waits until a copy has recorded 1,000 rows more than had, ends it by a signal, and
// returns the number of rows.
func brokenOff(t *testing.T, c *process, store *cassandra.Store, signal syscall.Signal, had int64) int64 {
	t.Helper()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	var note struct{ Rows int64 }
	for c.running() && note.Rows < had+500 {
		<-ticks.C
		text, err := store.CopyNote(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text != nil {
			if err := json.Unmarshal(text, &note); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !c.running() {
		t.Fatalf("the copy ended before it was interrupted: %s%s", c.out.String(), c.errs.String())
	}
	if err := c.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	c.wait(stopTimeout)
	return note.Rows
}

// awaitNobody waits until no process is registered with the store.
func awaitNobody(t *testing.T, store *cassandra.Store) {
	t.Helper()
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for range 90 {
		others, err := store.Others(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(others) == 0 {
			return
		}
		<-ticks.C
	}
	t.Fatal("the mark of a dead process does not expire")
}
