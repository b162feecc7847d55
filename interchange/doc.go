// Package interchange imports and exports users, groups, contents with their members and texts, and
// pastes, as files in a JSON Lines format.
//
// It is responsible for the form of a line, for reporting a bad line with its number and the
// reason, and for the order and the concurrency of lines. It must not know the rules of the domain,
// such as the length of a title: the Target, which is exchange.Service, checks them. It writes to a
// store only through the Target.
//
// This is the format in short; docs/import.md describes it in full:
//
//	{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","email":"ann@demo.example","createdAt":"2026-11-01T08:00:00.000000Z"}
//	{"type":"group","id":"g:demo:crypto","displayName":"Crypto","visibility":"PUBLIC","createdAt":"...","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
//	{"type":"content","id":"c:demo:encoding-json","kind":"LINK","title":"encoding/json","description":"...","link":"https://...","url":"https://...","visibility":"PUBLIC",
//	 "createdAt":"...","createdBy":"u:demo:ann","lastModified":"...","version":3,"expiresAt":"...","members":[{"principalId":"g:demo:crypto","role":"VIEWER"}]}
//	{"type":"members","id":"g:demo:crypto","members":[{"principalId":"u:demo:ben","role":"MEMBER"}]}
//	{"type":"branch","contentId":"c:demo:notes","number":2,"copiedFrom":1,"createdAt":"...","createdBy":"u:demo:ann","current":true,"working":true}
//	{"type":"revision","contentId":"c:demo:notes","branch":1,"locale":"en","number":0,"title":"Notes","body":"...","author":"u:demo:ann","createdAt":"...","baseRevision":3,"suggestion":"...","current":true}
//	{"type":"suggestion","id":"...","contentId":"c:demo:notes","branch":1,"locale":"en","title":"Notes","body":"...","note":"...","author":"u:demo:ben","createdAt":"...","baseRevision":0,"state":"ACCEPTED","decidedBy":"u:demo:ann","revision":1}
//	{"type":"draft","contentId":"c:demo:notes","author":"u:demo:ann","branch":1,"locale":"en","title":"","body":"...","baseRevision":0,"version":3,"updatedAt":"..."}
//	{"type":"paste","id":"p:...","title":"Trace","body":"...","isPrivate":true,"author":"u:demo:ann","createdAt":"...","modifiedAt":"...","expiresAt":"...","version":2}
//
// A line is one object of at most MaxLine bytes of UTF-8. It is stored completely or not at all. It
// may refer only to objects in the store or in earlier lines. If an export is imported into an
// empty store, an export of that store has the same lines.
package interchange
