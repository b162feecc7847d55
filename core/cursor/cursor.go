package cursor

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/sched"
)

// A cursor is a position in one connection. It is encrypted and authenticated, so that it
// reveals nothing about hidden entries and cannot be forged:
//
//	base64url( version | key id | nonce (12) | AES-256-GCM(position) with its tag )
//
// The binding of a cursor (the kind of connection, its owner, the class of viewer) is authenticated
// with it but not part of it. The nonce is a part of the SHA-256 of a second key and everything that
// is sealed. So the same edge always has the same cursor, and no nonce is used for two different
// plaintexts. An HMAC would take three times as long, and protect from nothing: with 12 of its 32
// bytes, nobody can continue the hash.
const (
	cursorVersion = 1
	cursorHead    = 2 // version and key id
	cursorNonce   = 12
	cursorTag     = 16
	// positionStep is the unit to which a sealed Position is padded, so that the length of a cursor
	// does not reveal the length of a hidden item's id. A typical cursor has 78 bytes, or 104
	// characters.
	positionStep = 48
	// titleStep is the same for a Position with a TitleKey, so that the length does not reveal that of a hidden title: every
	// one fits into it.
	titleStep     = 32 * positionStep
	positionHead  = 1 + 8 + 8 + 1 // order and flag, position, bound, length of the id
	positionRead  = 1 + 4         // a mark, and the minute in which it was read
	positionMoved = 1 + 8         // a mark, and Moved
	positionTitle = 1 + 2         // a mark, and the length of Title or TitleKey
	// longestID is the longest id of any kind. The longest text of a Position is a name, for
	// lists ordered by name, followed by such an id.
	longestID       = 2 + id.MaxTenantLength + 1 + id.MaxNameLength
	longestPosition = (positionHead + LongestName + 1 + longestID + positionRead + positionMoved +
		positionTitle + collation.MaxKey + titleStep - 1) / titleStep * titleStep
	longestCursor = (cursorHead + cursorNonce + longestPosition + cursorTag + 2) / 3 * 4
)

// Usual is the length of a typical cursor.
const Usual = 104

// LongestName is how many bytes of a name a Position holds at most.
const LongestName = 80

// cursorText is the encoding of cursors. It is strict: it accepts only one of the texts
// that decode to the same bytes.
var cursorText = base64.RawURLEncoding.Strict()

// Kind is the kind of connection that a cursor belongs to.
type Kind byte

// The kinds of connections. Existing cursors are bound to them, so a number is never reused. All
// domains have theirs here, so that no two have the same number.
const (
	OfLibrary      Kind = 1
	OfMembers      Kind = 2
	OfGroupMembers Kind = 3
	OfGroups       Kind = 4
	OfDirectory    Kind = 5
	OfBranches     Kind = 6
	OfRevisions    Kind = 7
	OfSuggestions  Kind = 8
	OfDrafts       Kind = 9
	OfPastes       Kind = 10
	OfNewContent   Kind = 11
)

// Order is the order in which the connection was read.
type Order byte

// The orders, and the parts of a position's encoding that belong to them.
const (
	AnyOrder        Order = 0 // of mutations and events: valid in Ascending and Descending
	Ascending       Order = 1
	Descending      Order = 2
	TitleAscending  Order = 3 // of libraries, by title; Title is set
	TitleDescending Order = 4

	positionBounded = 0x80 // flag in the byte of the order

	// readMark follows the id if the time of reading follows it. Otherwise padding does.
	readMark = 1
	// movedMark follows, in the same way, if Position.Moved does, and titleMark or titleKeyMark if a title or its key does.
	movedMark    = 2
	titleMark    = 3
	titleKeyMark = 4
)

// Class identifies viewers that may use each other's cursors. Its values are defined by the domain;
// it is 0 for connections without classes.
type Class byte

// Position is the position that a cursor encodes. A connection ordered by time uses At
// and the id of an edge. In others At is 0, and ID is the text by which they are
// ordered.
type Position struct {
	Order Order
	At    clock.Instant
	ID    string
	// In libraries ordered by title, Title is the beginning of the title of an item that the viewer sees. For another
	// place, TitleKey is its key. Both are empty in all other connections.
	Title    string
	TitleKey collation.Key
	// Bound is the newest position that the walk reaches, if Bounded is true.
	Bounded bool
	Bound   clock.Instant
	// Read is when the position was read, truncated to ReadUnit, or 0 if unknown. A subscription
	// resumes from it; pages do not use it.
	Read clock.Instant
	// Moved, if not 0, is the time since which an item may have moved, within the bound, from a
	// position that the walk has passed. It is 0 for most cursors, which it would make longer.
	Moved clock.Instant
}

