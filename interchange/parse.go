package interchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/core/clock"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// types are the names of types, for a message.
const types = "user, group, content, members, branch, revision, suggestion, draft or paste"

// Parse parses one line, without its line break. It checks everything that does not depend on the
// store. Its error names every fault.
func Parse(line []byte) (*exchange.Line, error) {
	o, err := decodeObject(line)
	if err != nil {
		return nil, err
	}
	r := &reader{object: o, seen: []string{"type"}}
	l, err := r.line()
	if err != nil {
		return nil, err
	}
	r.refuseUnknown()
	if len(r.faults) > 0 {
		return nil, errors.New(strings.Join(r.faults, "; "))
	}
	return l, nil
}

// reader reads the fields of an object and collects their faults.
type reader struct {
	*object
	at     string // path of the object, empty for the line's own
	seen   []string
	faults []string
}

func (r *reader) fault(field, format string, args ...any) {
	r.faults = append(r.faults, r.at+field+": "+fmt.Sprintf(format, args...))
}

// line reads the type and the fields of that type.
func (r *reader) line() (*exchange.Line, error) {
	v, given := r.values["type"]
	name, ok := v.(string)
	if !ok {
		if given {
			return nil, fmt.Errorf("type: must be a string, is %s", kindOf(v))
		}
		return nil, errors.New("type: is missing; it is " + types)
	}
	l := &exchange.Line{Type: exchange.Type(name)}
	switch l.Type {
	case exchange.TypeUser:
		l.User = r.user()
	case exchange.TypeGroup:
		l.Group = r.group()
	case exchange.TypeContent:
		l.Content = r.content()
	case exchange.TypeMembers:
		l.Members = r.members()
	case exchange.TypeBranch:
		l.Branch = r.branch()
	case exchange.TypeRevision:
		l.Revision = r.revision()
	case exchange.TypeSuggestion:
		l.Suggestion = r.suggestion()
	case exchange.TypeDraft:
		l.Draft = r.draft()
	case exchange.TypePaste:
		l.Paste = r.paste()
	default:
		return nil, fmt.Errorf("type: is %s, not %q", types, shortened(name))
	}
	return l, nil
}

func (r *reader) user() *principal.ImportUser {
	return &principal.ImportUser{
		ID:          r.principal("id", "u:"),
		DisplayName: r.text("displayName"),
		Email:       r.optionalText("email"),
		Visibility:  r.visibility(),
		CreatedAt:   r.instant("createdAt"),
	}
}

func (r *reader) group() *principal.ImportGroup {
	g := &principal.ImportGroup{
		ID:            r.principal("id", "g:"),
		DisplayName:   r.text("displayName"),
		Visibility:    r.visibility(),
		CreatedAt:     r.instant("createdAt"),
		MembersFollow: r.optionalBool("membersFollow"),
		Unmanaged:     r.optionalBool("unmanaged"),
	}
	switch {
	case !g.MembersFollow:
		g.Members = r.groupMembers()
	case r.given("members"):
		r.fault("members", "must be omitted if membersFollow is true")
	}
	return g
}

func (r *reader) content() *library.ImportContent {
	in := &library.ImportContent{
		ID:           r.contentID("id"),
		Kind:         choice(r, "kind", library.ParseContentKind, "LINK or NOTE"),
		Title:        r.text("title"),
		Description:  r.optionalText("description"),
		Link:         r.optionalText("link"),
		URL:          r.optionalText("url"),
		Visibility:   r.visibility(),
		ExpiresAt:    r.instant("expiresAt"),
		CreatedAt:    r.instant("createdAt"),
		LastModified: r.instant("lastModified"),
		Version:      r.optionalCount("version"),
		Members:      r.contentMembers(),
		Unmanaged:    r.optionalBool("unmanaged"),
	}
	if r.given("createdBy") {
		by := r.principal("createdBy", "")
		in.CreatedBy = &by
	}
	return in
}

func (r *reader) members() *library.ImportMembers {
	globalID := r.text("id")
	in := &library.ImportMembers{ID: globalID, Unmanaged: r.optionalBool("unmanaged")}
	switch id.KindOf(globalID) {
	case id.Group:
		in.ID = r.principal("id", "g:")
		in.Group = r.groupMembers()
	case id.Content:
		in.Content = r.contentMembers()
	default:
		r.see("members")
		if globalID != "" {
			r.fault("id", "names neither a group (g:<tenant>:<name>) nor a content (c:<tenant>:<name>)")
		}
		return in
	}
	if list, ok := r.values["members"].([]any); ok && len(list) == 0 {
		r.fault("members", "is empty; a line of members names 1 to %d", input.MaxList)
	}
	return in
}

// members reads the list of members, whose roles have the names that which lists.
func members[R any](r *reader, parse func(string) (R, bool), which string) []principal.RoleChange[R] {
	var all []principal.RoleChange[R]
	r.eachMember(func(m *reader) {
		role := choice(m, "role", parse, which)
		all = append(all, principal.RoleChange[R]{Principal: m.principal("principalId", ""), Role: &role})
	})
	return all
}

