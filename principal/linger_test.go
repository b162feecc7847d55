package principal_test

import (
	"slices"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/principal"
)

// lingering is a gateway beside which others keep copies of the headers of principals.
type lingering struct {
	*domaintest.Fixture
	journal *journal.Journal
	svc     *domain.Services
}

func newLingering(t *testing.T, h *domaintest.Fixture, linger time.Duration) *lingering {
	t.Helper()
	h.WantNothingInFlight()
	l := &lingering{Fixture: h, journal: journal.New(t.Context(), h.Store.Journal, h.Runtime, nil)}
	l.svc = domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: l.journal, Names: &domaintest.CountingNames{}, Remote: true, Linger: linger,
	})
	return l
}

// ended returns the principals whose changes have ended and are listed. Other changes must not be.
func (l *lingering) ended() (keys []string) {
	l.T.Helper()
	if err := l.journal.Drain(l.T.Context(), l.svc.Background()); err != nil {
		l.T.Fatal(err)
	}
	lists, err := commit.OpenLists(l.T.Context(), l.Store.Journal)
	if err != nil {
		l.T.Fatal(err)
	}
	for _, list := range lists {
		for _, e := range list.Entries {
			if !e.Ended || e.Kind != commit.Principal {
				l.T.Errorf("the change %+v is pending", e)
			}
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// A gateway that does not know ended changes resumes them when it takes a list over. That changes
// nothing, whether the entry names a principal that exists, one that does not, or all of them.
func TestResume_OfEndedChangesDoesNothing(t *testing.T) {
	h := domaintest.Staff(t, nil)
	before := h.Header("u:acme:bob")
	for _, key := range []string{"u:acme:bob", "g:acme:staff", "u:acme:nobody", ""} {
		if _, err := h.Background().Resume(t.Context(), commit.Entry{Kind: commit.Principal, Key: key, Base: -1, Decided: true}); err != nil {
			t.Errorf("resuming the ended change of %q: %v", key, err)
		}
		rows, err := h.Store.Principals.ReadPrincipal(t.Context(), principal.ID(key), principal.Query{})
		if absent := key == "" || key == "u:acme:nobody"; err != nil || absent && rows.Header.Seq != 0 {
			t.Errorf("%q has the header %+v, %v", key, rows.Header, err)
		}
	}
	if after := h.Header("u:acme:bob"); after.Seq != before.Seq {
		t.Errorf("its seq was %d and is %d", before.Seq, after.Seq)
	}
}

// A change lingers if and only if pages show the principal differently after it.
func TestChanges_LingerIfPagesShowThem(t *testing.T) {
	name, other, address := "Robert", "Bobby", "robert@example.com"
	private := principal.Private
	for _, c := range []struct {
		name   string
		change func(l *lingering) error
		want   []string
	}{
		{"a name", func(l *lingering) error {
			_, err := l.svc.People.UpdateUser(t.Context(), domaintest.Bob(), principal.UpdateUser{ID: "u:acme:bob", DisplayName: input.Some(&name)})
			return err
		}, []string{"u:acme:bob"}},
		{"an e-mail address", func(l *lingering) error {
			_, err := l.svc.People.UpdateUser(t.Context(), domaintest.Bob(), principal.UpdateUser{ID: "u:acme:bob", Email: input.Some(&address)})
			return err
		}, []string{"u:acme:bob"}},
		{"a visibility", func(l *lingering) error {
			_, err := l.svc.People.UpdateGroup(t.Context(), domaintest.Ann(), principal.UpdateGroup{ID: "g:acme:staff",
				Visibility: input.Some(&private)})
			return err
		}, []string{"g:acme:staff"}},
		{"the present name", func(l *lingering) error {
			key := "key"
			same := l.Header("u:acme:bob").DisplayName
			_, err := l.svc.People.UpdateUser(t.Context(), domaintest.Bob(),
				principal.UpdateUser{ID: "u:acme:bob", DisplayName: input.Some(&same), IdempotencyKey: &key})
			return err
		}, nil},
		{"members", func(l *lingering) error {
			_, err := l.svc.People.SetGroupMembers(t.Context(), domaintest.Ann(), principal.SetGroupMembers{
				Group: "g:acme:staff", Members: []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:dan=MEMBER")},
			})
			return err
		}, nil},
		{"a new user", func(l *lingering) error {
			_, err := l.svc.People.CreateUser(t.Context(), domaintest.Root(), principal.CreateUser{
				Tenant: "acme", Name: "new", DisplayName: other, Email: address, Visibility: principal.Public,
			})
			return err
		}, nil},
		{"a deletion of a user", func(l *lingering) error {
			_, err := l.svc.People.DeleteUser(t.Context(), domaintest.Bob(), principal.DeleteUser{ID: "u:acme:bob"})
			return err
		}, []string{"u:acme:bob"}},
		{"a deletion of a group", func(l *lingering) error {
			_, err := l.svc.People.DeleteGroup(t.Context(), domaintest.Root(), principal.DeleteGroup{ID: "g:acme:staff"})
			return err
		}, []string{"g:acme:staff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLingering(t, domaintest.Staff(t, nil), time.Hour)
			if err := c.change(l); err != nil {
				t.Fatal(err)
			}
			if got := l.ended(); !slices.Equal(got, c.want) {
				t.Errorf("the changes of %q linger, want %q", got, c.want)
			}
			plain := newLingering(t, domaintest.Staff(t, nil), 0)
			if err := c.change(plain); err != nil {
				t.Fatal(err)
			}
			if got := plain.ended(); len(got) > 0 {
				t.Errorf("the changes of %q linger although no process has copies", got)
			}
		})
	}
}

// A copy was wrong if the principal is shown differently now and no list names the principal. A
// change that was made after the copy was served lingers on a list.
func TestSamples_AcceptChangesThatLinger(t *testing.T) {
	l := newLingering(t, domaintest.Staff(t, nil), time.Hour)
	reader := domaintest.Open(t, domain.Config{
		Store: l.Store, Runtime: l.Runtime, Journal: l.Journal, Names: &domaintest.CountingNames{}, Remote: true,
		HeaderCache: headercache.Config{Bytes: 10 << 10},
	})
	copied := l.Header("u:acme:bob")
	want := func(what string, want bool) {
		t.Helper()
		if got, err := reader.Headers.(*headercache.Checked).HeaderIsWrong(t.Context(), &copied, sched.Present(l.Runtime)); err != nil ||
			got != want {
			t.Errorf("%s: wrong is %v, %v, want %v", what, got, err, want)
		}
	}
	rename := func(svc *domain.Services, name string) {
		t.Helper()
		_, err := svc.People.UpdateUser(t.Context(), domaintest.Bob(), principal.UpdateUser{ID: "u:acme:bob", DisplayName: input.Some(&name)})
		if err != nil {
			t.Fatal(err)
		}
	}
	want("nothing has changed", false)
	rename(l.Services, "Robert") // on an embedded store, for which nothing lingers
	l.WantNothingInFlight()
	want("a change that does not linger", true)
	rename(l.svc, "Bobby")
	want("a change that lingers", false)
}
