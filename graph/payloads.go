package graph

import (
	"carrel/lease"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// Payloads of mutations. If UserErrors is not empty, all other fields but CollidingKeys and
// ClientMutationID are nil.

// CreateUserPayload is the result of createUser.
type CreateUserPayload struct {
	User             *principal.User
	UserErrors       []UserError
	ClientMutationID *string
}

// UpdateUserPayload is the result of updateUser.
type UpdateUserPayload struct {
	User             *principal.User
	UserErrors       []UserError
	ClientMutationID *string
}

// CreateGroupPayload is the result of createGroup.
type CreateGroupPayload struct {
	Group            *principal.Group
	UserErrors       []UserError
	ClientMutationID *string
}

// UpdateGroupPayload is the result of updateGroup.
type UpdateGroupPayload struct {
	Group            *principal.Group
	UserErrors       []UserError
	ClientMutationID *string
}

// SetGroupMembersPayload is the result of setGroupMembers.
type SetGroupMembersPayload struct {
	Group            *principal.Group
	UserErrors       []UserError
	ClientMutationID *string
}

// DeleteUserPayload is the result of deleteUser.
type DeleteUserPayload struct {
	DeletedUserID    *principal.ID
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// DeleteGroupPayload is the result of deleteGroup.
type DeleteGroupPayload struct {
	DeletedGroupID   *principal.ID
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// CreateContentPayload is the result of createContent.
type CreateContentPayload struct {
	Content          *library.Content
	LibraryEdge      *library.LibraryEdge
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// UpdateContentPayload is the result of updateContent.
type UpdateContentPayload struct {
	Content          *library.Content
	LibraryEdge      *library.LibraryEdge
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// ShareContentPayload is the result of shareContent.
type ShareContentPayload struct {
	Content          *library.Content
	Edges            []*library.LibraryEdge
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// SetContentMembersPayload is the result of setContentMembers.
type SetContentMembersPayload struct {
	Content          *library.Content
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// RemoveFromLibraryPayload is the result of removeFromLibrary.
type RemoveFromLibraryPayload struct {
	RemovedContentID *library.ContentID
	Principal        principal.Principal
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// DeleteContentPayload is the result of deleteContent.
type DeleteContentPayload struct {
	DeletedContentID *library.ContentID
	FanOut           *library.FanOut
	UserErrors       []UserError
	ClientMutationID *string
}

// MoveContentPayload is the result of moveContent.
type MoveContentPayload struct {
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
}

// AcquireLeasePayload is the result of acquireLease.
type AcquireLeasePayload struct {
	Lease            *lease.Lease
	Token            *string
	CollidingKeys    []string
	UserErrors       []UserError
	ClientMutationID *string
}

// ConfirmLeasePayload is the result of confirmLease.
type ConfirmLeasePayload struct {
	Lease            *lease.Lease
	UserErrors       []UserError
	ClientMutationID *string
}

// CancelLeasePayload is the result of cancelLease.
type CancelLeasePayload struct {
	Lease            *lease.Lease
	UserErrors       []UserError
	ClientMutationID *string
}

// CreatePastePayload is the result of createPaste.
type CreatePastePayload struct {
	Paste            *paste.Paste
	Secret           *string
	UserErrors       []UserError
	ClientMutationID *string
}

// UpdatePastePayload is the result of updatePaste.
type UpdatePastePayload struct {
	Paste            *paste.Paste
	UserErrors       []UserError
	ClientMutationID *string
}

// DeletePastePayload is the result of deletePaste.
type DeletePastePayload struct {
	DeletedPasteID   *paste.ID
	UserErrors       []UserError
	ClientMutationID *string
}

// RebuildLibraryPayload is the result of rebuildLibrary.
type RebuildLibraryPayload struct {
	Principal        principal.Principal
	Restored         *int
	Removed          *int
	UserErrors       []UserError
	ClientMutationID *string
}

// Limits are the limits in force. The edge enforces them, and the query limits returns them.
type Limits struct {
	DefaultPageSize        int  // edges
	MaxPageSize            int  // edges
	MaxDepth               int  // levels of fields, including the leaf
	MaxCost                int  // cost of an operation; a query takes a tenth of it in points
	MaxShareTargets        int  // principals
	MaxBodyBytes           int  // bytes of a request
	MaxAnswerBytes         int  // bytes of the data of an answer
	MaxValues              int  // members and items of a request
	MaxHeaderBytes         int  // bytes of the header of a request
	MaxHeaderSeconds       int  // of the header of a request
	MaxReadSeconds         int  // of a request
	MaxWriteSeconds        int  // of an answer
	MaxIdleSeconds         int  // of a connection
	MaxQueryCharacters     int  // characters of a document
	MaxTokens              int  // tokens of a document
	MaxAliases             int  // in an operation, including those of fragments
	MaxDirectives          int  // in a document
	MaxOperations          int  // in a document
	MaxRootFields          int  // of a query
	MaxRootMutations       int  // of a mutation
	MaxRepetitions         int  // of a field in a selection set
	MaxOverlap             int  // pairs of fields or fragments
	MaxIntrospectionDepth  int  // levels below __schema
	MaxIds                 int  // of one field
	MaxErrors              int  // in an answer
	MaxQuerySeconds        int  // of a query
	MaxMutationSeconds     int  // of a mutation
	MaxSubscriptions       int  // of a viewer
	MaxSocketOperations    int  // concurrent, over one websocket
	MaxStreams             int  // event streams and websockets of a viewer, or of an address
	MaxStreamWriteSeconds  int  // of one event or message
	MaxPendingSockets      int  // websockets of an address
	MaxSocketInitSeconds   int  // of a websocket
	PingSeconds            int  // interval of the pings of a stream
	DocumentCacheBytes     int  // estimated bytes of memory
	ViewerPointsPerMinute  *int // nil: unlimited
	AddressPointsPerMinute *int // the same for an address without a viewer
	PastesPerMinute        int  // of an address without a viewer
	MaxConfirmedKeys       int  // of leases of one user
}