func (r *reader) groupMembers() []principal.GroupMemberChange {
	return members(r, principal.ParseGroupRole, "MEMBER or MANAGER")
}

func (r *reader) contentMembers() []library.ContentMemberChange {
	return members(r, library.ParseContentRole, "VIEWER, EDITOR or MANAGER")
}

// eachMember reads the list of members: objects that name different principals.
func (r *reader) eachMember(read func(*reader)) {
	v := r.take("members")
	list, ok := v.([]any)
	switch {
	case !r.given("members"):
		r.fault("members", "is missing")
		return
	case !ok:
		r.fault("members", "must be an array, is %s", kindOf(v))
		return
	case len(list) > input.MaxList:
		r.fault("members", "has %d entries; a line has at most %d, the rest goes into lines of type members", len(list), input.MaxList)
		return
	}
	named := map[string]bool{}
	for i, v := range list {
		at := r.at + "members." + strconv.Itoa(i)
		o, ok := v.(*object)
		if !ok {
			r.faults = append(r.faults, at+": must be an object, is "+kindOf(v))
			continue
		}
		m := &reader{object: o, at: at + "."}
		read(m)
		m.refuseUnknown()
		if id, _ := o.values["principalId"].(string); id != "" {
			if id = strings.ToLower(id); named[id] {
				m.fault("principalId", "is named twice")
			}
			named[id] = true
		}
		r.faults = append(r.faults, m.faults...)
	}
}

func (r *reader) see(field string) { r.seen = append(r.seen, field) }

func (r *reader) take(field string) any {
	r.see(field)
	return r.values[field]
}

// given reports whether an optional field has a value. null is the same as omitting it.
func (r *reader) given(field string) bool {
	r.see(field)
	return r.values[field] != nil
}

// text reads a required string.
func (r *reader) text(field string) string {
	v := r.take(field)
	s, ok := v.(string)
	if !ok {
		if _, there := r.values[field]; !there {
			r.fault(field, "is missing")
		} else {
			r.fault(field, "must be a string, is %s", kindOf(v))
		}
	}
	return s
}

func (r *reader) optionalText(field string) *string {
	if !r.given(field) {
		return nil
	}
	s := r.text(field)
	return &s
}

// principal reads an id of a user ("u:"), of a group ("g:"), or of either ("").
func (r *reader) principal(field, prefix string) string {
	faults := len(r.faults)
	s := r.text(field)
	if len(r.faults) > faults {
		return s
	}
	id, err := principal.ParseID(s)
	switch {
	case err != nil:
		r.fault(field, "%v", err)
	case !strings.HasPrefix(string(id), prefix):
		r.fault(field, "must begin with %s", prefix)
	}
	return string(id)
}

func (r *reader) contentID(field string) string {
	faults := len(r.faults)
	s := r.text(field)
	if len(r.faults) > faults {
		return s
	}
	id, err := library.ParseContentID(s)
	if err != nil {
		r.fault(field, "%v", err)
	}
	return string(id)
}

func (r *reader) visibility() principal.Visibility {
	return choice(r, "visibility", principal.ParseVisibility, "PUBLIC, LOGGEDIN or PRIVATE")
}

// choice reads a field with one of a few names.
func choice[T any](r *reader, field string, parse func(string) (T, bool), names string) T {
	faults := len(r.faults)
	s := r.text(field)
	v, ok := parse(s)
	if !ok && len(r.faults) == faults {
		r.fault(field, "is %s, not %q", names, shortened(s))
	}
	return v
}

func (r *reader) instant(field string) *clock.Instant {
	if !r.given(field) {
		return nil
	}
	faults := len(r.faults)
	s := r.text(field)
	if len(r.faults) > faults {
		return nil
	}
	i, err := clock.Parse(s)
	if err != nil {
		r.fault(field, "%v", err)
	}
	return &i
}

func (r *reader) optionalBool(field string) bool {
	if !r.given(field) {
		return false
	}
	v := r.take(field)
	b, ok := v.(bool)
	if !ok {
		r.fault(field, "must be a boolean, is %s", kindOf(v))
	}
	return b
}

// optionalCount reads an optional number of at least 1.
func (r *reader) optionalCount(field string) *int { return r.optionalNumber(field, 1) }

func (r *reader) optionalNumber(field string, minimum int64) *int {
	if !r.given(field) {
		return nil
	}
	v := r.take(field)
	number, ok := v.(json.Number)
	if !ok {
		r.fault(field, "must be a number, is %s", kindOf(v))
		return nil
	}
	// 32 bits, because that is what GraphQL's Int can show.
	n, err := strconv.ParseInt(number.String(), 10, 32)
	if err != nil || n < minimum {
		r.fault(field, "must be a whole number from %d to 2147483647", minimum)
	}
	count := int(n)
	return &count
}

// refuseUnknown adds faults for the fields that were not read: misspelt ones, and those of other
// types of lines.
func (r *reader) refuseUnknown() {
	for _, key := range r.keys {
		if !slices.Contains(r.seen, key) {
			r.fault(shortened(key), "is not a field here")
		}
	}
}
