package resolvers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"carrel/core/fault"
)

// drawer generates random operations and requests.
type drawer struct {
	*rand.Rand
	cursors []string
	page    *shape
	// The parts of the last document.
	declared  map[string]string // variables with their types
	fragments []string
}

// newDrawer returns a drawer with a fixed seed. It uses cursors of the world.
func newDrawer(g *gateway) *drawer {
	d := &drawer{Rand: rand.New(rand.NewPCG(16, 1)), page: shapesWithTexts(), cursors: []string{"bad", ""}}
	for _, viewer := range []string{"u:acme:eve", "u:acme:bob", "u:acme:root"} {
		for _, owner := range []string{"u:acme:eve", "u:acme:bob", "g:acme:crew"} {
			for _, order := range []string{"ASC", "DESC"} {
				a := g.do(as(viewer),
					`query($id: ID!) { node(id: $id) { ...u ...g } } fragment u on User { library(first: 9, orderBy: {field: LAST_MODIFIED, direction: `+
						order+`}) { edges { cursor } } } fragment g on Group { library(first: 3) { edges { cursor } } }`, "id", owner)
				edges, _ := a.at("node", "library", "edges").([]any)
				for i, e := range edges {
					if i%3 == 1 {
						d.cursors = append(d.cursors, e.(map[string]any)["cursor"].(string))
					}
				}
			}
		}
	}
	return d
}

// shapesWithTexts returns shapes that include the texts of items.
func shapesWithTexts() *shape {
	page := shapes()
	text := &shape{typename: "Revision",
		leaves: strings.Fields("__typename key branch number locale title title createdAt baseRevision isCurrent isWorking"),
		on:     []string{"KeyedObject { __typename }"}}
	page.objects["nodes"].objects["revision"] = text
	return page
}

// oneIn returns true once in n times.
func (d *drawer) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

// variable declares a variable and returns a reference to it.
func (d *drawer) variable(name, typ string) string {
	d.declared[name] = typ
	return "$" + name
}

// id draws an id, mostly of an object that a field of Query returns.
func (d *drawer) id(field string) string {
	if !d.oneIn(5) {
		item := "c:acme:item00" + strconv.Itoa(d.IntN(10))
		switch field {
		case "user":
			return "u:acme:eve"
		case "group":
			return "g:acme:crew"
		case "content":
			return item
		case "contentByUrl":
			return pick(d, "https://acme.example/eins", "HTTPS://acme.example:443/a/../eins?lang=de", "https://acme.example/zwei",
				"https://acme.example/drei")
		case "byKey":
			return pick(d, item, "https://acme.example/eins", "https://acme.example/zwei", "c:acme:note0", "c:acme:note0#1",
				"c:acme:note1#1.1", "c:acme:note1#user/u:acme:eve/1")
		}
		return pick(d, "u:acme:eve", "g:acme:crew", item)
	}
	return pick(d, "u:acme:bob", "u:acme:ghost", "u:acme:nobody", "g:acme:none", "c:acme:none", "u:other:eve", "u:acme",
		"", "e:acme:x", "U:ACME:EVE", "u:acme:e ve", "l:0", "p:1", "s:acme:1")
}

// document draws a document with one operation.
func (d *drawer) document() string {
	d.declared, d.fragments = map[string]string{}, nil
	below := d.root("r")
	switch d.IntN(20) {
	case 0:
		below += " " + d.root("s")
	case 1:
		below = "__typename " + below
	case 2:
		below = "... on Query { " + below + " } t: __typename"
	case 3:
		d.fragments = append(d.fragments, "fragment q on Query { "+below+" }")
		below = "...q"
	}
	var variables []string
	for _, name := range slices.Sorted(maps.Keys(d.declared)) {
		variables = append(variables, "$"+name+": "+d.declared[name])
	}
	head := "query Q "
	if len(variables) > 0 {
		head = "query Q(" + strings.Join(variables, ", ") + ") "
	}
	return head + "{ " + below + " } " + strings.Join(d.fragments, " ")
}

// root draws a field of Query.
func (d *drawer) root(alias string) string {
	field := pick(d, "viewer", "user", "user", "user", "group", "principal", "node", "node", "content", "contentByUrl", "byKey")
	text := alias + ": " + field
	name, typ, tenant := "id", "ID!", ""
	switch field {
	case "contentByUrl":
		name, typ = "url", "String!"
	case "byKey":
		name, typ = "key", "String!"
	}
	if typ == "String!" {
		if tenant = pick(d, "", `, tenant: "acme"`, ", tenant: null", ", tenant: $tenant", `, tenant: "other"`); strings.Contains(tenant, "$") {
			d.variable("tenant", "String")
		}
	}
	if field != "viewer" {
		switch {
		case d.oneIn(3):
			text += "(" + name + ": " + strconv.Quote(d.id(field)) + tenant + ")"
		case d.oneIn(30):
			text += "(" + name + ": 17" + tenant + ")"
		default:
			text += "(" + name + ": " + d.variable(field, typ) + tenant + ")"
		}
	}
	switch field {
	case "group":
		return text + " { " + d.principal("Group") + "}"
	case "content", "contentByUrl":
		return text + " { " + d.item() + "}"
	case "byKey":
		return text + " { __typename ... on Content { " + d.item() + "} ... on Branch { key } ... on Revision { title } }"
	case "principal":
		if d.oneIn(3) {
			return text + " { " + d.library("") + "displayName }"
		}
		return text + " { id __typename ... on User { " + d.principal("User") + "} ... on Group { " + d.principal("Group") + "} }"
	case "node":
		return text + " { id __typename ... on User { " + d.principal("User") + "} ... on Group { " + d.principal("Group") +
			"} ... on Content { " + d.item() + "} }"
	}
	return text + " { " + d.principal("User") + "}"
}

