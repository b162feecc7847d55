package cassandratest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// classArchive returns a file with Cassandra's classes as this Java loads them. A node that reads
// them from there starts with two thirds of the CPU. The file is made once per machine, by a node
// that is started and ended for it.
func classArchive(ctx context.Context, java, lib string) (string, error) {
	java, err := filepath.EvalSymlinks(java)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(java)
	if err != nil {
		return "", err
	}
	// Another build of Java cannot read the file.
	archive := filepath.Join(lib, fmt.Sprintf("classes-%d.jsa", info.ModTime().Unix()))
	lock, err := os.Create(archive + ".lock")
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	if err := makeClassArchive(ctx, java, lib, archive); err != nil {
		return "", fmt.Errorf("making the archive of Cassandra's classes: %w", err)
	}
	return archive, nil
}

// makeClassArchive starts a node, uses it, and stops it. Java writes the archive when it ends.
func makeClassArchive(ctx context.Context, java, lib, archive string) (err error) {
	part := archive + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	c := new(Cluster)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.start(ctx, java, lib, []string{"0"}, settings{classes: "-XX:ArchiveClassesAtExit=" + part}); err != nil {
		return err
	}
	for _, stmt := range []string{
		"CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}",
		"CREATE TABLE k.t (id int PRIMARY KEY, v int)",
		"INSERT INTO k.t (id, v) VALUES (1, 1) IF NOT EXISTS",
		"SELECT v FROM k.t WHERE id = 1",
	} {
		if err := ask(ctx, c.Hosts[0], stmt, false); err != nil {
			return err
		}
	}
	if err := c.Shutdown(0); err != nil {
		return err
	}
	return os.Rename(part, archive)
}
