package lease

import (
	"encoding/binary"
	"errors"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// Row is a lease as stores keep it, and Store keeps them.
type (
	Row   = commit.Row[ID]
	Store = commit.RowStore[ID]
)

// rowVersion is the first byte of a row's data.
const rowVersion = 1

// errRow is the error of data that cannot be read.
var errRow = errors.New("the row of a lease is damaged, or of a later version of this program")

// hasRequest is the flag of a row with a request.
const hasRequest = 1

// row encodes the lease for a store. Numbers are varints; texts are prefixed with their
// length.
func (l *Lease) row() Row {
	var flags byte
	if l.Request != nil {
		flags |= hasRequest
	}
	b := append([]byte{rowVersion, byte(l.State), flags}, l.Token[:]...)
	b = commit.AppendText(b, l.Owner)
	b = binary.AppendVarint(b, int64(l.CreatedAt))
	b = binary.AppendVarint(b, int64(l.Deadline))
	b = binary.AppendVarint(b, l.Fence)
	b = binary.AppendUvarint(b, uint64(len(l.Writers)))
	for _, w := range l.Writers {
		b = append(b, w[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(l.Documents)))
	for _, d := range l.Documents {
		b = appendDocument(b, &d)
	}
	if l.Request != nil {
		b = commit.AppendRequest(b, l.Request)
	}
	return Row{ID: l.ID, Seq: l.Seq, Data: b}
}

func appendDocument(b []byte, d *Document) []byte {
	return appendOptional(appendOptional(commit.AppendText(b, d.Key), d.Value), d.ETag)
}

// appendOptional appends an optional text, prefixed with a byte that is 1 if there is one.
func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return commit.AppendText(append(b, 1), *s)
}

// leaseOf decodes a row. For the zero Row it returns nil.
func leaseOf(r Row) (*Lease, error) {
	if r.Seq == 0 {
		return nil, nil
	}
	in := commit.NewReader(r.Data)
	if in.Byte() != rowVersion {
		return nil, fmt.Errorf("%s: %w", r.ID, errRow)
	}
	l := &Lease{ID: r.ID, Seq: r.Seq, State: State(in.Byte())}
	flags := in.Byte()
	in.Fill(l.Token[:])
	l.Owner = principal.ID(in.Text())
	l.CreatedAt, l.Deadline, l.Fence = clock.Instant(in.Int()), clock.Instant(in.Int()), in.Int()
	for n := in.Uint(); n > 0 && in.OK(); n-- {
		var w commit.EntryID
		in.Fill(w[:])
		l.Writers = append(l.Writers, w)
	}
	for n := in.Uint(); n > 0 && in.OK(); n-- {
		l.Documents = append(l.Documents, readDocument(&in))
	}
	if flags&hasRequest != 0 {
		l.Request = in.Request()
	}
	if !in.End() || l.State < Pending || l.State > Refused || int64(len(l.Writers)) > l.Seq {
		return nil, fmt.Errorf("%s: %w", r.ID, errRow)
	}
	return l, nil
}

func readDocument(in *commit.Reader) Document {
	return Document{Key: in.Text(), Value: readOptional(in), ETag: readOptional(in)}
}

func readOptional(in *commit.Reader) *string {
	if in.Byte() == 0 {
		return nil
	}
	s := in.Text()
	return &s
}

// verdict returns the outcome of writing r, given the row that is stored afterwards. A row
// names its writers, so that an unknown outcome can be resolved.
func verdict(r, stored Row) (commit.Verdict, error) {
	if stored.Seq == r.Seq && string(stored.Data) == string(r.Data) {
		return commit.Verdict{Applied: true}, nil
	}
	l, err := leaseOf(stored)
	if err != nil || l == nil {
		return commit.Verdict{}, err
	}
	return commit.VerdictOf(l.Seq, l.Writers), nil
}