// fields draws some names of a list.
func (d *drawer) fields(names string) string {
	var b strings.Builder
	for range d.IntN(4) {
		name := pick(d, strings.Fields(names)...)
		if d.oneIn(6) {
			name = "x_" + name + ": " + name
		}
		b.WriteString(name + " ")
	}
	return b.String()
}

// principal draws a selection of a user or a group.
func (d *drawer) principal(typ string) string {
	b := "id " + d.fields("id __typename tenant displayName visibility createdAt")
	if d.oneIn(25) {
		b += map[string]string{"User": "email ", "Group": "viewerRole "}[typ]
	}
	if d.oneIn(25) {
		b += map[string]string{"User": "groups(first: 2) { nodes { id } } ", "Group": "members { nodes { id } } "}[typ]
	}
	if d.oneIn(8) {
		b += pick(d, "... on Node { id } ", "... on Principal { displayName } ", "... on _Entity { __typename } ")
	}
	if d.oneIn(40) {
		b += "tenant @skip(if: " + d.variable("yes", "Boolean") + ") "
	}
	if d.oneIn(5) {
		return b
	}
	page := d.library("")
	switch d.IntN(16) {
	case 0:
		page += d.library("y: ")
	case 1:
		name := "f" + typ + strconv.Itoa(len(d.fragments))
		d.fragments = append(d.fragments, "fragment "+name+" on "+typ+" { "+page+"}")
		page = "..." + name + " "
	case 2:
		return page + b
	}
	return b + page + d.fields("id displayName")
}

// item draws a selection of an item.
func (d *drawer) item() string {
	b := "id " + d.fields("__typename id tenant kind title description link url visibility createdAt lastModified version expiresAt")
	switch d.IntN(6) {
	case 0, 1:
		b += "createdBy { id " + d.fields("__typename tenant displayName visibility createdAt") + "} "
	case 2:
		b += d.fields("viewerRole viewerCanShare viewerCanEdit viewerCanManage viewerCanDelete") + "viewerRole "
	case 3:
		b += "... on KeyedObject { __typename } createdBy { displayName } viewerCanEdit "
	}
	return b
}

// library draws a page of a library.
func (d *drawer) library(alias string) string {
	n, after := d.variable, func() string { return d.variable("after", "Cursor") }
	var arguments string
	switch d.IntN(27) {
	case 22, 23:
		arguments = "(filter: " + n("f", "LibraryFilter") + ", first: " + n("m", "Int = 2") + ", after: " + after() + ")"
	case 24:
		arguments = "(last: 3, filter: {text: " + n("t", "String") + ", kinds: " + pick(d, "NOTE", "[LINK, NOTE]",
			n("k", "[ContentKind!]"), "null", "[]") + "})"
	case 25:
		arguments = "(first: 4, filter: {createdBy: " + n("by", "ID") + ", visibilities: [" + pick(d, "PUBLIC", "PRIVATE, LOGGEDIN") +
			"]}, includeShared: " + pick(d, "true", "false") + ")"
	case 26:
		arguments = pick(d, `(filter: null)`, `(filter: {})`, `(filter: {text: "no"}, first: 5)`,
			`(filter: {roles: [EDITOR], text: "o"})`, `(filter: {createdBy: "u:acme:ghost"})`, `(filter: {createdBy: "ghost"})`)
	case 0, 1, 2:
		arguments = "(first: " + strconv.Itoa(d.IntN(6)) + ")"
	case 3:
		arguments = "(last: 2)"
	case 4, 5, 6:
		arguments = "(first: " + n("n", "Int") + ")"
	case 7, 8:
		arguments = "(first: " + n("n", "Int") + ", after: " + after() + ")"
	case 9:
		arguments = "(last: " + n("n", "Int") + ", before: " + after() + ")"
	case 10:
		arguments = "(first: " + n("n", "Int") + ", last: " + n("m", "Int = 2") + ")"
	case 11:
		arguments = "(after: " + strconv.Quote(pick(d, d.cursors...)) + ")"
	case 12:
		arguments = "(first: 4, orderBy: {field: LAST_MODIFIED, direction: DESC})"
	case 13:
		arguments = "(orderBy: " + n("o", "LibraryOrder") + ", first: " + n("m", "Int = 2") + ", after: " + after() + ")"
	case 14:
		arguments = "(orderBy: {field: LAST_MODIFIED, direction: " + n("d", "OrderDirection = DESC") + "}, last: 3)"
	case 15:
		arguments = "(includeShared: true, first: 5)"
	case 16:
		arguments = "(includeShared: " + n("s", "Boolean") + ", first: 3)"
	case 17:
		arguments = "(first: null, orderBy: null, includeShared: null)"
	case 18:
		arguments = pick(d, "(first: 2, before: "+after()+")", "(first: 2, last: 2)", "(last: 101)", "(first: -1)")
	}
	return alias + "library" + arguments + " " + d.page.random(d, 5)
}

