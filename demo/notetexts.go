package demo

import "carrel/principal"

// demoNotes are the notes of tenant demo.
func demoNotes() []note {
	return []note{
		{
			name: "welcome", visibility: principal.Public,
			revisions: []revision{
				{"en", ann, "Welcome to the library", welcomeFirst, false},
				{"de", fay, "Willkommen in der Bibliothek", welcomeGerman, false},
				{"en", ben, "Welcome to the library", welcomeSecond, false},
				{"fr", eli, "Bienvenue dans la bibliothèque", welcomeFrench, false},
			},
			suggestion: &suggestion{"en", cleo, "Welcome to the library", welcomeSuggested,
				"It took me a while to find the private items. One sentence about sharing would have helped."},
		},
		{
			name: "review-checklist", visibility: principal.LoggedIn,
			revisions: []revision{
				{"en", ben, "How we review a package", reviewFirst, false},
				{"en", ann, "How we review a package", reviewSecond, true},
			},
			draft: &draft{"en", ben, "How we review a package", reviewDraft},
		},
		{
			name: "style-of-examples", visibility: principal.Public,
			revisions: []revision{
				{"en", eli, "The style of examples", styleFirst, false},
				{"de", fay, "Der Stil von Beispielen", styleGerman, false},
			},
			draft: &draft{"en", ann, "The style of examples", styleDraft},
		},
	}
}

const welcomeFirst = `# Welcome

This library lists the packages of the Go standard library. The newest change comes first.
`

const welcomeSecond = `# Welcome

This library lists the packages of the **Go standard library**. Each item links to its documentation, and the item that was changed last comes first.

## What you can do here

* Open an item to see who has it, and who may edit it.
* Share an item with a person or a group: it appears in their library.
* Suggest a better text for a note like this one. Its editors decide.

| who you are | what you see |
|---|---|
| not signed in | what is public |
| signed in to this tenant | what is public or for signed-in users |
| a member of the item, or of a group that has it | that item too |
`

const welcomeSuggested = `# Welcome

This library lists the packages of the **Go standard library**. Each item links to its documentation, and the item that was changed last comes first.

## What you can do here

* Open an item to see who has it, and who may edit it.
* Share an item with a person or a group: it appears in their library. Only the people with whom a private item is shared can see it.
* Suggest a better text for a note like this one. Its editors decide.

| who you are | what you see |
|---|---|
| not signed in | what is public |
| signed in to this tenant | what is public or for signed-in users |
| a member of the item, or of a group that has it | that item too |
`

const welcomeGerman = `# Willkommen

Diese Bibliothek enthält die Pakete der **Go-Standardbibliothek**. Jeder Eintrag führt zu seiner Dokumentation; was zuletzt geändert wurde, steht vorn.
`

const welcomeFrench = `# Bienvenue

Cette bibliothèque réunit les paquets de la **bibliothèque standard de Go**. Chaque élément mène à sa documentation ; le dernier modifié vient en premier.
`

const reviewFirst = `# How we review a package

1. Read the package comment. Does its first sentence say what the package does?
2. Run the examples.
3. Look for exported names that nobody needs.
`

const reviewSecond = `# How we review a package

1. Read the package comment. Does its first sentence say what the package does?
2. Run the examples, and the tests with the race detector.
3. Look for exported names that nobody needs.
4. Check what the errors say: can a caller act on them?
`

const reviewDraft = `# How we review a package

1. Read the package comment. Does its first sentence say what the package does?
2. Run the examples, the tests with the race detector, and the benchmarks of the last release.
`

const styleFirst = `# The style of examples

An example is the shortest program that shows one thing.

` + "```go" + `
func ExampleSplit() {
	fmt.Printf("%q\n", strings.Split("a,b,c", ","))
	// Output: ["a" "b" "c"]
}
` + "```" + `

Write the output as the program prints it. Do not explain what the code says.
`

const styleGerman = `# Der Stil von Beispielen

Ein Beispiel ist das kürzeste Programm, das eine Sache zeigt.
`

const styleDraft = `# The style of examples

An example is the shortest program that shows one thing. It compiles, it runs, and its output is checked.
`
