// Package naming generates names "<host>/<n>" for things without a name. n comes from a block of
// numbers that a process reserves for its host by compare-and-set, so no name is repeated after a
// crash, or by two processes with the same host.
//
// It guarantees the form of the names, and that each reserved number is used at most once. It
// must not know how blocks are stored, or what is named.
package naming

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// DefaultBlockSize is how many numbers a process reserves at once. A crash wastes the rest of
// a block, so it is not larger than necessary: one compare-and-set for a thousand creations.
const DefaultBlockSize = 1000

// maxHostLength is the longest host that can be followed by "/" and 19 digits in a name of 128
// characters, the longest that the API contract allows.
const maxHostLength = 108

// BlockStore reserves blocks of numbers.
type BlockStore interface {
	// ReserveBlock reserves size numbers of host and returns the first of them, which is at
	// least 1. It must never return a number of a host twice, to any process and after any
	// crash. A block whose reservation failed or may have failed may be lost.
	ReserveBlock(ctx context.Context, host string, size int64) (first int64, err error)
}

// Names generates names of one host. It is safe for concurrent use.
type Names struct {
	store BlockStore
	host  string
	size  int64

	mu     sync.Mutex
	blocks []block // with unused numbers
}

// block is a range of numbers that nobody else will use.
type block struct{ next, end int64 } // end is not included

// New returns the Names of HostPart(host). It reserves size numbers at once.
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

// HostPart returns host as it appears in names: in lower case, with every character except
// a-z, 0-9, "." and "-" replaced by "-".
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

// ContentName returns "<host>/<n>", never the same twice.
func (n *Names) ContentName(ctx context.Context) (string, error) {
	number, ok := n.take()
	if !ok {
		// The lock is not held during the call: each of several callers that find no number
		// reserves a block, and unused numbers are used later.
		first, err := n.store.ReserveBlock(ctx, n.host, n.size)
		if err != nil {
			return "", fmt.Errorf("reserve a block of names: %w", err)
		}
		number = first
		n.keep(block{first + 1, first + n.size})
	}
	return n.host + "/" + strconv.FormatInt(number, 10), nil
}

// take returns the next unused number, if there is one.
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

// keep adds the unused rest of a block.
func (n *Names) keep(b block) {
	if b.next == b.end {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocks = append(n.blocks, b)
}
