// Package interchange reads and writes the JSON Lines format in which users,
// groups, contents, their members, their texts, and pastes come into a store and out of it,
// and imports and exports files of it.
//
// It answers for the shape of a line, for the number and the reason that a bad
// line is reported with, for the order in which lines take effect, and for the
// pace. It must not know the rules of the domain (a title's length, who has to
// exist): those are the Target's, which is library.Service. It does not write
// to a store by another way than the Target.
//
// The format, in short; docs/import.md tells it in full:
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
// One line is one object, at most MaxLine bytes of UTF-8, and takes effect
// whole or not at all. A line may name only what stands in the store or in a
// line before it. Writing what was read gives the same lines back, so that an
// export in this format comes back equal.
package interchange
