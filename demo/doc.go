// Package demo makes the data of `make run`: the packages of the standard
// library that the toolchain on this machine lists, as links in the libraries
// of groups by subject, with users of two tenants who each see another part.
//
// The data shows every rule of access, and is the same on every machine with the same
// toolchain. The package must not know how the data gets into a store: it writes lines of
// package interchange, and the ordinary import reads them.
//
// The people, in tenant demo unless said otherwise:
//
//   - ann manages the library team and the largest library, and with eli and fay
//     the subject groups;
//   - ben is a member of the library team, and through it of everything it keeps;
//   - cleo only reads: what is PUBLIC or LOGGEDIN, and what was shared with her,
//     one PRIVATE item among it;
//   - dora is the tenant's administrator;
//   - zed belongs to another tenant, acme, whose engineers keep items of their
//     own; his colleague yara is a member of demo's crypto group.
package demo
