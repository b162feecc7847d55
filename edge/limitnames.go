package edge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/core/cursor"
	"carrel/core/input"
)

// named returns the limits that an operator may set, by their names for --limit.
func (l *Limits) named() map[string]any {
	return map[string]any{
		"body": &l.BodyBytes, "values": &l.Values, "characters": &l.QueryChars, "tokens": &l.Tokens, "depth": &l.Depth,
		"introspection-depth": &l.IntrospectionDepth, "aliases": &l.Aliases, "directives": &l.Directives,
		"operations": &l.Operations, "root-fields": &l.RootFields, "root-mutations": &l.RootMutations,
		"repetitions": &l.Repetitions, "overlap": &l.Overlap, "cost": &l.Cost, "page-size": &l.PageSize, "answer-bytes": &l.AnswerBytes,
		"answer-memory": &l.AnswerMemory, "body-memory": &l.BodyMemory, "connections": &l.Connections, "ids": &l.IDs,
		"share-targets": &l.ShareTargets, "errors": &l.Errors, "concurrent": &l.Concurrent,
		"query-time": &l.Query, "mutation-time": &l.Mutation, "documents": &l.CachedDocuments, "document-bytes": &l.CachedBytes,
		"persisted": &l.PersistedDocuments, "persisted-bytes": &l.PersistedBytes,
		"streams": &l.Streams, "streams-per-viewer": &l.StreamsPerViewer, "socket-operations": &l.SocketOperations,
		"subscriptions": &l.Subscriptions,
		"header":        &l.HeaderBytes, "address-points": &l.AddressPoints, "pastes-per-minute": &l.Pastes,
		"confirmed-keys": &l.ConfirmedKeys, "read-header-time": &l.ReadHeader, "read-time": &l.Read, "write-time": &l.Write,
		"idle-time": &l.Idle, "stream-write-time": &l.StreamWrite, "socket-init-time": &l.SocketInit,
		"pending-sockets": &l.PendingSockets, "ping-time": &l.Ping,
	}
}

// within returns the range of a limit. A limit of the domain can only be lowered, and a page size
// not below the default page size.
func within(name string) (lowest, highest int) {
	switch name {
	case "page-size":
		return cursor.DefaultPageSize, cursor.MaxPageSize
	case "ids", "share-targets":
		return 1, input.MaxList
	}
	return 1, math.MaxInt
}

// Names returns the names that Set accepts, in order.
func (l *Limits) Names() []string { return slices.Sorted(maps.Keys(l.named())) }

// Set sets the limit with a name to value: a whole number, or a time such as 10s. No limit can be
// disabled.
func (l *Limits) Set(name, value string) error {
	switch limit := l.named()[name].(type) {
	case *int:
		n, err := strconv.Atoi(value)
		lowest, highest := within(name)
		switch {
		case err == nil && n >= lowest && n <= highest:
		case highest < math.MaxInt:
			return fmt.Errorf("%s takes a whole number from %d to %d", name, lowest, highest)
		default:
			return fmt.Errorf("%s takes a whole number from %d", name, lowest)
		}
		*limit = n
	case *time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s takes a time longer than 0, such as 10s", name)
		}
		*limit = d
	default:
		return fmt.Errorf("no limit is named %q; the limits are %s", name, strings.Join(l.Names(), ", "))
	}
	return nil
}
