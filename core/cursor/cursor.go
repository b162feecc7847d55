package cursor

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/sched"
)

// A cursor is a place in one connection. It is encrypted and authenticated, so
// that it tells a reader nothing of entries that are hidden from it and so
// that nobody can make one up:
//
//	base64url( version | key id | nonce (12) | AES-256-GCM(place) with its tag )
//
// What the cursor is bound to (kind of connection, its owner, class of viewer)
// is authenticated with it but not carried in it. The nonce is an HMAC of all
// that is sealed, under a second key: the same edge has the same cursor, and no
// nonce serves two different texts.
const (
	cursorVersion = 1
	cursorHead    = 2 // version and key id
	cursorNonce   = 12
	cursorTag     = 16
	// placeStep rounds the size of a sealed place up, so that the length of a
	// cursor does not give the length of a hidden item's id away. With it the
	// usual cursor has 78 bytes, 104 characters.
	placeStep = 48
	placeHead = 1 + 8 + 8 + 1 // order and flag, position, bound, length of the id
	placeRead = 1 + 4         // a mark, and the minute in which it was read
	// longestID is that of ids of every kind; with a name before it, by which a list
	// is in order, it is the longest text of a place.
	longestID     = 2 + id.MaxTenantLength + 1 + id.MaxNameLength
	longestPlace  = (placeHead + LongestName + 1 + longestID + placeRead + placeStep - 1) / placeStep * placeStep
	longestCursor = (cursorHead + cursorNonce + longestPlace + cursorTag + 2) / 3 * 4
)

// Usual is how many bytes the text of a usual cursor has.
const Usual = 104

// LongestName is how many bytes of a name a place holds at most.
const LongestName = 80

// cursorText is strict: of the spellings that decode to the same bytes it
// takes one.
var cursorText = base64.RawURLEncoding.Strict()

// Kind is the kind of connection that a cursor belongs to.
type Kind byte

// The kinds of connections. Cursors that exist are bound to them, so a number is
// never used for anything else.
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

const (
	AnyOrder   Order = 0 // of mutations and events: works in either
	Ascending  Order = 1
	Descending Order = 2

	placeBounded = 0x80 // flag beside the order

	// readMark stands behind the id where the time of reading follows: what was
	// sealed before there was one has nothing but padding there, and programs of
	// that time take what follows for padding.
	readMark = 1
)

// Class is the class of viewers that share a cursor, as the domain numbers
// them. Connections without classes have 0.
type Class byte

// Place is what a cursor holds. A connection in order of time has the position and
// the id of an edge; others leave Position 0, and have in ID whatever they are in
// order of.
type Place struct {
	Order    Order
	Position clock.Instant
	ID       string
	// Bound is the newest position that the walk goes to; nothing where it is
	// not Bounded.
	Bounded bool
	Bound   clock.Instant
	// Read is when the place was read, cut to readUnit; 0: not told. It is what
	// a follower resumes from, and nothing to a page.
	Read clock.Instant
}

// ReadUnit is how exactly a cursor tells when it was read. Within it the same
// edge has the same cursor.
const ReadUnit = time.Minute

// append appends the place, padded to whole steps.
func (p *Place) append(b []byte) []byte {
	start := len(b)
	first := byte(p.Order)
	if p.Bounded {
		first |= placeBounded
	}
	b = append(b, first)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Position))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Bound))
	b = append(b, byte(len(p.ID)))
	b = append(b, p.ID...)
	if p.Read != 0 {
		b = append(b, readMark)
		b = binary.BigEndian.AppendUint32(b, uint32(p.Read/clock.Instant(ReadUnit.Microseconds())))
	}
	if over := (len(b) - start) % placeStep; over > 0 {
		var padding [placeStep]byte
		b = append(b, padding[over:]...)
	}
	return b
}

// readPlace is the reverse of append; ok is false for what append does not make.
func readPlace(b []byte) (p Place, ok bool) {
	if len(b) < placeHead {
		return p, false
	}
	p.Bounded = b[0]&placeBounded != 0
	p.Order = Order(b[0] &^ placeBounded)
	p.Position = clock.Instant(binary.BigEndian.Uint64(b[1:]))
	p.Bound = clock.Instant(binary.BigEndian.Uint64(b[9:]))
	n := int(b[17])
	if p.Order > Descending || len(b) < placeHead+n {
		return Place{}, false
	}
	p.ID = string(b[placeHead : placeHead+n])
	if rest := b[placeHead+n:]; len(rest) >= placeRead && rest[0] == readMark {
		p.Read = clock.Instant(binary.BigEndian.Uint32(rest[1:])) * clock.Instant(ReadUnit.Microseconds())
	}
	return p, true
}

