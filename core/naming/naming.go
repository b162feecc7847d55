// Package naming makes the names of things that were given none: "<host>/<n>",
// n from blocks of numbers that are reserved per host by compare-and-set, so
// that crashed and duplicate hosts never repeat one.
//
// It answers for the form of the names and for using each reserved number at
// most once. It must not know how blocks are stored, nor what is named.
package naming

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// DefaultBlockSize is how many numbers a process reserves at once. A crash
// wastes the rest of a block, so it is no larger than one compare-and-set every
// thousand creations needs it to be.
const DefaultBlockSize = 1000

// maxHostLength leaves room for "/" and 19 digits in a name of 128 characters,
// which is the longest the API contract allows.
const maxHostLength = 108

// BlockStore reserves blocks of numbers.
type BlockStore interface {
	// ReserveBlock reserves size numbers of host and returns the first of them,
	// which is at least 1. It must never give out a number of a host twice, to
	// whatever process and after whatever crash; a block whose reservation
	// failed or may have failed may be lost.
	ReserveBlock(ctx context.Context, host string, size int64) (first int64, err error)
}

// Names gives out names of one host. It is safe for concurrent use.
type Names struct {
	store BlockStore
	host  string
	size  int64

	mu     sync.Mutex
	blocks []block // with numbers left
}

// block is a run of numbers that nobody else will use.
type block struct{ next, end int64 } // end is not included

// New makes a source of names for host, which is brought into the form that
// names allow. size numbers are reserved at once.
func New(store BlockStore, host string, size int64) (*Names, error) {
	host = HostPart(host)
	if host == "" || len(host) > maxHostLength {
		return nil, fmt.Errorf("name source: a host id has 1 to %d characters, this one %d", maxHostLength, len(host))
	}
	if size < 1 {
		return nil, fmt.Errorf("name source: a block holds at least 1 number, not %d", size)
	}
	return &Names{store: store, host: host, size: size}, nil
}

// HostPart is host as it stands in names: lower-cased, and whatever is not
// a-z, 0-9, "." or "-" replaced by "-".
func HostPart(host string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, host)
}

// ContentName is "<host>/<n>", never given out twice.
func (n *Names) ContentName(ctx context.Context) (string, error) {
	number, ok := n.take()
	if !ok {
		// The lock is not held while the store works: of callers that find no
		// number left each reserves a block, and what they leave is used later.
		first, err := n.store.ReserveBlock(ctx, n.host, n.size)
		if err != nil {
			return "", fmt.Errorf("reserve a block of names: %w", err)
		}
		number = first
		n.keep(block{first + 1, first + n.size})
	}
	return n.host + "/" + strconv.FormatInt(number, 10), nil
}

// take uses up the next number, if one is left.
func (n *Names) take() (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.blocks) == 0 {
		return 0, false
	}
	b := &n.blocks[0]
	number := b.next
	b.next++
	if b.next == b.end {
		n.blocks = n.blocks[1:]
	}
	return number, true
}

// keep adds the rest of a block.
func (n *Names) keep(b block) {
	if b.next == b.end {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocks = append(n.blocks, b)
}
