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

	"carrel/cassandra/session"
)

//go:embed schema/*.cql
var schemaFiles embed.FS

// migration is a numbered file of statements. It never changes after its release: each keyspace
// stores the checksums of its migrations.
type migration struct {
	version    int
	name       string
	checksum   string
	statements []string
}

// schema returns the migrations that make this program's schema.
func schema() ([]migration, error) { return migrationsOf(schemaFiles) }

// migrationsOf returns the migrations in the folder schema of files, in order, numbered from 1.
func migrationsOf(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "schema/*.cql")
	if err != nil {
		return nil, err
	}
	all := make([]migration, len(names))
	for i, name := range names { // fs.Glob sorts them
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		file := strings.TrimPrefix(name, "schema/")
		number, _, _ := strings.Cut(file, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("schema/%s: its number must be %04d", file, i+1)
		}
		sum := sha256.Sum256(text)
		all[i] = migration{version: version, name: file, checksum: hex.EncodeToString(sum[:]), statements: statementsOf(string(text))}
	}
	return all, nil
}

// statementsOf splits a file into statements. Comments are whole lines, and no statement contains a
// semicolon.
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

// One row for each version. Version 0 is the claim.
const (
	createVersions  = `CREATE TABLE IF NOT EXISTS schema_version (part tinyint, version int, name text, checksum text, applied timestamp, PRIMARY KEY ((part), version))`
	recordMigration = `INSERT INTO schema_version (part, version, name, checksum, applied) VALUES (0, ?, ?, ?, ?) IF NOT EXISTS`
	selectVersions  = `SELECT version, checksum FROM schema_version WHERE part = 0 AND version > 0`
)

// schemaTimeout limits one statement of a migration. All nodes write to disk when a table is
// created.
const schemaTimeout = 30 * time.Second

// Migrate creates the keyspace if it does not exist and brings its schema to this program's
// version. It may run at the same time as gateways and other migrations, and may be repeated after
// an interruption. If the keyspace has another replication than the options, it returns an error
// and changes nothing, because a change of the replication requires a repair by an operator. If
// progress is not nil, it is called with each step.
func Migrate(ctx context.Context, o session.Options, progress func(step string)) error {
	all, err := schema()
	if err != nil {
		return err
	}
	return migrate(ctx, o, all, progress)
}

// migrate is Migrate to the schema that the given migrations make.
func migrate(ctx context.Context, o session.Options, all []migration, progress func(step string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if err := o.Check(); err != nil {
		return err
	}
	o.Timeout = max(o.Timeout, schemaTimeout)
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
		if err = claim.apply(ctx, o.Keyspace, m, progress); err != nil {
			break
		}
	}
	claim.release(context.WithoutCancel(ctx))
	return err
}

// connectTries is how often a migration tries to use a keyspace that was just created: another
// migration may be creating it, and nodes may not know it yet.
const connectTries = 10

// connectSoon connects to a keyspace that was just created.
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

// apply applies one migration unless it was applied before.
func (c *schemaClaim) apply(ctx context.Context, keyspace string, m migration, progress func(string)) error {
	done, err := c.s.versions(ctx, true)
	if err != nil {
		return err
	}
	if sum, known := done[m.version]; known {
		return m.compare(keyspace, sum)
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

// compare returns an error if the migration differs from the one of its number that was applied.
func (m *migration) compare(keyspace, checksum string) error {
	if checksum != m.checksum {
		return session.OperatorError(nil,
			"the schema of %s is not this program's (%s differs): export it with the program that made it, and import that into a new keyspace",
			keyspace, m.name)
	}
	return nil
}

// versions returns the checksums of the applied migrations. serial is needed if one may be in
// progress.
func (s *Store) versions(ctx context.Context, serial bool) (map[int]string, error) {
	done := make(map[int]string)
	var (
		version int
		sum     string
	)
	q := session.Query{Operation: "read the schema's version", Stmt: selectVersions, Serial: serial}
	err := s.session.Read(ctx, q, []any{&version, &sum}, func() error {
		done[version] = sum
		return nil
	})
	return done, err
}

const selectTables = `SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'schema_version'`

// checkCluster finds out whether several data centres decide independently, and checks the schema.
func (s *Store) checkCluster(ctx context.Context, o *session.Options) error {
	centres, err := s.session.DataCentres(ctx, o)
	if err != nil {
		return err
	}
	s.apart = !o.Global && len(centres) > 1
	all, err := schema()
	if err != nil {
		return err
	}
	return s.checkSchema(ctx, o.Keyspace, all)
}

// checkSchema refuses a keyspace whose schema is older than that of the given migrations, or of
// other ones. It accepts a newer one, because migrations only add.
func (s *Store) checkSchema(ctx context.Context, keyspace string, all []migration) error {
	tables, err := s.session.ReadTexts(ctx, selectTables, keyspace)
	if err != nil {
		return err
	}
	var done map[int]string
	if len(tables) > 0 {
		if done, err = s.versions(ctx, false); err != nil {
			return err
		}
	}
	for _, m := range all {
		sum, known := done[m.version]
		switch {
		case len(done) == 0:
			return session.OperatorError(nil, "the keyspace %s has no schema: run carrel migrate", keyspace)
		case !known:
			return session.OperatorError(nil, "the schema of %s is of version %d and this program needs %d: run carrel migrate",
				keyspace, m.version-1, len(all))
		}
		if err := m.compare(keyspace, sum); err != nil {
			return err
		}
	}
	return nil
}

// schemaCurrent reports whether the keyspace still has all migrations of this program, as it had
// when it was opened.
func (s *Store) schemaCurrent(ctx context.Context) (bool, error) {
	all, err := schema()
	if err != nil {
		return false, err
	}
	done, err := s.versions(ctx, false)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(all, func(m migration) bool { return done[m.version] != m.checksum }), nil
}