// random draws a selection set of s, as draw does, sometimes with directives and fields that are
// not planned.
func (s *shape) random(d *drawer, depth int) string {
	var b strings.Builder
	b.WriteString("{ ")
	names := slices.Sorted(maps.Keys(s.objects))
	for range 1 + d.IntN(4) {
		alias := ""
		if d.oneIn(8) {
			alias = "x_"
		}
		directive := ""
		if d.oneIn(300) {
			directive = pick(d, " @include(if: ", " @skip(if: ") + d.variable("yes", "Boolean") + ")"
		}
		switch {
		case d.oneIn(2) && len(names) > 0 && depth > 0:
			name := pick(d, names...)
			fmt.Fprintf(&b, "%s%s %s ", prefixed(alias, name), directive, s.objects[name].random(d, depth-1))
		case d.oneIn(10) && len(s.on) > 0:
			name, below, _ := strings.Cut(pick(d, s.on...), " ")
			fmt.Fprintf(&b, "... on %s%s %s ", name, directive, below)
		case d.oneIn(10) && depth > 0:
			fmt.Fprintf(&b, "... on %s%s %s ", s.typename, directive, s.random(d, depth-1))
		default:
			name := pick(d, s.leaves...)
			if name == "email" && !d.oneIn(10) {
				name = "id"
			}
			fmt.Fprintf(&b, "%s%s ", prefixed(alias, name), directive)
		}
	}
	b.WriteString("}")
	return b.String()
}

var readFaults = []error{
	errors.New("the disk is gone"), errPanic, context.DeadlineExceeded, fmt.Errorf("read: %w", context.Canceled),
	&fault.Error{Code: fault.Unavailable, RetryAfter: 7, Msg: "try again"},
}

// request draws a request for the last document.
func (d *drawer) request(query string) *request {
	r := &request{
		query: query, variables: map[string]any{},
		viewer: pick(d, "u:acme:eve", "u:acme:eve", "u:acme:eve", "u:acme:bob", "u:acme:bob", "u:acme:ann", "", "u:acme:root",
			"u:acme:root", "u:other:zed", "u:acme:new", "u:other:over"),
		accept: pick(d, "", "application/json", "application/graphql-response+json"), language: pick(d, "", "de", "en", "fr, de;q=0.5"),
	}
	for name, typ := range d.declared {
		switch {
		case (typ == "ID!" || typ == "String!") && !d.oneIn(40):
			r.variables[name] = d.id(name)
		case d.oneIn(8):
		case d.oneIn(10):
			r.variables[name] = nil
		case d.oneIn(60):
			r.variables[name] = pick[any](d, 17, "17", true, []any{1}, map[string]any{"field": 1})
		case name == "tenant":
			r.variables[name] = pick(d, "acme", "acme", "other", "")
		default:
			r.variables[name] = d.value(typ)
		}
	}
	if d.oneIn(6) {
		r.after, r.fails = d.IntN(4), pick(d, readFaults...)
	}
	return r
}

// value draws a valid value of a type.
func (d *drawer) value(typ string) any {
	switch name, _, _ := strings.Cut(typ, " "); name {
	case "ID!", "String!":
		return 17
	case "Int":
		return d.IntN(7)
	case "Cursor":
		return pick(d, d.cursors...)
	case "LibraryOrder":
		return map[string]any{"field": "LAST_MODIFIED", "direction": pick(d, "ASC", "DESC")}
	case "OrderDirection":
		return pick(d, "ASC", "DESC")
	case "LibraryFilter":
		f := map[string]any{}
		if d.oneIn(2) {
			f["text"] = pick(d, "note", "Notiz", "ITEM", "quot item", "none", "")
		}
		if d.oneIn(2) {
			f["kinds"] = pick[any](d, "NOTE", []any{"LINK"}, []any{"LINK", "NOTE"}, nil, []any{})
		}
		if d.oneIn(3) {
			f["visibilities"] = pick[any](d, []any{"PUBLIC"}, []any{"PRIVATE", "LOGGEDIN"})
		}
		if d.oneIn(3) {
			f["createdBy"] = pick(d, "u:acme:ann", "u:acme:bob", "u:acme:ghost", "u:acme:nobody", "g:acme:crew", "ann")
		}
		if d.oneIn(3) {
			f["roles"] = pick[any](d, "VIEWER", []any{"EDITOR", "MANAGER"})
		}
		return f
	case "String":
		return pick(d, "note", "item", "ünï", "")
	case "[ContentKind!]":
		return pick[any](d, "NOTE", []any{"LINK"})
	case "ID":
		return pick(d, "u:acme:ann", "U:acme:bob", "u:acme:ghost", "x")
	}
	return d.oneIn(2)
}
