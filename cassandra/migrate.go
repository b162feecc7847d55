package cassandra

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
)

//go:embed schema/*.cql
var schemaFiles embed.FS

// migration is a numbered file of statements. Once released it never changes:
// its checksum is kept where it was carried out.
type migration struct {
	version    int
	name       string
	checksum   string
	statements []string
}

// migrations are the embedded files, in order, numbered from 1.
func migrations() ([]migration, error) {
	names, err := fs.Glob(schemaFiles, "schema/*.cql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	all := make([]migration, len(names))
	for i, name := range names {
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file := strings.TrimPrefix(name, "schema/")
		number, _, _ := strings.Cut(file, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("schema/%s: the number %04d is expected", file, i+1)
		}
		sum := sha256.Sum256(text)
		all[i] = migration{version: version, name: file, checksum: hex.EncodeToString(sum[:]), statements: statementsOf(string(text))}
	}
	return all, nil
}

// statementsOf takes a file apart. Its comments are whole lines, and no
// statement has a semicolon within.
func statementsOf(text string) []string {
	var code strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			code.WriteString(line)
		}
	}
	var all []string
	for stmt := range strings.SplitSeq(code.String(), ";") {
		if stmt = strings.TrimSpace(stmt); stmt != "" {
			all = append(all, stmt)
		}
	}
	return all
}

// A row for each version, and as version 0 the claim.
const (
	createVersions  = `CREATE TABLE IF NOT EXISTS schema_version (part tinyint, version int, name text, checksum text, applied timestamp, PRIMARY KEY ((part), version))`
	recordMigration = `INSERT INTO schema_version (part, version, name, checksum, applied) VALUES (0, ?, ?, ?, ?) IF NOT EXISTS`
	selectVersions  = `SELECT version, checksum FROM schema_version WHERE part = 0 AND version > 0`
)

// schemaTimeout is how long one statement of a migration may take: making a
// table has all nodes write to their disks.
const schemaTimeout = 30 * time.Second

// Migrate makes the keyspace, if it is missing, and brings its schema to this
// program's version. It may run beside gateways and beside itself, and may be
// repeated after whatever interrupted it. A keyspace that stands with another
// replication than the options name is an error, and is left as it is: to change
// it takes a repair by its operator. progress is told of each step; nil: nobody is.
func Migrate(ctx context.Context, o session.Options, progress func(step string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if err := o.Check(); err != nil {
		return err
	}
	o.Timeout = max(o.Timeout, schemaTimeout)
	all, err := migrations()
	if err != nil {
		return err
	}
	if err := session.MakeKeyspace(ctx, o, progress); err != nil {
		return err
	}
	connected, err := connectSoon(ctx, o)
	if err != nil {
		return err
	}
	defer connected.Close()
	s := newStore(connected)
	if err := s.session.Define(ctx, createVersions); err != nil {
		return err
	}
	claim, err := s.claim(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err = claim.migrate(ctx, m, progress); err != nil {
			break
		}
	}
	claim.release(context.WithoutCancel(ctx))
	return err
}

// connectTries is how often a migration tries to use a keyspace that was made a
// moment ago: somebody else may be making it, and no node may know it yet.
const connectTries = 10

// connectSoon is connect to a keyspace that was just made.
func connectSoon(ctx context.Context, o session.Options) (s *session.Session, err error) {
	for range connectTries {
		if s, err = session.Connect(ctx, &o, o.Keyspace); err == nil {
			return s, nil
		}
		if session.Pause(ctx, claimPause) != nil {
			break
		}
	}
	return nil, err
}

// migrate carries out one migration, unless that was done before.
func (c *schemaClaim) migrate(ctx context.Context, m migration, progress func(string)) error {
	done, err := c.s.versions(ctx, true)
	if err != nil {
		return err
	}
	if sum, known := done[m.version]; known {
		return m.compare(sum)
	}
	progress("schema " + m.name)
	for _, stmt := range m.statements {
		if err := c.renew(ctx); err != nil {
			return err
		}
		if err := c.s.session.Define(ctx, stmt); err != nil {
			return err
		}
	}
	_, _, err = c.s.session.DecideOne(ctx, "record a migration", recordMigration, m.version, m.name, m.checksum, c.s.now().Time())
	return err
}

// compare refuses a migration that is not the one that was carried out.
func (m *migration) compare(checksum string) error {
	if checksum != m.checksum {
		return session.OperatorError(nil, "the schema's migration %s is not the one of this program: their checksums differ", m.name)
	}
	return nil
}

// versions are the checksums of the migrations that were carried out; serial
// where one may be under way.
func (s *Store) versions(ctx context.Context, serial bool) (map[int]string, error) {
	done := make(map[int]string)
	var (
		version int
		sum     string
	)
	err := s.session.Read(ctx, session.Query{Operation: "read the schema's version", Stmt: selectVersions, Serial: serial}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&version, &sum) {
			return false
		}
		done[version] = sum
		return true
	})
	return done, err
}

const selectTables = `SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'schema_version'`

// checkCluster refuses a keyspace whose schema is older than this program, and
// accepts a newer one: changes of the schema only add.
func (s *Store) checkCluster(ctx context.Context, o *session.Options) error {
	centres, err := s.session.DataCentres(ctx, o)
	if err != nil {
		return err
	}
	s.vouching.apart = !o.Global && len(centres) > 1
	return s.checkSchema(ctx, o)
}

func (s *Store) checkSchema(ctx context.Context, o *session.Options) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	tables, err := s.session.ReadTexts(ctx, selectTables, o.Keyspace)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		return session.OperatorError(nil, "the keyspace %s has no schema: run carrel migrate", o.Keyspace)
	}
	done, err := s.versions(ctx, false)
	if err != nil {
		return err
	}
	for _, m := range all {
		sum, known := done[m.version]
		if !known {
			return session.OperatorError(nil, "the schema of %s is of version %d and this program needs %d: run carrel migrate", o.Keyspace, m.version-1, len(all))
		}
		if err := m.compare(sum); err != nil {
			return err
		}
	}
	return nil
}

// schemaCurrent tells whether the keyspace still has all migrations of this
// program, as it had when it was opened.
func (s *Store) schemaCurrent(ctx context.Context) (bool, error) {
	all, err := migrations()
	if err != nil {
		return false, err
	}
	done, err := s.versions(ctx, false)
	if err != nil {
		return false, err
	}
	for _, m := range all {
		if done[m.version] != m.checksum {
			return false, nil
		}
	}
	return true, nil
}
