// Package edge serves GraphQL over HTTP: it negotiates media types, reads requests and enforces
// their limits, refuses hostile ones before anything is executed, has the others executed, and decides
// which errors are shown.
//
// It is responsible for status codes, limits, the document cache and the codes in extensions.code.
// It knows nothing of resolvers, of how a token is verified, or of the store.
//
// A request passes Handler (handler.go) -> negotiation (negotiate.go) -> rate limits (rates.go) ->
// members (body.go, get.go) -> text, if it is persisted (persisted.go) -> document, from the cache
// or compiled (document.go, shape.go) -> variables (variables.go) -> cost (cost.go) -> execution
// (operation.go) -> presenter (presenter.go) -> answer (answer.go, events.go). Messages of sockets
// (socket.go) enter at the members.
package edge
