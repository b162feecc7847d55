package main

import (
	"os"
	"path/filepath"
	"testing"
)

// compressionInfo is a CompressionInfo.db with one option and 70,000 bytes of rows.
const compressionInfo = "\x00\x0dLZ4Compressor\x00\x00\x00\x01\x00\x03key\x00\x05value" +
	"\x00\x00\x40\x00\x7f\xff\xff\xff\x00\x00\x00\x00\x00\x01\x11\x70\x00\x00\x00\x05"

func TestUncompressed_ReadsLengthAndRefusesShortFiles(t *testing.T) {
	if n, err := uncompressed([]byte(compressionInfo)); err != nil || n != 70_000 {
		t.Errorf("got %d, %v; want 70,000", n, err)
	}
	for n := range len(compressionInfo) - 4 {
		if got, err := uncompressed([]byte(compressionInfo[:n])); err == nil {
			t.Errorf("the first %d bytes give %d without an error", n, got)
		}
	}
}

func TestSizeOfTable_CountsOnlyFilesOfTheTable(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"ks/content-1/da-1-bti-Data.db":              "0123456789",
		"ks/content-1/da-1-bti-Rows.db":              "01234",
		"ks/content-1/da-1-bti-CompressionInfo.db":   compressionInfo,
		"ks/content-1/da-2-bti-CompressionInfo.db":   compressionInfo,
		"ks/content-1/da-1-bti-TOC.txt":              "not counted",
		"ks/content_by_principal-2/da-1-bti-Data.db": "another table",
		"other/content-1/da-1-bti-Data.db":           "another keyspace",
	} {
		file := filepath.Join(dir, "node1", "data", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := sizeOfTable(dir, "ks", "content")
	want := tableSize{disk: 10 + 5 + 2*int64(len(compressionInfo)), data: 140_000, index: 5}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