// Binding is what a cursor is bound to, as authenticated data. The length
// before the owner keeps it apart from what is sealed.
func Binding(kind Kind, class Class, owner string) []byte {
	b := make([]byte, 0, 4+len(owner))
	b = append(b, cursorVersion, byte(kind), byte(class), byte(len(owner)))
	return append(b, owner...)
}

// cursorKeys is the setting under which a store keeps the key ring.
const cursorKeys = "cursor-keys"

// The key ring: a format version, then keys of an id, an encryption key and a
// key of the nonces. New cursors are sealed with the first; all of them open.
const (
	ringVersion = 1
	ringSecret  = 32
	ringKey     = 1 + 2*ringSecret
)

// Sealer makes and reads cursors with the keys of the store, so that every
// gateway and every restart knows them.
type Sealer struct {
	keys []*cursorKey
}

type cursorKey struct {
	id          byte
	aead        cipher.AEAD
	sealBuffers sync.Pool // of *sealBuffer; its mac carries the key
}

// sealBuffer is what sealing needs besides the key, reused: a page seals twenty.
type sealBuffer struct {
	mac               hash.Hash
	whole, sum, bytes []byte
}

// NewSealer reads the key ring of the store, and stores a first one if there is none.
func NewSealer(ctx context.Context, store commit.RegisterStore, rt sched.Runtime) (*Sealer, error) {
	ring := make([]byte, 1+ringKey)
	rt.Random(ring)
	ring[0], ring[1] = ringVersion, 1
	standing, err := commit.PutSettingIfAbsent(ctx, store, rt, cursorKeys, ring)
	if err != nil {
		return nil, fmt.Errorf("read cursor keys: %w", err)
	}
	return sealerOf(standing)
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
	k := &cursorKey{id: id, aead: aead}
	secret := append([]byte(nil), nonce...)
	k.sealBuffers.New = func() any { return &sealBuffer{mac: hmac.New(sha256.New, secret)} }
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

// Seal is the cursor of a place in the connection that bound names.
func (s *Sealer) Seal(bound []byte, p Place) string {
	var text [Usual]byte
	return string(s.AppendSeal(text[:0], bound, p))
}

// AppendSeal appends the text of Seal to b.
func (s *Sealer) AppendSeal(b, bound []byte, p Place) []byte {
	k := s.keys[0]
	w := k.sealBuffers.Get().(*sealBuffer)
	defer k.sealBuffers.Put(w)
	w.whole = p.append(append(w.whole[:0], bound...))
	w.mac.Reset()
	w.mac.Write(w.whole)
	w.sum = w.mac.Sum(w.sum[:0])
	nonce := w.sum[:cursorNonce]
	w.bytes = append(w.bytes[:0], cursorVersion, k.id)
	w.bytes = append(w.bytes, nonce...)
	w.bytes = k.aead.Seal(w.bytes, nonce, w.whole[len(bound):], bound)
	return cursorText.AppendEncode(b, w.bytes)
}

// Open reads a cursor of the connection that bound names, for a page in order.
func (s *Sealer) Open(bound []byte, order Order, cursor string) (Place, error) {
	p, err := s.OpenAny(bound, cursor)
	if err == nil && p.Order != AnyOrder && p.Order != order {
		return Place{}, badCursor()
	}
	return p, err
}

// OpenAny reads a cursor of the connection that bound names, in whatever order.
func (s *Sealer) OpenAny(bound []byte, cursor string) (Place, error) {
	if cursor == "" || len(cursor) > longestCursor {
		return Place{}, badCursor()
	}
	b, err := cursorText.DecodeString(cursor)
	// The decoder skips line breaks, which would be one more spelling.
	if err != nil || strings.ContainsAny(cursor, "\r\n") {
		return Place{}, badCursor()
	}
	if len(b) < cursorHead+cursorNonce+cursorTag || b[0] != cursorVersion {
		return Place{}, badCursor()
	}
	k := s.key(b[1])
	if k == nil {
		return Place{}, badCursor()
	}
	sealed := b[cursorHead+cursorNonce:]
	plain, err := k.aead.Open(nil, b[cursorHead:cursorHead+cursorNonce], sealed, bound)
	if err != nil {
		return Place{}, badCursor()
	}
	p, ok := readPlace(plain)
	if !ok {
		return Place{}, badCursor()
	}
	return p, nil
}

// badCursor says the same of every cursor that does not fit: what is wrong
// with it is not told, because a cursor is nothing to be taken apart.
func badCursor() *fault.Error {
	return &fault.Error{
		Code:   fault.Invalid,
		Reason: fault.ReasonBadCursor,
		Msg: "this is no cursor of this connection: pass a cursor back unchanged, to the connection it came from, " +
			"with the same orderBy and includeShared and as a viewer who may read the same part of the library; or start without a cursor",
	}
}
