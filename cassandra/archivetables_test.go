package cassandra

import (
	"testing"

	"carrel/interchange/archive"
)

// Partitions with the same token are read from their first row. Cassandra refuses a comparison with
// null, which is how the driver sends a nil slice.
func TestArchiveTables_ReadPartitionsFromTheirFirstRow(t *testing.T) {
	for c := archive.ChapterSettings; c <= archive.ChapterBodies; c++ {
		table, err := archiveTableOf(c)
		if err != nil {
			t.Fatal(err)
		}
		if table.single {
			continue
		}
		args, err := table.row(nil)
		if err != nil || len(args) == 0 {
			t.Errorf("%s: %v, %v", c, args, err)
		}
		for _, arg := range args {
			if b, ok := arg.([]byte); ok && b == nil {
				t.Errorf("%s: a row is compared with null", c)
			}
		}
	}
}
