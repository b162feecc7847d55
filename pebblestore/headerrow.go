package pebblestore

import (
	"encoding/binary"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// The optional parts of a content's header, as bits of one byte.
const (
	hasDescription = 1 << iota
	hasLink
	hasExpiry
	hasUntil // the ends of visibilities
	hasMoved // the time of the last move
	hasURL
	hasPage   // the data of package note
	hasTitles // the former title and the superseded ones
)

// appendHeader appends the header of a content; its id is in the key.
func appendHeader(b []byte, h *library.Header) []byte {
	b = append(b, rowVersion)
	b = binary.AppendUvarint(b, uint64(h.Seq))
	var has byte
	if h.Description != nil {
		has |= hasDescription
	}
	if h.Link != nil {
		has |= hasLink
	}
	if h.ExpiresAt != nil {
		has |= hasExpiry
	}
	if h.LoggedInUntil != 0 || h.PublicUntil != 0 {
		has |= hasUntil
	}
	if h.MovedAt != 0 {
		has |= hasMoved
	}
	if h.CanonicalURL != "" {
		has |= hasURL
	}
	if len(h.Page) > 0 {
		has |= hasPage
	}
	if len(h.UnsettledTitles) > 0 || h.FormerTitle != "" {
		has |= hasTitles
	}
	b = append(b, byte(h.State), byte(h.Kind), byte(h.Visibility), byte(h.Widest), has)
	b = binary.AppendVarint(b, int64(h.MTS))
	b = binary.AppendVarint(b, int64(h.Position))
	b = binary.AppendVarint(b, int64(h.CreatedAt))
	b = binary.AppendVarint(b, int64(h.LastModified))
	b = binary.AppendVarint(b, int64(h.Version))
	b = binary.AppendVarint(b, int64(h.MovesSince))
	b = binary.AppendVarint(b, int64(h.Moves))
	b = binary.AppendVarint(b, int64(h.Managers))
	b = binary.AppendVarint(b, int64(h.Members))
	b = appendTexts(b, h, has)
	b = binary.AppendUvarint(b, uint64(len(h.Unsettled)))
	for _, u := range h.Unsettled {
		b = append(binary.AppendVarint(b, int64(u.Position)), byte(u.Widest))
	}
	return appendWriters(b, h.Writers)
}

// appendTexts appends the creator of an item, its title, the optional parts, and the superseded titles. has contains the
// bits of those that are present.
func appendTexts(b []byte, h *library.Header, has byte) []byte {
	b = commit.AppendText(b, string(h.Creator))
	b = commit.AppendText(b, h.Title)
	if h.Description != nil {
		b = commit.AppendText(b, *h.Description)
	}
	if h.Link != nil {
		b = commit.AppendText(b, *h.Link)
	}
	if h.ExpiresAt != nil {
		b = binary.AppendVarint(b, int64(*h.ExpiresAt))
	}
	if has&hasUntil != 0 {
		b = binary.AppendVarint(b, int64(h.LoggedInUntil))
		b = binary.AppendVarint(b, int64(h.PublicUntil))
	}
	if h.MovedAt != 0 {
		b = binary.AppendVarint(b, int64(h.MovedAt))
	}
	if h.CanonicalURL != "" {
		b = commit.AppendText(b, h.CanonicalURL)
	}
	if len(h.Page) > 0 {
		b = commit.AppendText(b, string(h.Page))
	}
	if has&hasTitles != 0 {
		b = commit.AppendText(b, h.FormerTitle)
		b = binary.AppendUvarint(b, uint64(len(h.UnsettledTitles)))
		for _, u := range h.UnsettledTitles {
			b = commit.AppendText(append(binary.AppendVarint(b, int64(u.At)), byte(u.Widest)), string(u.Title))
		}
	}
	return b
}

// optional holds the values that a header points to, so that they share one allocation.
type optional struct {
	description, link string
	expiry            clock.Instant
}

// decodeHeader reads the header of a content.
func decodeHeader(id library.ContentID, value []byte, h *library.Header) error {
	d := decode(value)
	d.header(id, h, nil)
	h.Unsettled = d.unsettled()
	h.Writers = d.writers()
	return d.end()
}

// decodeShown reads the fields of a header that readers need, and only validates the rest. It
// stores optional parts in o.
func decodeShown(id library.ContentID, value string, h *library.Header, o *optional) error {
	d := decode(value)
	d.header(id, h, o)
	h.UnsettledTitles = nil
	for n := d.Count(unsettledBytes); n > 0; n-- {
		d.Int()
		d.Byte()
	}
	d.skipWriters()
	return d.end()
}

// header reads a header up to the superseded positions. It stores optional parts in o, or allocates
// them if o is nil.
func (d *decoder) header(id library.ContentID, h *library.Header, o *optional) {
	h.ID = id
	h.Seq = int64(d.Uint())
	h.State = commit.State(d.Byte())
	h.Kind = library.ContentKind(d.Byte())
	h.Visibility = principal.Visibility(d.Byte())
	h.Widest = principal.Visibility(d.Byte())
	has := d.Byte()
	h.MTS = clock.Instant(d.Int())
	h.Position = clock.Instant(d.Int())
	h.CreatedAt = clock.Instant(d.Int())
	h.LastModified = clock.Instant(d.Int())
	h.Version = int(d.Int())
	h.MovesSince = clock.Instant(d.Int())
	h.Moves = int(d.Int())
	h.Managers = int(d.Int())
	h.Members = int(d.Int())
	h.Creator = principal.ID(d.Text())
	h.Title = d.Text()
	if has&(hasDescription|hasLink|hasExpiry) != 0 {
		if o == nil {
			o = new(optional)
		}
		if has&hasDescription != 0 {
			o.description = d.Text()
			h.Description = &o.description
		}
		if has&hasLink != 0 {
			o.link = d.Text()
			h.Link = &o.link
		}
		if has&hasExpiry != 0 {
			o.expiry = clock.Instant(d.Int())
			h.ExpiresAt = &o.expiry
		}
	}
	if has&hasUntil != 0 {
		h.LoggedInUntil, h.PublicUntil = clock.Instant(d.Int()), clock.Instant(d.Int())
	}
	if has&hasMoved != 0 {
		h.MovedAt = clock.Instant(d.Int())
	}
	if has&hasURL != 0 {
		h.CanonicalURL = d.Text()
	}
	if has&hasPage != 0 {
		h.Page = []byte(d.Text())
	}
	if has&hasTitles != 0 {
		h.FormerTitle = d.Text()
		for n := d.Count(unsettledTitleBytes); n > 0; n-- {
			h.UnsettledTitles = append(h.UnsettledTitles, library.SupersededTitle{
				At: clock.Instant(d.Int()), Widest: principal.Visibility(d.Byte()), Title: collation.Key(d.Text()),
			})
		}
	}
}

// unsettledBytes is the minimal size of a superseded position, and unsettledTitleBytes that of a superseded title.
const (
	unsettledBytes      = 2
	unsettledTitleBytes = 4
)

func (d *decoder) unsettled() []library.Superseded {
	n := d.Count(unsettledBytes)
	if n == 0 {
		return nil
	}
	us := make([]library.Superseded, n)
	for i := range us {
		us[i].Position = clock.Instant(d.Int())
		us[i].Widest = principal.Visibility(d.Byte())
	}
	return us
}

// decodeSeq reads only the Seq, which comes first in a header of either kind.
func decodeSeq(value []byte) (int64, error) {
	if len(value) == 0 || value[0] != rowVersion {
		return 0, errRow
	}
	seq, n := binary.Uvarint(value[1:])
	if n <= 0 {
		return 0, errRow
	}
	return int64(seq), nil
}