// ReadUnit is the resolution of Position.Read. Within one unit the same edge has the same
// cursor.
const ReadUnit = time.Minute

// append appends the encoded position, padded to a multiple of positionStep or titleStep.
func (p *Position) append(b []byte) []byte {
	start := len(b)
	first := byte(p.Order)
	if p.Bounded {
		first |= positionBounded
	}
	b = append(b, first)
	b = binary.BigEndian.AppendUint64(b, uint64(p.At))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Bound))
	b = append(b, byte(len(p.ID)))
	b = append(b, p.ID...)
	if p.Read != 0 {
		b = append(b, readMark)
		b = binary.BigEndian.AppendUint32(b, uint32(p.Read/clock.Instant(ReadUnit.Microseconds())))
	}
	if p.Moved != 0 {
		b = append(b, movedMark)
		b = binary.BigEndian.AppendUint64(b, uint64(p.Moved))
	}
	step := positionStep
	switch {
	case p.TitleKey != "":
		b, step = appendTitle(b, titleKeyMark, string(p.TitleKey)), titleStep
	case p.Title != "":
		b = appendTitle(b, titleMark, p.Title)
	}
	if over := (len(b) - start) % step; over > 0 {
		var padding [titleStep]byte
		b = append(b, padding[:step-over]...)
	}
	return b
}

func appendTitle(b []byte, mark byte, title string) []byte {
	return append(binary.BigEndian.AppendUint16(append(b, mark), uint16(len(title))), title...)
}

// readPosition decodes the output of append. ok is false for anything else.
func readPosition(b []byte) (p Position, ok bool) {
	if len(b) < positionHead {
		return p, false
	}
	p.Bounded = b[0]&positionBounded != 0
	p.Order = Order(b[0] &^ positionBounded)
	p.At = clock.Instant(binary.BigEndian.Uint64(b[1:]))
	p.Bound = clock.Instant(binary.BigEndian.Uint64(b[9:]))
	n := int(b[17])
	if p.Order > TitleDescending || len(b) < positionHead+n {
		return Position{}, false
	}
	p.ID = string(b[positionHead : positionHead+n])
	rest := b[positionHead+n:]
	if len(rest) >= positionRead && rest[0] == readMark {
		p.Read = clock.Instant(binary.BigEndian.Uint32(rest[1:])) * clock.Instant(ReadUnit.Microseconds())
		rest = rest[positionRead:]
	}
	if len(rest) >= positionMoved && rest[0] == movedMark {
		p.Moved = clock.Instant(binary.BigEndian.Uint64(rest[1:]))
		rest = rest[positionMoved:]
	}
	if len(rest) >= positionTitle && (rest[0] == titleMark || rest[0] == titleKeyMark) {
		n := int(binary.BigEndian.Uint16(rest[1:]))
		if n > len(rest)-positionTitle {
			return Position{}, false
		}
		if title := string(rest[positionTitle : positionTitle+n]); rest[0] == titleMark {
			p.Title, p.TitleKey = title, collation.Of(title)
		} else {
			p.TitleKey = collation.Key(title)
		}
	}
	return p, true
}

// Binding returns the authenticated data that a cursor is bound to. The length before the
// owner separates it from the sealed text.
func Binding(kind Kind, class Class, owner string) []byte {
	b := make([]byte, 0, 4+len(owner))
	b = append(b, cursorVersion, byte(kind), byte(class), byte(len(owner)))
	return append(b, owner...)
}

// cursorKeys is the setting in which a store keeps the key ring.
const cursorKeys = "cursor-keys"

// The key ring is a format version, then keys, each with an id, an encryption key and a
// nonce key. New cursors are sealed with the first key; all keys open cursors.
const (
	ringVersion = 1
	ringSecret  = 32
	ringKey     = 1 + 2*ringSecret
)

// Sealer seals and opens cursors with keys from the store, so that a cursor is valid at
// every gateway and after a restart.
type Sealer struct {
	keys []*cursorKey
}

type cursorKey struct {
	id          byte
	aead        cipher.AEAD
	nonces      []byte    // the second key
	sealBuffers sync.Pool // of *sealBuffer
}

// sealBuffer holds reusable buffers for sealing: a page seals twenty cursors.
type sealBuffer struct{ whole, bytes []byte }

