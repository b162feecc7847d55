package interchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"carrel/core/clock"
	"carrel/exchange"
	"carrel/principal"
)

// Writer writes lines that Parse reads.
type Writer struct {
	to  io.Writer
	buf bytes.Buffer
}

// NewWriter returns a Writer that writes to w, with one call of w.Write for each line.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Write writes one line. Unlike Parse, it does not check the line.
func (w *Writer) Write(l *exchange.Line) error {
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false) // titles and links stay readable
	if err := enc.Encode(written(l)); err != nil {
		return fmt.Errorf("write the line of %s: %w", l.ID(), err)
	}
	if w.buf.Len() > MaxLine {
		return fmt.Errorf("write the line of %s: longer than %d bytes", l.ID(), MaxLine)
	}
	if _, err := w.to.Write(w.buf.Bytes()); err != nil {
		return fmt.Errorf("write the line of %s: %w", l.ID(), err)
	}
	return nil
}

// The shapes of lines, with the fields in the order in which they are written.
type (
	userLine struct {
		Type        exchange.Type `json:"type"`
		ID          string        `json:"id"`
		DisplayName string        `json:"displayName"`
		Email       *string       `json:"email,omitempty"`
		Visibility  string        `json:"visibility"`
		CreatedAt   *string       `json:"createdAt,omitempty"`
	}
	groupLine struct {
		Type          exchange.Type `json:"type"`
		ID            string        `json:"id"`
		DisplayName   string        `json:"displayName"`
		Visibility    string        `json:"visibility"`
		CreatedAt     *string       `json:"createdAt,omitempty"`
		Members       []member      `json:"members,omitzero"`
		MembersFollow bool          `json:"membersFollow,omitempty"`
		Unmanaged     bool          `json:"unmanaged,omitempty"`
	}
	contentLine struct {
		Type         exchange.Type `json:"type"`
		ID           string        `json:"id"`
		Kind         string        `json:"kind"`
		Title        string        `json:"title"`
		Description  *string       `json:"description,omitempty"`
		Link         *string       `json:"link,omitempty"`
		URL          *string       `json:"url,omitempty"`
		Visibility   string        `json:"visibility"`
		ExpiresAt    *string       `json:"expiresAt,omitempty"`
		CreatedAt    *string       `json:"createdAt,omitempty"`
		CreatedBy    *string       `json:"createdBy,omitempty"`
		LastModified *string       `json:"lastModified,omitempty"`
		Version      *int          `json:"version,omitempty"`
		Members      []member      `json:"members"`
		Unmanaged    bool          `json:"unmanaged,omitempty"`
	}
	membersLine struct {
		Type      exchange.Type `json:"type"`
		ID        string        `json:"id"`
		Members   []member      `json:"members"`
		Unmanaged bool          `json:"unmanaged,omitempty"`
	}
	member struct {
		PrincipalID string `json:"principalId"`
		Role        string `json:"role"`
	}
)

func written(l *exchange.Line) any {
	switch l.Type {
	case exchange.TypeUser:
		u := l.User
		return userLine{l.Type, u.ID, u.DisplayName, u.Email, u.Visibility.String(), text(u.CreatedAt)}
	case exchange.TypeGroup:
		g := l.Group
		members := membersOf(g.Members)
		if g.MembersFollow {
			members = nil // the field is omitted
		}
		return groupLine{l.Type, g.ID, g.DisplayName, g.Visibility.String(), text(g.CreatedAt), members, g.MembersFollow, g.Unmanaged}
	case exchange.TypeContent:
		c := l.Content
		return contentLine{
			Type: l.Type, ID: c.ID, Kind: c.Kind.String(), Title: c.Title, Description: c.Description, Link: c.Link, URL: c.URL,
			Visibility: c.Visibility.String(), ExpiresAt: text(c.ExpiresAt), CreatedAt: text(c.CreatedAt),
			CreatedBy: c.CreatedBy, LastModified: text(c.LastModified), Version: c.Version, Members: membersOf(c.Members), Unmanaged: c.Unmanaged,
		}
	}
	switch l.Type {
	case exchange.TypeMembers:
	case exchange.TypePaste:
		return writtenPaste(l)
	default:
		return writtenPage(l)
	}
	m := l.Members
	if len(m.Group) > 0 {
		return membersLine{l.Type, m.ID, membersOf(m.Group), m.Unmanaged}
	}
	return membersLine{l.Type, m.ID, membersOf(m.Content), m.Unmanaged}
}

func text(i *clock.Instant) *string {
	if i == nil {
		return nil
	}
	s := i.String()
	return &s
}

func membersOf[R fmt.Stringer](changes []principal.RoleChange[R]) []member {
	all := make([]member, 0, len(changes))
	for _, c := range changes {
		m := member{PrincipalID: c.Principal}
		if c.Role != nil {
			m.Role = (*c.Role).String()
		}
		all = append(all, m)
	}
	return all
}
