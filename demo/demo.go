package demo

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/exchange"
	"carrel/interchange"
	"carrel/library"
	"carrel/principal"
)

// span is the period before the base in which the items were last changed.
const span = 14 * 24 * time.Hour

// Write writes the demo data as lines to import. All times in it are before base,
// and the output is the same for the same base and packages.
func Write(w io.Writer, base time.Time, packages []Package) error {
	s := &story{out: interchange.NewWriter(w), base: base.UTC().Truncate(time.Second)}
	s.plan(packages)
	s.people()
	s.groups()
	for i := range s.items {
		s.item(&s.items[i])
	}
	s.acme(packages)
	s.notes()
	s.pastes()
	return s.err
}

// story writes the lines. After the first error it writes nothing more.
type story struct {
	out    *interchange.Writer
	base   time.Time
	items  []item // in the order of their changes, the oldest first
	topics []topic
	err    error
}

// topic is a subject, which has a group.
type topic struct {
	name, group, manager string
	visibility           principal.Visibility
}

// item is a package with the times and the group of its item.
type item struct {
	Package
	topic    *topic
	changed  clock.Instant
	versions int
}

// plan assigns packages to topics and topics to managers, and spreads the packages over time.
// Packages with similar names have different times, so that a page of a library shows several
// subjects and creators.
func (s *story) plan(packages []Package) {
	count := map[string]int{}
	for i := range packages {
		count[packages[i].topic()]++
	}
	byName := map[string]int{}
	for i := range packages {
		name := topicName(&packages[i], count)
		if _, known := byName[name]; known {
			continue
		}
		byName[name] = len(s.topics)
		s.topics = append(s.topics, topic{
			name: name, group: "g:demo:" + name, visibility: topicVisibility(name),
			manager: managerOf(name, len(s.topics)),
		})
	}
	sorted := slices.Clone(packages)
	slices.SortFunc(sorted, func(a, b Package) int {
		return cmp.Or(cmp.Compare(shuffled(a.ImportPath), shuffled(b.ImportPath)), strings.Compare(a.ImportPath, b.ImportPath))
	})
	for i := range sorted {
		p := sorted[i]
		remaining := time.Duration(len(sorted) - i)
		s.items = append(s.items, item{
			Package: p,
			topic:   &s.topics[byName[topicName(&p, count)]],
			changed: clock.Of(s.base.Add(-span * remaining / time.Duration(len(sorted)))),
			// Some items are never changed after their creation.
			versions: 1 + int(shuffled("versions of "+p.ImportPath)%5),
		})
	}
}

// managerOf returns the manager of the topic with number n: the managers take turns. The
// manager of encoding is always Ann, because the examples of GraphiQL change its items as Ann.
func managerOf(topic string, n int) string {
	if topic == "encoding" {
		return ann
	}
	return managers()[n%len(managers())]
}

// topicName returns the first element of the path, or "basics" for the only package of a topic.
func topicName(p *Package, count map[string]int) string {
	if name := p.topic(); count[name] > 1 {
		return name
	}
	return "basics"
}

// topicVisibility returns the visibility of a topic's group: the tenant sees commands, and only the
// library team sees internal packages.
func topicVisibility(name string) principal.Visibility {
	switch name {
	case "cmd", "debug", "runtime", "testing":
		return principal.LoggedIn
	case "internal":
		return principal.Private
	}
	return principal.Public
}

// visibility returns the visibility of an item. Internal packages are PRIVATE, plugin
// and unsafe are LOGGEDIN, and others are as visible as their topic.
func (i *item) visibility() principal.Visibility {
	switch {
	case i.isInternal():
		return principal.Private
	case i.ImportPath == "plugin" || i.ImportPath == "unsafe":
		return principal.LoggedIn
	}
	return i.topic.visibility
}

// shuffled returns a number that looks random: an FNV hash, mixed once more because the high bits
// of FNV hardly differ between names that differ in the last letter.
func shuffled(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s) // a hash returns no errors
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *story) write(l exchange.Line) {
	if s.err == nil {
		s.err = s.out.Write(&l)
	}
}

// createdAt returns when the n-th user or group was created, one every hour.
func (s *story) createdAt(n int) *clock.Instant {
	at := clock.Of(s.base.Add(-2*span + time.Duration(n)*time.Hour))
	return &at
}

func (s *story) people() {
	for i, p := range people() {
		s.write(exchange.Line{Type: exchange.TypeUser, User: &principal.ImportUser{
			ID: p.id, DisplayName: p.name, Email: &p.email, Visibility: p.visibility, CreatedAt: s.createdAt(i),
		}})
	}
}