// NewSealer reads the key ring of the store, after storing a new one if there is none.
func NewSealer(ctx context.Context, store commit.RegisterStore, rt sched.Runtime) (*Sealer, error) {
	ring := make([]byte, 1+ringKey)
	rt.Random(ring)
	ring[0], ring[1] = ringVersion, 1
	stored, err := commit.PutSettingIfAbsent(ctx, store, rt, cursorKeys, ring)
	if err != nil {
		return nil, fmt.Errorf("read cursor keys: %w", err)
	}
	return sealerOf(stored)
}

// sealerOf reads a key ring.
func sealerOf(ring []byte) (*Sealer, error) {
	if len(ring) < 1+ringKey || ring[0] != ringVersion || (len(ring)-1)%ringKey != 0 {
		return nil, fmt.Errorf("read cursor keys: the setting %q of the store is not a key ring of version %d", cursorKeys, ringVersion)
	}
	s := &Sealer{}
	for b := ring[1:]; len(b) > 0; b = b[ringKey:] {
		k, err := newCursorKey(b[0], b[1:1+ringSecret], b[1+ringSecret:ringKey])
		if err != nil {
			return nil, fmt.Errorf("read cursor keys: %w", err)
		}
		if s.key(k.id) != nil {
			return nil, fmt.Errorf("read cursor keys: two keys have the id %d", k.id)
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

func newCursorKey(id byte, seal, nonce []byte) (*cursorKey, error) {
	block, err := aes.NewCipher(seal)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	k := &cursorKey{id: id, aead: aead, nonces: append([]byte(nil), nonce...)}
	k.sealBuffers.New = func() any { return new(sealBuffer) }
	return k, nil
}

func (s *Sealer) key(id byte) *cursorKey {
	for _, k := range s.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

// Seal returns the cursor of a position. binding is the result of Binding for its connection.
func (s *Sealer) Seal(binding []byte, p Position) string {
	var text [Usual]byte
	return string(s.AppendSeal(text[:0], binding, p))
}

// AppendSeal appends the text of Seal to b.
func (s *Sealer) AppendSeal(b, binding []byte, p Position) []byte {
	k := s.keys[0]
	w := k.sealBuffers.Get().(*sealBuffer)
	defer k.sealBuffers.Put(w)
	w.whole = p.append(append(append(w.whole[:0], k.nonces...), binding...))
	sum := sha256.Sum256(w.whole)
	w.bytes = append(w.bytes[:0], cursorVersion, k.id)
	w.bytes = append(w.bytes, sum[:cursorNonce]...)
	w.bytes = k.aead.Seal(w.bytes, w.bytes[cursorHead:], w.whole[len(k.nonces)+len(binding):], binding)
	return cursorText.AppendEncode(b, w.bytes)
}

// Open decodes a cursor for a page in the given order. It refuses a cursor with another binding.
func (s *Sealer) Open(binding []byte, order Order, cursor string) (Position, error) {
	p, err := s.OpenAny(binding, cursor)
	if err == nil && p.Order != order && (p.Order != AnyOrder || order > Descending) {
		return Position{}, badCursor(binding)
	}
	return p, err
}

// OpenAny is like Open, for a cursor of any order.
func (s *Sealer) OpenAny(binding []byte, cursor string) (Position, error) {
	if cursor == "" || len(cursor) > longestCursor {
		return Position{}, badCursor(binding)
	}
	b, err := cursorText.DecodeString(cursor)
	// The decoder ignores line breaks, so there would be several texts for one cursor.
	if err != nil || strings.ContainsAny(cursor, "\r\n") {
		return Position{}, badCursor(binding)
	}
	if len(b) < cursorHead+cursorNonce+cursorTag || b[0] != cursorVersion {
		return Position{}, badCursor(binding)
	}
	k := s.key(b[1])
	if k == nil {
		return Position{}, badCursor(binding)
	}
	sealed := b[cursorHead+cursorNonce:]
	plain, err := k.aead.Open(nil, b[cursorHead:cursorHead+cursorNonce], sealed, binding)
	if err != nil {
		return Position{}, badCursor(binding)
	}
	p, ok := readPosition(plain)
	if !ok {
		return Position{}, badCursor(binding)
	}
	return p, nil
}

// badCursor returns the same error for every invalid cursor of a kind of connection. It does not say
// what is wrong, because cursors are opaque.
func badCursor(binding []byte) *fault.Error {
	with := "with the same arguments and as a viewer who sees the same part of it"
	if Kind(binding[1]) == OfLibrary {
		with = "with the same orderBy and includeShared and as a viewer who may read the same part of the library"
	}
	return &fault.Error{
		Code:   fault.Invalid,
		Reason: fault.ReasonBadCursor,
		Msg: "this is not a cursor of this connection: pass a cursor back unchanged, to the connection it came from, " +
			with + "; or start without a cursor",
	}
}
