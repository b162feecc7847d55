package demo

import "carrel/library"

// Viewer is somebody to ask as.
type Viewer struct {
	Name        string
	Description string
	Subject     string   // sub of the token; empty for the anonymous viewer
	Roles       []string // of the token
}

// Viewers are the ones that the demo data makes a difference for, in the order
// of a menu.
func Viewers() []Viewer {
	return []Viewer{
		{"Anonymous", "Not signed in: sees what is PUBLIC.", "", nil},
		{"Ann", "Manager: keeps the largest library; may change and share what she manages.", "u:demo:ann", nil},
		{"Ben", "Member of the library team, and through it of the groups it keeps: sees all of their libraries.", "u:demo:ben", nil},
		{"Cleo", "Viewer: signed in to tenant demo, but in no group with items; sees what is PUBLIC or LOGGEDIN.", "u:demo:cleo", nil},
		{"Dora", "Administrator of tenant demo: sees everything of it.", "u:demo:dora", []string{"admin"}},
		{"Zed", "Signed in to another tenant, acme: sees what is PUBLIC here, more at home.", "u:acme:zed", nil},
	}
}

// person is a user of the story.
type person struct {
	id, name, email string
	visibility      library.Visibility
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

// people are those of the story, and then their neighbours: nobody's keepers or
// viewers, but many enough that whoever types a letter finds several.
func people() []person {
	return append([]person{
		{ann, "Ann Archer", "ann@demo.example", library.Public},
		{ben, "Ben Baker", "ben@demo.example", library.LoggedIn},
		{cleo, "Cleo Carter", "cleo@demo.example", library.Public},
		{dora, "Dora Dean", "dora@demo.example", library.Private},
		{eli, "Eli Evans", "eli@demo.example", library.Public},
		{fay, "Fay Fisher", "fay@demo.example", library.LoggedIn},
		{zed, "Zed Zhou", "zed@acme.example", library.Public},
		{yara, "Yara Young", "yara@acme.example", library.LoggedIn},
	}, neighbours()...)
}

func neighbours() []person {
	return []person{
		{"u:demo:adele", "Adèle Anders", "adele@demo.example", library.Public},
		{"u:demo:andrea", "Andrea Bianchi", "andrea@demo.example", library.LoggedIn},
		{"u:demo:anton", "Anton Čapek", "anton@demo.example", library.Public},
		{"u:demo:beatriz", "Beatriz da Silva", "beatriz@demo.example", library.LoggedIn},
		{"u:demo:bjorn", "Björn Berg", "bjorn@demo.example", library.Public},
		{"u:demo:chen", "陈伟 Chen Wei", "chen@demo.example", library.Public},
		{"u:demo:dimitra", "Δήμητρα Dimou", "dimitra@demo.example", library.LoggedIn},
		{"u:demo:esther", "Esther Okafor", "esther@demo.example", library.Public},
		{"u:demo:farid", "Farid ben Salah", "farid@demo.example", library.LoggedIn},
		{"u:demo:grace", "Grace O'Neill", "grace@demo.example", library.Public},
		{"u:demo:hannah", "Hannah Straßer", "hannah@demo.example", library.LoggedIn},
		{"u:demo:ines", "Inês Archer-Santos", "ines@demo.example", library.Public},
		{"u:demo:jan", "Jan van den Berg", "jan@demo.example", library.LoggedIn},
		{"u:demo:kofi", "Kofi Mensah", "kofi@demo.example", library.Public},
		{"u:demo:lena", "Lena Baker", "lena@demo.example", library.Private},
		{"u:demo:maria", "Maria Ivanova", "maria@demo.example", library.LoggedIn},
		{"u:demo:noor", "Noor Hassan", "noor@demo.example", library.Public},
		{"u:demo:oskar", "Oskar Öberg", "oskar@demo.example", library.LoggedIn},
		{"u:demo:priya", "Priya Raman", "priya@demo.example", library.Public},
		{"u:demo:quentin", "Quentin Andrieux", "quentin@demo.example", library.LoggedIn},
		{"u:demo:ravi", "Ravi Anand", "ravi@demo.example", library.Public},
		{"u:demo:sofia", "Sofía Álvarez", "sofia@demo.example", library.LoggedIn},
		{"u:acme:anke", "Anke Vogel", "anke@acme.example", library.Public},
		{"u:acme:zora", "Zora Baker", "zora@acme.example", library.LoggedIn},
	}
}

const (
	everyone        = "g:demo:everyone"
	libraryTeam     = "g:demo:library-team"
	standardLibrary = "g:demo:standard-library"
	engineers       = "g:acme:engineers"
)

// keepers are the managers of the subject groups, in turn.
func keepers() []string { return []string{ann, eli, fay} }
