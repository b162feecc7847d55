package edge

import (
	"time"

	"carrel/core/cursor"
	"carrel/core/input"
)

// Limits are all limits of the edge. They keep one request from costing what
// a thousand would; a limit that is hit names itself in extensions.code.
type Limits struct {
	// BodyBytes of a request (PAYLOAD_TOO_LARGE). 1 MiB holds the largest text
	// of the contract, 512 KiB, with every character escaped to two.
	BodyBytes int
	// Values in a request (BAD_USER_INPUT): members and items at all depths. The
	// largest call of the contract, 100 representations, has some hundreds.
	Values int
	// QueryChars of a document (QUERY_TOO_LONG). The longest one that GraphiQL
	// and Relay send, the introspection query, has below 2,000.
	QueryChars int
	// Tokens of a document (TOKEN_LIMIT): what bounds the parser's work.
	Tokens int
	// Depth of an operation, the leaf counted (DEPTH_LIMIT). The deepest useful
	// path of the contract has 9: group, members, edges, node, library, edges,
	// node, createdBy, id.
	Depth int
	// IntrospectionDepth is that of __schema and __type: the introspection
	// query of graphql-js has 15, with types wrapped nine times.
	IntrospectionDepth int
	// Aliases of an operation, fragments counted each time they are spread
	// (ALIAS_LIMIT): what lets a request ask for one costly field many times.
	Aliases int
	// RootFields of a query, and RootMutations of a mutation (ROOT_FIELD_LIMIT).
	// Mutations run one after the other, so few fit into their deadline.
	RootFields, RootMutations int
	// Operations in a document (OPERATION_LIMIT).
	Operations int
	// Directives in a document (DIRECTIVE_LIMIT).
	Directives int
	// Repetitions of one response key in one selection set (DUPLICATE_LIMIT);
	// validation compares them pair by pair.
	Repetitions int
	// Overlap of selections from different fragments, in pairs of fields or of
	// fragments (DUPLICATE_LIMIT): 0.5 us to 2 us of validation and up to 200
	// bytes each, so that no document costs more than a few ms and 1 MB. Thirty
	// fragments that share three fields have 3,200.
	Overlap int
	// Cost of an operation (COST_LIMIT), see cost.go: a page of 100 with three
	// objects an entry has 400, four nested ones of 20 would have millions.
	Cost int
	// AnswerBytes is how long the data of an answer, or of an event, may be
	// (ANSWER_TOO_LARGE). A page of 100 with descriptions of 10,000 characters in
	// any language has at most 4 MiB.
	AnswerBytes int
	// AnswerMemory is what all answers hold together that are being built or not
	// sent yet, in bytes (UNAVAILABLE). The gateway sets it to a quarter of the
	// memory of its process.
	AnswerMemory int
	// PageSize is the most entries that a page may be asked for (BAD_USER_INPUT);
	// the very constant that the Service uses.
	PageSize int
	// IDs are the most ids or representations of one field (BAD_USER_INPUT), and
	// ShareTargets the principals that one mutation names (TOO_MANY), which the
	// Service holds. Both are at most what its batches take.
	IDs, ShareTargets int
	// Errors shown in one answer.
	Errors int
	// Concurrent is how many operations run at once; one more is UNAVAILABLE.
	// It is the journal's bound of undecided changes.
	Concurrent int
	// Query and Mutation are how long an operation may take (TIMEOUT). The write
	// protocol answers within 15 s by itself.
	Query, Mutation time.Duration
	// CachedDocuments and CachedBytes bound the document cache. An application
	// has tens of documents, or hundreds; the bytes are an estimate (document.go).
	CachedDocuments, CachedBytes int

	// PersistedDocuments and PersistedBytes bound what is kept of documents that
	// clients name by their digest: the texts alone, most below 1 KB.
	PersistedDocuments, PersistedBytes int

	// ViewerPoints and AddressPoints are what a signed-in viewer, and an address
	// without one, may spend in a minute (RATE_LIMITED); 0: as much as they like.
	// A page of 20 edges costs 4 to 9 points, a mutation 10 and more.
	ViewerPoints, AddressPoints int

	// Pastes are those that an address from which nobody has signed in may create in a
	// minute (RATE_LIMITED). They are counted where other rates are off, too.
	Pastes int

	// Streams are the event streams and sockets of the process (UNAVAILABLE),
	// some 30 KB each. StreamsPerViewer are those of one viewer, or of an address
	// from which nobody has signed in (RATE_LIMITED): twice the subscriptions, so
	// that each may have a connection of its own, and half of them be on their way
	// out. SocketOperations run at once over one socket (OPERATION_LIMIT).
	// Subscriptions are those of one viewer (RATE_LIMITED).
	Streams, StreamsPerViewer, SocketOperations, Subscriptions int
	// PendingSockets are the sockets of one address that have sent neither a
	// token nor a connection_init; one more closes the oldest. Clients initialise
	// a socket as soon as it is open, so few are ever in that state.
	PendingSockets int
	// SocketInit is how long a socket may take to say who it is. StreamWrite is
	// how long one message may take to be accepted by the client's side. Ping is
	// how often a stream is tried, so that dead ones go and proxies keep it.
	SocketInit, StreamWrite, Ping time.Duration

	// HeaderBytes of a request, and the times of its parts: see Server.
	HeaderBytes                         int
	ReadHeader, Read, Write, Idle, Stop time.Duration
}

// DefaultLimits are the limits of the API's documentation.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes:          1 << 20,
		Values:             10_000,
		QueryChars:         15_000,
		Tokens:             2_000,
		Depth:              12,
		IntrospectionDepth: 16,
		Aliases:            30,
		RootFields:         10,
		RootMutations:      5,
		Operations:         20,
		Directives:         20,
		Repetitions:        1_000,
		Overlap:            5_000,
		Cost:               5_000,
		AnswerBytes:        8 << 20,
		AnswerMemory:       256 << 20,
		PageSize:           cursor.MaxPageSize,
		IDs:                input.MaxList,
		ShareTargets:       input.MaxList,
		Errors:             10,
		Concurrent:         1_000,
		Query:              10 * time.Second,
		Mutation:           15 * time.Second,
		CachedDocuments:    1_000,
		CachedBytes:        32 << 20,
		PersistedDocuments: 10_000,
		PersistedBytes:     16 << 20,
		ViewerPoints:       30_000,
		AddressPoints:      10_000,
		Pastes:             10,
		Streams:            20_000,
		StreamsPerViewer:   100,
		SocketOperations:   20,
		PendingSockets:     20,
		Subscriptions:      50,
		SocketInit:         10 * time.Second,
		StreamWrite:        10 * time.Second,
		Ping:               20 * time.Second,
		HeaderBytes:        16 << 10,
		ReadHeader:         5 * time.Second,
		Read:               15 * time.Second,
		Write:              30 * time.Second,
		Idle:               60 * time.Second,
		Stop:               20 * time.Second,
	}
}