func (s *story) groups() {
	const member, manager = principal.GroupMember, principal.GroupManager
	n := len(people())
	group := func(id, name string, v principal.Visibility, members []principal.GroupMemberChange) {
		s.write(exchange.Line{Type: exchange.TypeGroup, Group: &principal.ImportGroup{
			ID: id, DisplayName: name, Visibility: v, CreatedAt: s.createdAt(n), Members: members,
		}})
		n++
	}
	group(libraryTeam, "Library team", principal.LoggedIn, slices.Concat(roles(manager, ann), roles(member, ben, eli, fay)))
	group(everyone, "Everyone at demo", principal.LoggedIn, slices.Concat(roles(manager, dora), roles(member, libraryTeam, cleo)))
	group(standardLibrary, "The standard library", principal.Public, slices.Concat(roles(manager, ann), roles(member, libraryTeam)))
	for _, t := range s.topics {
		members := slices.Concat(roles(manager, t.manager), roles(member, libraryTeam))
		if t.name == "crypto" {
			members = slices.Concat(members, roles(member, yara))
		}
		group(t.group, topicTitle(t.name), t.visibility, members)
	}
	group(engineers, "Engineers at acme", principal.LoggedIn, slices.Concat(roles(manager, yara), roles(member, zed)))
}

func topicTitle(name string) string {
	switch name {
	case "basics":
		return "Basics: packages without a group"
	case "cmd":
		return "Commands that come with Go"
	case "internal":
		return "Internals of the standard library"
	}
	return "Packages under " + name
}

// item writes an item of tenant demo. The manager of its topic has created it, the topic's
// group edits it, and it is in the largest library.
func (s *story) item(i *item) {
	members := roles(library.Manages, i.topic.manager)
	members = append(members, roles(library.Editing, i.topic.group)...)
	members = append(members, roles(library.Viewing, standardLibrary)...)
	if i.readByCleo() {
		members = append(members, roles(library.Viewing, cleo)...)
	}
	if i.topic.name == "encoding" && !i.isInternal() {
		members = append(members, roles(library.Viewing, everyone)...)
	}
	link := pageOf(i.ImportPath)
	created := i.changed
	if i.versions > 1 {
		created = i.changed.Add(-time.Duration(i.versions) * 31 * time.Hour)
	}
	s.write(exchange.Line{Type: exchange.TypeContent, Content: &library.ImportContent{
		ID: itemID("demo", i.ImportPath), Kind: library.Link, Title: i.ImportPath, Description: &i.Doc, Link: &link, URL: &link,
		Visibility: i.visibility(), CreatedAt: &created, CreatedBy: &i.topic.manager,
		LastModified: &i.changed, Version: &i.versions, Members: members,
	}})
}

// readByCleo reports whether an item is in Cleo's library: about every ninth, and one
// private item, which a manager has shared with her.
func (i *item) readByCleo() bool {
	if i.isInternal() {
		return i.ImportPath == "internal/poll"
	}
	// The examples of GraphiQL share encoding/json with her.
	return i.ImportPath != "encoding/json" && shuffled("cleo reads "+i.ImportPath)%9 == 0
}

// acme writes the items of the other tenant: links to some packages that only its
// users see, one of which is shared with Ann.
func (s *story) acme(packages []Package) {
	at := s.base.Add(-span / 2)
	by := zed
	for i := range packages {
		p := &packages[i]
		if p.isInternal() || p.topic() != "encoding" && p.topic() != "hash" {
			continue
		}
		at = at.Add(7 * time.Hour)
		changed := clock.Of(at)
		link := pageOf(p.ImportPath)
		title := "How we use " + p.ImportPath
		members := append(roles(library.Manages, zed), roles(library.Viewing, engineers)...)
		if p.ImportPath == "encoding/json" {
			members = append(members, roles(library.Viewing, ann)...)
		}
		s.write(exchange.Line{Type: exchange.TypeContent, Content: &library.ImportContent{
			ID: itemID("acme", p.ImportPath), Kind: library.Link, Title: title, Description: &p.Doc, Link: &link, URL: &link,
			Visibility: principal.LoggedIn, CreatedAt: &changed, CreatedBy: &by, LastModified: &changed, Members: members,
		}})
	}
}

func roles[R any](role R, ids ...string) (all []principal.RoleChange[R]) {
	for _, id := range ids {
		all = append(all, principal.RoleChange[R]{Principal: id, Role: &role})
	}
	return all
}

// itemID returns the id of the item of a path, without slashes in the name.
func itemID(tenant, path string) string {
	return fmt.Sprintf("c:%s:%s", tenant, strings.ReplaceAll(path, "/", "-"))
}

func pageOf(path string) string { return "https://pkg.go.dev/" + path }
