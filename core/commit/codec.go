package commit

import (
	"encoding/binary"
	"errors"

	"carrel/core/clock"
	"carrel/core/fault"
)

// blockVersion is the first byte of a block, which is what an in-flight list is written as. Its
// entries follow, one after the other. Numbers are varints; texts are prefixed with their length, and so is
// what is left to do.
const blockVersion = 1

// MaxBlock is the largest size of a list in bytes: half of the 16 MiB that a node of
// Cassandra accepts as one mutation by default.
const MaxBlock = 8 << 20

// errBlock is the error of a block that cannot be read.
var errBlock = errors.New("the in-flight list is damaged, or of a later version of this program")

// The flags of an entry.
const (
	isDecided = 1
	isEnded   = 2
	isMerged  = 4
)

// Encode returns the block of a list, or nil if the list is empty. It returns UNAVAILABLE if the
// block would be larger than MaxBlock.
func Encode(entries []Entry) ([]byte, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	block := []byte{blockVersion}
	for i := range entries {
		if block = appendEntry(block, &entries[i]); len(block) > MaxBlock {
			return nil, fault.Unavailablef(nil, "the pending changes take more than %d bytes, too many to record", MaxBlock)
		}
	}
	return block, nil
}

// AppendRequest appends a request row.
func AppendRequest(b []byte, r *RequestRow) []byte {
	b = append(append(b, r.Key[:]...), r.InputHash[:]...)
	return binary.AppendVarint(AppendText(b, r.Answer), int64(r.Until))
}

func appendEntry(b []byte, e *Entry) []byte {
	b = append(append(b, e.ID[:]...), byte(e.Kind))
	var flags byte
	if e.Decided {
		flags |= isDecided
	}
	if e.Ended {
		flags |= isEnded
	}
	if e.Span > 0 {
		flags |= isMerged
	}
	b = append(b, flags)
	b = AppendText(b, e.Key)
	b = binary.AppendVarint(b, e.Base)
	if e.Span > 0 {
		b = binary.AppendVarint(b, e.Span)
	}
	b = binary.AppendVarint(b, int64(e.Due))
	return AppendText(b, e.Reach.encode())
}

// Decode reads the entries of a block that Encode has returned.
func Decode(block []byte) ([]Entry, error) {
	if len(block) == 0 {
		return nil, nil
	}
	if block[0] != blockVersion {
		return nil, errBlock
	}
	var entries []Entry
	r := NewReader(block[1:])
	for r.More() {
		entries = append(entries, r.entry())
	}
	if !r.OK() {
		return nil, errBlock
	}
	return entries, nil
}

// entry reads an entry written by appendEntry.
func (r *Reader) entry() (e Entry) {
	r.Fill(e.ID[:])
	e.Kind = Kind(r.Byte())
	flags := r.Byte()
	e.Decided, e.Ended = flags&isDecided != 0, flags&isEnded != 0
	e.Key = r.Text()
	e.Base = r.Int()
	if flags&isMerged != 0 {
		e.Span = r.Int()
	}
	e.Due = clock.Instant(r.Int())
	reach, ok := decodeReach(r.Text())
	e.Reach, e.Unreadable = reach, !ok
	return e
}

// AppendText appends a text, prefixed with its length.
func AppendText[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Reader decodes a row from its front. The first error is kept: after it all its methods return zero
// values, and OK returns false. All texts share the memory of the row, so a row costs one copy however
// many texts it has.
type Reader struct {
	rest string
	bad  bool
}

// NewReader returns a Reader of b.
func NewReader[T ~string | ~[]byte](b T) Reader { return Reader{rest: string(b)} }

// More reports whether there is more to read.
func (r *Reader) More() bool { return len(r.rest) > 0 }

// OK reports whether all values so far could be read.
func (r *Reader) OK() bool { return !r.bad }

// End reports whether the whole row was read without an error.
func (r *Reader) End() bool { return r.OK() && !r.More() }

// Fail records an error.
func (r *Reader) Fail() { r.rest, r.bad = "", true }

// Raw reads n bytes.
func (r *Reader) Raw(n int) string {
	if n > len(r.rest) {
		r.Fail()
		return ""
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

// Rest reads the remaining bytes.
func (r *Reader) Rest() string { return r.Raw(len(r.rest)) }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail()
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 {
	var v uint64
	for i := 0; i < len(r.rest); i++ {
		c := r.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return v
		}
	}
	r.Fail()
	return 0
}

// Int reads a signed number.
func (r *Reader) Int() int64 {
	u := r.Uint()
	return int64(u>>1) ^ -int64(u&1)
}

// Count reads the length of a list whose elements take at least size bytes each, so that a damaged
// length cannot allocate more memory than the row has.
func (r *Reader) Count(size int) int {
	n := r.Uint()
	if n > uint64(len(r.rest)/size) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Text reads a text that is prefixed with its length.
func (r *Reader) Text() string { return r.Raw(r.Count(1)) }

// Fill reads len(b) bytes, which have no length prefix.
func (r *Reader) Fill(b []byte) { copy(b, r.Raw(len(b))) }

// Request reads a request row written by AppendRequest.
func (r *Reader) Request() *RequestRow {
	row := &RequestRow{}
	r.Fill(row.Key[:])
	r.Fill(row.InputHash[:])
	if answer := r.Text(); answer != "" {
		row.Answer = []byte(answer)
	}
	row.Until = clock.Instant(r.Int())
	return row
}

// Texts reads a list of texts that is prefixed with its length.
func (r *Reader) Texts() []string {
	var texts []string
	for n := r.Count(1); n > 0; n-- {
		texts = append(texts, r.Text())
	}
	return texts
}
