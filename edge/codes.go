package edge

import (
	"net/http"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// The codes in extensions.code are the contract with clients.
const (
	codeParseFailed         = "GRAPHQL_PARSE_FAILED"
	codeValidationFailed    = "GRAPHQL_VALIDATION_FAILED"
	codeOperationResolution = "OPERATION_RESOLUTION_FAILURE"
	codeBadRequest          = "BAD_REQUEST"
	codeBadUserInput        = "BAD_USER_INPUT"
	codeBadCursor           = "BAD_CURSOR"
	codeUnauthenticated     = "UNAUTHENTICATED"
	codeForbidden           = "FORBIDDEN"
	codeNotFound            = "NOT_FOUND"
	codeConflict            = "CONFLICT"
	codeContention          = "CONTENTION"
	codeOutcomeUnknown      = "OUTCOME_UNKNOWN"
	codeIdempotencyMismatch = "IDEMPOTENCY_MISMATCH"
	codeTimeout             = "TIMEOUT"
	codeUnavailable         = "UNAVAILABLE"
	codePayloadTooLarge     = "PAYLOAD_TOO_LARGE"
	codeMethodNotAllowed    = "METHOD_NOT_ALLOWED"
	codeNotAcceptable       = "NOT_ACCEPTABLE"
	codeUnsupportedMedia    = "UNSUPPORTED_MEDIA_TYPE"
	codeQueryTooLong        = "QUERY_TOO_LONG"
	codeOperationLimit      = "OPERATION_LIMIT"
	codeDuplicateLimit      = "DUPLICATE_LIMIT"
	codeTokenLimit          = "TOKEN_LIMIT"
	codeDepthLimit          = "DEPTH_LIMIT"
	codeAliasLimit          = "ALIAS_LIMIT"
	codeDirectiveLimit      = "DIRECTIVE_LIMIT"
	codeRootFieldLimit      = "ROOT_FIELD_LIMIT"
	codeCostLimit           = "COST_LIMIT"
	codeBatchNotSupported   = "BATCH_NOT_SUPPORTED"
	codeCSRFBlocked         = "CSRF_BLOCKED"
	codeIntrospection       = "INTROSPECTION_DISABLED"
	codeInternal            = "INTERNAL_SERVER_ERROR"
)

// codeOK is what observers are told of an answer without errors.
const codeOK = "OK"

// refusal is a request that is not executed: the errors to show and the status.
type refusal struct {
	// status 0 is that of a document that does not validate: it depends on the
	// media type of the answer.
	status int
	errs   gqlerror.List
	// challenge is the value of WWW-Authenticate, retryAfter that of
	// Retry-After in seconds; neither is sent when it is zero.
	challenge  string
	retryAfter int
}

// refuse makes a refusal with one error.
func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, errs: gqlerror.List{coded(code, message)}}
}

// refuseDocument makes a refusal of a document.
func refuseDocument(code, message string) *refusal { return refuse(0, code, message) }

// coded is an error with a code.
func coded(code, message string) *gqlerror.Error {
	return &gqlerror.Error{Message: message, Extensions: map[string]any{"code": code}}
}

// statusOf is the HTTP status of the refusal in an answer of media.
func (r *refusal) statusOf(media mediaType) int {
	switch {
	case r.status != 0:
		return r.status
	case media == mediaGraphQL:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
