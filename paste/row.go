package paste

import (
	"encoding/binary"
	"errors"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// rowVersion is the first byte of a row's data.
const rowVersion = 1

// errRow is the error of data that cannot be read.
var errRow = errors.New("the row of a paste is damaged, or of a later version of this program")

// The flags of a row.
const (
	isPrivate  = 1
	bornPublic = 2
	hasTitle   = 4
	expires    = 8
	hasLong    = 16
	hasRequest = 32
)

// Row encodes the paste for a store. Numbers are varints; texts are prefixed with their length.
func (p *Paste) Row() Row {
	b := append([]byte{rowVersion, byte(p.State), p.flags()}, p.Secret[:]...)
	b = commit.AppendText(b, p.Author)
	for _, n := range []clock.Instant{p.MTS, p.CreatedAt, p.ModifiedAt} {
		b = binary.AppendVarint(b, int64(n))
	}
	b = binary.AppendUvarint(b, uint64(p.Version))
	if p.ExpiresAt != nil {
		b = binary.AppendVarint(b, int64(*p.ExpiresAt))
	}
	if p.Title != nil {
		b = commit.AppendText(b, *p.Title)
	}
	b = binary.AppendUvarint(b, uint64(p.Body.Size))
	if p.Body.IsLong() {
		b = append(b, p.Body.Long[:]...)
	} else {
		b = commit.AppendText(b, p.Body.Text)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Writers)))
	for _, w := range p.Writers {
		b = append(b, w[:]...)
	}
	if p.Request != nil {
		b = commit.AppendRequest(b, p.Request)
	}
	return Row{ID: p.ID, Seq: p.Seq, Data: b}
}

func (p *Paste) flags() (flags byte) {
	for _, f := range []struct {
		is  bool
		bit byte
	}{
		{p.IsPrivate, isPrivate}, {p.BornPublic, bornPublic}, {p.Title != nil, hasTitle}, {p.ExpiresAt != nil, expires},
		{p.Body.IsLong(), hasLong}, {p.Request != nil, hasRequest},
	} {
		if f.is {
			flags |= f.bit
		}
	}
	return flags
}

// pasteOf decodes a row. For the zero Row it returns nil.
func pasteOf(r Row) (*Paste, error) {
	if r.Seq == 0 {
		return nil, nil
	}
	in := commit.NewReader(r.Data)
	if in.Byte() != rowVersion {
		return nil, fmt.Errorf("%s: %w", r.ID, errRow)
	}
	p := &Paste{ID: r.ID, Seq: r.Seq}
	flags := p.readHead(&in)
	p.IsPrivate, p.BornPublic = flags&isPrivate != 0, flags&bornPublic != 0
	p.ModifiedAt = clock.Instant(in.Int())
	p.Version = int(in.Uint())
	if flags&expires != 0 {
		at := clock.Instant(in.Int())
		p.ExpiresAt = &at
	}
	if flags&hasTitle != 0 {
		title := in.Text()
		p.Title = &title
	}
	p.Body.Size = int(in.Uint())
	if flags&hasLong != 0 {
		in.Fill(p.Body.Long[:])
	} else {
		p.Body.Text = in.Text()
	}
	for n := in.Uint(); n > 0 && in.OK(); n-- {
		var w commit.EntryID
		in.Fill(w[:])
		p.Writers = append(p.Writers, w)
	}
	if flags&hasRequest != 0 {
		p.Request = in.Request()
	}
	if !in.End() || p.State < commit.Live || p.State > commit.Deleted || int64(len(p.Writers)) > p.Seq {
		return nil, fmt.Errorf("%s: %w", r.ID, errRow)
	}
	return p, nil
}

// readHead reads the fields from State to CreatedAt, and returns the flags.
func (p *Paste) readHead(in *commit.Reader) (flags byte) {
	p.State = commit.State(in.Byte())
	flags = in.Byte()
	in.Fill(p.Secret[:])
	p.Author = principal.ID(in.Text())
	p.MTS, p.CreatedAt = clock.Instant(in.Int()), clock.Instant(in.Int())
	return flags
}

// CreatedAt returns when the paste of a row was created, which never changes. It returns 0 if the data is
// damaged or of a later version.
func CreatedAt(r Row) clock.Instant {
	in := commit.NewReader(r.Data)
	if in.Byte() != rowVersion {
		return 0
	}
	var p Paste
	p.readHead(&in)
	return p.CreatedAt
}

// verdict returns the outcome of writing r, given the row that is stored afterwards. A row names
// its last writers, so that an unknown outcome can be resolved.
func verdict(r, stored Row) (commit.Verdict, error) {
	if stored.Seq == r.Seq && string(stored.Data) == string(r.Data) {
		return commit.Verdict{Applied: true}, nil
	}
	p, err := pasteOf(stored)
	if err != nil || p == nil {
		return commit.Verdict{}, err
	}
	return commit.VerdictOf(p.Seq, p.Writers), nil
}
