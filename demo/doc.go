// Package demo creates the data of `make run`: the packages of the standard
// library, as listed by the installed toolchain, as links in the libraries of
// groups by subject, and users of two tenants who each see a different part.
//
// The data has an example of every rule of access, and is the same for the same toolchain. The
// package must not know how the data gets into a store: it writes lines in the format of package
// interchange, and the ordinary import reads them.
//
// The users, in tenant demo unless another is given:
//
//   - ann manages the library team and the largest library, and with eli and fay
//     the subject groups;
//   - ben is a member of the library team, and through it of all its groups;
//   - cleo can only read PUBLIC and LOGGEDIN items and those shared with her,
//     which include one PRIVATE item;
//   - dora is the tenant's administrator;
//   - zed belongs to another tenant, acme, whose engineers have their own items;
//     his colleague yara is a member of demo's crypto group.
package demo
