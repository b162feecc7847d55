package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForget_LeavesNothingOfTheUser deletes a user and compares the report and an export made
// afterwards.
func TestForget_LeavesNothingOfTheUser(t *testing.T) {
	store := storeOf(t, fewLines)
	for arg, want := range map[string]int{"": ExitUsage, "ann": ExitUsage, "g:demo:team": ExitUsage, "u:demo:none": ExitFailed} {
		if code, _, errs := command(t, "forget", arg, "--store", store); code != want {
			t.Errorf("forget %s: exit %d: %s", arg, code, errs)
		}
	}
	code, out, errs := command(t, "forget", "u:demo:ann", "--store", store)
	if code != ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	const want = `{
  "user": "u:demo:ann",
  "gone": {
    "memberships": 1,
    "libraryEntries": 2,
    "drafts": 0,
    "email": false
  },
  "stays": {
    "items": 1,
    "revisions": 0,
    "suggestions": 0,
    "pastes": 0,
    "managedBy": [
      {
        "item": "c:demo:a",
        "managers": [
          "the tenant's administrators"
        ]
      }
    ]
  }
}
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	if code, _, errs := command(t, "forget", "u:demo:ann", "--store", store); code != ExitFailed || !strings.Contains(errs, "deleted before") {
		t.Errorf("again: exit %d: %s", code, errs)
	}
	if code, out, _ := command(t, "audit", "--store", store); code != ExitDone {
		t.Errorf("audit: exit %d: %s", code, out)
	}
	code, out, errs = command(t, "export", "--store", store)
	const left = `{"type":"user","id":"u:demo:ben","displayName":"Ben","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[],"unmanaged":true}
{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ann","lastModified":"2024-01-02T00:00:00.000001Z","version":3,"members":[{"principalId":"g:demo:team","role":"VIEWER"}],"unmanaged":true}
{"type":"content","id":"c:demo:b","kind":"LINK","title":"B","link":"https://example.com/b","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ben","lastModified":"2024-01-02T00:00:00.000000Z","version":1,"members":[{"principalId":"u:demo:ben","role":"MANAGER"}]}
`
	if diff := cmp.Diff(left, out); code != ExitDone || diff != "" {
		t.Errorf("the export (-want +got), exit %d, %s:\n%s", code, errs, diff)
	}
	// Items and groups without a manager can be imported, and are exported unchanged.
	code, again, errs := command(t, "export", "--store", storeOf(t, left))
	if diff := cmp.Diff(left, again); code != ExitDone || diff != "" {
		t.Errorf("after an import (-want +got), exit %d, %s:\n%s", code, errs, diff)
	}
	copied := "pebble:" + t.TempDir() + "/copy"
	if code, _, errs := command(t, "copy", "--from", store, "--to", copied); code != ExitDone {
		t.Fatalf("copy: exit %d: %s", code, errs)
	}
	line := `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC"}` + "\n"
	if code, _, errs := command(t, "import", file(t, "again.jsonl", line), "--store", copied); code != ExitFailed ||
		!strings.Contains(errs, "not used again") {
		t.Errorf("the id in a copy: exit %d: %s", code, errs)
	}
}

// TestExportOf_NamesNobodyElse: the export contains the data of one user, and names nobody else.
func TestExportOf_NamesNobodyElse(t *testing.T) {
	store := storeOf(t, fewLines)
	code, out, errs := command(t, "export", "--of", "u:demo:ann", "--store", store)
	const want = `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z"}
{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ann","lastModified":"2024-01-02T00:00:00.000001Z","version":3,"members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:b","kind":"LINK","title":"B","link":"https://example.com/b","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:ben","lastModified":"2024-01-02T00:00:00.000000Z","version":1,"members":[{"principalId":"u:demo:ann","role":"VIEWER"}]}
`
	if diff := cmp.Diff(want, out); code != ExitDone || diff != "" {
		t.Errorf("exit %d, %s (-want +got):\n%s", code, errs, diff)
	}
	for arg, want := range map[string]int{"": ExitUsage, "ann": ExitUsage, "g:demo:team": ExitUsage, "u:demo:none": ExitFailed} {
		if code, _, errs := command(t, "export", "--of", arg, "--store", store); code != want {
			t.Errorf("export --of %s: exit %d: %s", arg, code, errs)
		}
	}
}

// TestExportOf_WithholdsWhatOthersKeep: the export contains no texts and links of an item that the
// user has created and may not see any more.
func TestExportOf_WithholdsWhatOthersKeep(t *testing.T) {
	var lines strings.Builder
	user := func(id string) {
		fmt.Fprintf(&lines, `{"type":"user","id":"%s","displayName":"N","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z"}`+"\n", id)
	}
	// The line of an item has only the first 100 members by id; that of zoe is in another line.
	user("u:demo:zoe")
	user("u:demo:ben")
	var many []string
	for i := range 100 {
		id := fmt.Sprintf("u:demo:m%03d", i)
		user(id)
		many = append(many, fmt.Sprintf(`{"principalId":"%s","role":"VIEWER"}`, id))
	}
	lines.WriteString(`{"type":"group","id":"g:demo:team","displayName":"Team","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z","members":[{"principalId":"u:demo:zoe","role":"MANAGER"}]}` + "\n")
	item := func(name, visibility, members string) {
		fmt.Fprintf(&lines, `{"type":"content","id":"c:demo:%[1]s","kind":"LINK","title":"T %[1]s","description":"D %[1]s","link":"https://example.com/%[1]s","url":"https://example.com/at/%[1]s","visibility":"%[2]s","createdAt":"2024-01-01T00:00:00Z","createdBy":"u:demo:zoe","lastModified":"2024-01-02T00:00:00Z","version":7,"members":[%[3]s]}`+"\n", name, visibility, members)
	}
	ben := `{"principalId":"u:demo:ben","role":"MANAGER"}`
	item("private", "PRIVATE", ben)
	item("open", "PUBLIC", ben)
	item("tenants", "LOGGEDIN", ben)
	item("ours", "PRIVATE", ben+`,{"principalId":"g:demo:team","role":"VIEWER"}`)
	item("large", "PRIVATE", ben+","+strings.Join(many[:99], ","))
	lines.WriteString(`{"type":"members","id":"c:demo:large","members":[` + many[99] + `,{"principalId":"u:demo:zoe","role":"VIEWER"}]}` +
		"\n")
	item("largeothers", "PRIVATE", ben+","+strings.Join(many[:99], ","))
	lines.WriteString(`{"type":"members","id":"c:demo:largeothers","members":[` + many[99] + `]}` + "\n")
	item("zlast", "PRIVATE", ben)
	code, out, errs := command(t, "export", "--of", "u:demo:zoe", "--store", storeOf(t, lines.String()))
	if code != ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	shown := map[string]bool{"private": false, "open": true, "tenants": true, "ours": true, "large": true, "largeothers": false,
		"zlast": false}
	for name, want := range shown {
		if !strings.Contains(out, `"id":"c:demo:`+name+`"`) {
			t.Errorf("%s is missing", name)
		}
		for _, text := range []string{`"T ` + name + `"`, `"D ` + name + `"`, `example.com/` + name + `"`, `example.com/at/` + name + `"`} {
			if strings.Contains(out, text) != want {
				t.Errorf("%s of %s is shown: %t, want %t", text, name, !want, want)
			}
		}
	}
	if n := strings.Count(out, `"type":"content"`); n != len(shown) {
		t.Errorf("%d lines of items, want %d:\n%s", n, len(shown), out)
	}
	const withheld = `{"type":"content","id":"c:demo:private","kind":"LINK","title":"","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00.000000Z","createdBy":"u:demo:zoe","members":[]}`
	if !strings.Contains(out, withheld+"\n") {
		t.Errorf("want the line %s, got\n%s", withheld, out)
	}
}
