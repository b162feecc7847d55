package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// errNotOurNode is returned by functions that need the files of the node.
var errNotOurNode = errors.New("only a node that the bench starts itself is measured: leave out CASSANDRA_HOSTS")

// A tableSize is the size of a table in the files of one node.
type tableSize struct {
	disk  int64 // all files
	data  int64 // rows, before compression
	index int64 // of rows in wide partitions
}

func (s tableSize) minus(r tableSize) tableSize {
	return tableSize{s.disk - r.disk, s.data - r.data, s.index - r.index}
}

// flushed waits until all rows of a table are in files, and returns their size. A table
// without rows has none.
func (o *options) flushed(ctx context.Context, keyspace, name string) (size tableSize, err error) {
	const steady = 4 // consecutive checks that find the same size
	for same := 0; same < steady; {
		if err := wait(ctx, time.Second); err != nil {
			return size, err
		}
		now, err := sizeOfTable(o.node.Dir(), keyspace, name)
		if err != nil {
			return size, err
		}
		if same++; now != size {
			size, same = now, 0
		}
	}
	return size, nil
}

// sizeOfTable adds up the files of a table of the first node. A file may disappear
// meanwhile.
func sizeOfTable(dir, keyspace, name string) (size tableSize, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "node1", "data", keyspace, name+"-*", "*.db"))
	if err != nil {
		return size, err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return size, err
		}
		size.disk += info.Size()
		switch {
		case strings.HasSuffix(file, "-Rows.db"):
			size.index += info.Size()
		case strings.HasSuffix(file, "-CompressionInfo.db"):
			content, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return size, err
			}
			n, err := uncompressed(content)
			if err != nil {
				return size, fmt.Errorf("%s: %w", filepath.Base(file), err)
			}
			size.data += n
		}
	}
	return size, nil
}

// uncompressed returns how many bytes of rows a table contains, from its
// CompressionInfo.db: the name of the compressor, its options, the length of a chunk, the
// maximum length of a compressed chunk, and the length of the data.
func uncompressed(b []byte) (int64, error) {
	errShort := errors.New("a file that ends too early")
	text := func() bool {
		if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
			return false
		}
		b = b[2+int(binary.BigEndian.Uint16(b)):]
		return true
	}
	if !text() || len(b) < 4 {
		return 0, errShort
	}
	options := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range 2 * int(min(options, 16)) {
		if !text() {
			return 0, errShort
		}
	}
	if len(b) < 4+4+8 {
		return 0, errShort
	}
	return int64(binary.BigEndian.Uint64(b[8:])), nil
}
