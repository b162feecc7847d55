package domaintest

import "carrel/principal"

// As returns a viewer for one request of a user.
func As(user string) *principal.Viewer { return &principal.Viewer{User: principal.ID(user)} }

// Admin is As with the role of a tenant administrator.
func Admin(user string) *principal.Viewer {
	return &principal.Viewer{User: principal.ID(user), Admin: true}
}

// Global is As with the role of a global administrator.
func Global(user string) *principal.Viewer {
	return &principal.Viewer{User: principal.ID(user), GlobalAdmin: true}
}

// Anonymous returns a viewer who is not signed in.
func Anonymous() *principal.Viewer { return &principal.Viewer{} }

// Ann returns a user of tenant acme.
func Ann() *principal.Viewer { return &principal.Viewer{User: "u:acme:ann"} }

// Bob returns another user of tenant acme.
func Bob() *principal.Viewer { return &principal.Viewer{User: "u:acme:bob"} }

// Eve returns a user of tenant other.
func Eve() *principal.Viewer { return &principal.Viewer{User: "u:other:eve"} }

// Root returns an administrator of tenant acme.
func Root() *principal.Viewer { return &principal.Viewer{User: "u:acme:root", Admin: true} }

// OtherRoot returns an administrator of tenant other.
func OtherRoot() *principal.Viewer { return &principal.Viewer{User: "u:other:root", Admin: true} }

// Globe returns a global administrator of tenant third.
func Globe() *principal.Viewer { return &principal.Viewer{User: "u:third:globe", GlobalAdmin: true} }
