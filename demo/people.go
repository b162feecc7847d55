package demo

import (
	"carrel/principal"
)

// Viewer is a demo viewer, as whom a developer can send requests.
type Viewer struct {
	Name        string
	Description string
	Subject     string   // sub of the token; empty for the anonymous viewer
	Roles       []string // of the token
}

// Viewers returns the demo viewers, who each see a different part of the data, in
// the order of a menu.
func Viewers() []Viewer {
	return []Viewer{
		{"Anonymous", "Not signed in: sees what is PUBLIC.", "", nil},
		{"Ann", "Manager of the largest library; may change and share the items that she manages.", "u:demo:ann", nil},
		{"Ben", "Member of the library team, and through it of the team's groups: sees all of their libraries.", "u:demo:ben", nil},
		{"Cleo", "Viewer: signed in to tenant demo; sees what is PUBLIC or LOGGEDIN, and one PRIVATE item that is shared with her.",
			"u:demo:cleo", nil},
		{"Dora", "Administrator of tenant demo: sees everything in it.", "u:demo:dora", []string{"admin"}},
		{"Zed", "Signed in to another tenant, acme: sees what is PUBLIC here, and more in acme.", "u:acme:zed", nil},
	}
}

// person is a user of the demo data.
type person struct {
	id, name, email string
	visibility      principal.Visibility
}

const (
	ann  = "u:demo:ann"
	ben  = "u:demo:ben"
	cleo = "u:demo:cleo"
	dora = "u:demo:dora"
	eli  = "u:demo:eli"
	fay  = "u:demo:fay"
	zed  = "u:acme:zed"
	yara = "u:acme:yara"
)

// people returns the demo viewers and then further users, enough that a search by one letter finds
// several.
func people() []person {
	return append([]person{
		{ann, "Ann Archer", "ann@demo.example", principal.Public},
		{ben, "Ben Baker", "ben@demo.example", principal.LoggedIn},
		{cleo, "Cleo Carter", "cleo@demo.example", principal.Public},
		{dora, "Dora Dean", "dora@demo.example", principal.Private},
		{eli, "Eli Evans", "eli@demo.example", principal.Public},
		{fay, "Fay Fisher", "fay@demo.example", principal.LoggedIn},
		{zed, "Zed Zhou", "zed@acme.example", principal.Public},
		{yara, "Yara Young", "yara@acme.example", principal.LoggedIn},
	}, neighbours()...)
}

func neighbours() []person {
	return []person{
		{"u:demo:adele", "Adèle Anders", "adele@demo.example", principal.Public},
		{"u:demo:andrea", "Andrea Bianchi", "andrea@demo.example", principal.LoggedIn},
		{"u:demo:anton", "Anton Čapek", "anton@demo.example", principal.Public},
		{"u:demo:beatriz", "Beatriz da Silva", "beatriz@demo.example", principal.LoggedIn},
		{"u:demo:bjorn", "Björn Berg", "bjorn@demo.example", principal.Public},
		{"u:demo:chen", "陈伟 Chen Wei", "chen@demo.example", principal.Public},
		{"u:demo:dimitra", "Δήμητρα Dimou", "dimitra@demo.example", principal.LoggedIn},
		{"u:demo:esther", "Esther Okafor", "esther@demo.example", principal.Public},
		{"u:demo:farid", "Farid ben Salah", "farid@demo.example", principal.LoggedIn},
		{"u:demo:grace", "Grace O'Neill", "grace@demo.example", principal.Public},
		{"u:demo:hannah", "Hannah Straßer", "hannah@demo.example", principal.LoggedIn},
		{"u:demo:ines", "Inês Archer-Santos", "ines@demo.example", principal.Public},
		{"u:demo:jan", "Jan van den Berg", "jan@demo.example", principal.LoggedIn},
		{"u:demo:kofi", "Kofi Mensah", "kofi@demo.example", principal.Public},
		{"u:demo:lena", "Lena Baker", "lena@demo.example", principal.Private},
		{"u:demo:maria", "Maria Ivanova", "maria@demo.example", principal.LoggedIn},
		{"u:demo:noor", "Noor Hassan", "noor@demo.example", principal.Public},
		{"u:demo:oskar", "Oskar Öberg", "oskar@demo.example", principal.LoggedIn},
		{"u:demo:priya", "Priya Raman", "priya@demo.example", principal.Public},
		{"u:demo:quentin", "Quentin Andrieux", "quentin@demo.example", principal.LoggedIn},
		{"u:demo:ravi", "Ravi Anand", "ravi@demo.example", principal.Public},
		{"u:demo:sofia", "Sofía Álvarez", "sofia@demo.example", principal.LoggedIn},
		{"u:acme:anke", "Anke Vogel", "anke@acme.example", principal.Public},
		{"u:acme:zora", "Zora Baker", "zora@acme.example", principal.LoggedIn},
	}
}

const (
	everyone        = "g:demo:everyone"
	libraryTeam     = "g:demo:library-team"
	standardLibrary = "g:demo:standard-library"
	engineers       = "g:acme:engineers"
)

// managers returns the managers of the subject groups.
func managers() []string { return []string{ann, eli, fay} }
