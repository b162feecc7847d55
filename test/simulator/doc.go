// Package simulator runs the product's own Service and journal on a simulated
// store, one step at a time, and looks for wrong results.
//
// # A schedule
//
// A schedule is one run, drawn from a seed: the same seed leads to the same run,
// with the same hash of its trace. "make sim SEED=n" prints every step of it. A
// Machine runs schedules; a run is one of them (schedule.go, draw.go).
//
// # The world
//
// There are two tenants, t and o. Ann and bob are users of t, cid is one of o, and boss is an
// administrator of t. Some of them are members of a group; in some schedules a second group is
// nested in the first one, or contains it. One or two items exist at the start; others are created
// or imported (world.go). Clients make a few operations each: they create, change, share, import,
// remove and delete, change groups and names, and read libraries in every order and direction. Titles
// are few, so that they come back.
// In many schedules they also try what they have no right to, send a version that is not the
// current one, transfer an item to somebody else, or repeat an operation with an idempotency
// key (plan.go, operation.go, clients.go, reader.go). Some follow libraries (follower.go). At
// the end of some schedules the whole store is copied to another one (copying.go).
//
// One schedule in eight is about the keys of leases instead. Clients acquire overlapping
// leases, and confirm, cancel and read them around their deadlines (leasecalls.go). In the
// end all leases are swept, and a lone contender takes the keys that are free.
//
// Another one in eight is about the texts of items. Clients save, publish and read revisions,
// create and switch branches, and suggest and decide, while others change titles, visibility
// and members (pageplan.go, pagecalls.go). Two hours later the scrubber removes garbage.
//
// A third one in eight is about pastes. Clients create, change, hide, show, delete and read pastes,
// read the list of the newest ones, and follow it (pasteplan.go, pastecalls.go, pastefollower.go).
// In the end everything that expires has expired (pasteexpiry.go).
//
// A fourth one in eight is about unique names: the URLs of items and the e-mail addresses of users
// (names.go). Clients create, move and delete items, let them expire, and change, create and delete users,
// mostly around the time at which a claim lapses, when late writes arrive. Two hours later the scrubber
// removes claims that nobody owns.
//
// Schedules from seed 4294967296 on are about pages that are served from copies of headers
// (copies.go). Readers read the same libraries again and again, while others change them. Their
// store has three replicas of items, libraries and in-flight lists. A call takes one step at each
// replica (replicas.go).
//
// # What goes wrong
//
// Every store call and every wait is a point at which the scheduler may continue another task
// (scheduler.go). There a write may fail, be applied without an answer, arrive late, or arrive
// after it was answered with an error; a call may take so long that its deadline passes; a
// client may leave; a process may die (client.go, actor.go, deadline.go). The clocks of
// processes disagree, and recoverers take over the work of live processes. Deadlines, slowness,
// faults and crashes differ between schedules, because a schedule with all of them would test each
// only a little.
//
// # What is checked
//
// When nothing is in flight any more, the checks compare the store and all answers with the
// history, which contains every state that was ever decided (history.go):
//
//   - audit.go: every library has the entries that the items require, every item that expires
//     has its reminder, and nothing else remains.
//   - history.go: what was answered as done was done, once; what was refused was not; every
//     state follows from the one before it.
//   - rights.go: every change was made by somebody who had the right to; nobody was refused who
//     had it throughout.
//   - reader.go, view.go: nobody was shown what it may not see, no expired item, and no item
//     twice in a walk; no item was missing that did not change.
//   - resume.go: the last cursor of a walk leads to what has changed since.
//   - follower.go: the state of every follower is that of its library.
//   - names.go: the claim of a URL or an address points to its owner, at every step.
//   - leasehistory.go: a client that got keys holds all of them, at every step.
//   - leasecheck.go: every answer about a lease is true of a state of the lease at that time.
//   - pagecheck.go: every state of a page is the result of its operation on the one before it.
//   - pageanswers.go: every answer about a text is true; pageplan.go: in the end rows and texts
//     match.
//   - pastehistory.go, pastecheck.go: every state of a paste is what an operation requested, and
//     every answer about one is true; pasteexpiry.go: in the end rows, bodies and the list match;
//     pastefollower.go: every follower has received the new public pastes.
//   - check.go: the product's own audit and its pages agree.
//
// The checks know nothing of how the product works. The package calls library.InBucket and
// IndexUpdate.Derive only as a backend; the checks use neither.
//
// # How the simulator is tested
//
// TestAblations disables one rule of the protocol at a time, by a patch of the source, and a
// violation must then be found. The comment of package ablations says how to add one. "make
// sim SEED=n WITHOUT=name" replays a schedule with an ablation. TestWorld_IsReached checks that
// everything described here happens. TestCrashPoints fails every operation at every store call.
// TestConformance runs the conformance suite of all stores on the simulated store.
package simulator
