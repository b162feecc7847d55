// Package edge is where HTTP becomes GraphQL: it negotiates media types, reads
// and bounds requests, refuses hostile ones before anything is executed, runs
// the others through gqlgen's executor, and decides which errors are shown.
//
// It answers for status codes, limits, the document cache and the codes in
// extensions.code. It must not know what a resolver does, how a token is
// verified, or that there is a store.
//
// A request's way: Handler (handler.go) -> negotiation (negotiate.go) -> who
// pays (rates.go) -> members (body.go, get.go) -> text, where it is persisted
// (persisted.go) -> document, from the cache or compiled (document.go,
// shape.go) -> variables (variables.go) -> cost (cost.go) -> executor
// (operation.go) -> presenter (presenter.go) -> answer (answer.go, events.go).
// Sockets (socket.go) join it at the members.
package edge
