package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain"
	"carrel/library"
	"carrel/principal"
)

// opKind is a method of the Service.
type opKind uint8

const (
	opTitle opKind = iota
	opVisibility
	opShare
	opMembers
	opRemove
	opDelete
	opExpire
	opCreate
	opMove
	opGroup
	opRebuild
	opCreateUser
	opUpdateUser
	opMail
	opCreateGroup
	opUpdateGroup
	opRead
	opImport
	opImportMembers
	opAcquire
	opConfirm
	opCancel
	opLease
	opAvailable
	opSave
	opPublish
	opBranch
	opCurrent
	opSuggest
	opDecide
	opText
	opPaste
	opEditPaste
	opDeletePaste
	opReadPaste
	opLatest
	opDeleteUser
	opDeleteGroup
	numOps
)

// ordersTitles reports whether the fan-out of an operation also updates the entries in the order of titles.
func (k opKind) ordersTitles() bool {
	switch k {
	case opTitle, opVisibility, opShare, opMembers, opRemove, opDelete, opCreate, opImport, opImportMembers:
		return true
	}
	return false
}

var opNames = [...]string{"updateTitle", "updateVisibility", "share", "setMembers", "remove", "delete",
	"setExpiry", "create", "moveContent", "setGroupMembers", "rebuild", "createUser", "updateUser", "updateEmail",
	"createGroup", "updateGroup", "read",
	"import", "importMembers", "acquireLease", "confirmLease", "cancelLease", "lease", "isKeyAvailable",
	"saveRevision", "publishRevision", "createBranch", "setCurrentBranch", "suggestRevision", "decideSuggestion", "revision",
	"createPaste", "updatePaste", "deletePaste", "paste", "latestPastes", "deleteUser", "deleteGroup"}

func (k opKind) String() string { return opNames[k] }

// imports reports whether the operation is one of the operator's import, which checks no rights
// and has no keys.
func (k opKind) imports() bool { return k == opImport || k == opImportMembers }

// ofPrincipal reports whether the operation changes a user or a group.
func (k opKind) ofPrincipal() bool {
	return k == opGroup || k >= opCreateUser && k <= opUpdateGroup || k.deletes()
}

// deletes reports whether the operation deletes a user or a group.
func (k opKind) deletes() bool { return k == opDeleteUser || k == opDeleteGroup }

// opOutcome is what a caller knows about its operation.
type opOutcome uint8

const (
	unanswered opOutcome = iota // its process died
	answered                    // success
	refused                     // an error that says that nothing was changed
	uncertain                   // an error that leaves open whether something was changed
)

// Operation is one call of a client, with its answer.
type Operation struct {
	kind       opKind
	n          int // its number
	viewer     principal.ID
	content    library.ContentID
	group      principal.ID // or the user that it concerns
	title      string
	about      string               // the description that opTitle sets; "" leaves it, like title
	unique     string               // the URL or e-mail address that it gives to its item or user; "" is none
	visibility principal.Visibility // of opTitle: 0 leaves it
	expires    clock.Instant
	members    []library.Member // wanted rows; NoRole takes out
	groupRows  []principal.GroupMemberRow
	key        *string    // the idempotency key
	expected   *int       // the version that the caller has seen
	lease      *leaseCall // where it is about keys
	page       *pageCall  // where it is about a text
	paste      *pasteCall // where it is about pastes

	start, end int // steps; end 0 while it runs
	outcome    opOutcome
	err        error
	repeated   bool // it was called more than once
	concerning bool // the answer said that libraries were concerned
	complete   bool // and that all of them are up to date
	removed    bool // the answer said that everything of a principal is removed
}

func (o *Operation) String() string {
	s := fmt.Sprintf("#%d %s %s by %s", o.n, o.kind, o.content, o.viewer)
	switch o.kind {
	case opTitle, opVisibility:
		s += fmt.Sprintf(" %q %q %v", o.title, o.about, o.visibility)
	case opShare, opMembers, opRemove, opCreate, opImport, opImportMembers:
		s += fmt.Sprint(" ", o.members)
	case opGroup:
		s += fmt.Sprint(" ", o.group, o.groupRows)
	case opMove:
		s += " " + o.unique
	case opAcquire, opConfirm, opCancel, opLease, opAvailable:
		s += o.lease.String()
	case opSave, opPublish, opBranch, opCurrent, opSuggest, opDecide, opText:
		s += o.page.String()
	case opPaste, opEditPaste, opDeletePaste, opReadPaste, opLatest:
		s += o.paste.String()
	case opRebuild, opCreateUser, opUpdateUser, opMail, opCreateGroup, opUpdateGroup, opRead, opDeleteUser, opDeleteGroup:
		s += fmt.Sprint(" ", o.group, " ", o.unique)
	}
	return s
}

// call makes the call on a Service; it does not return if the process dies.
func (o *Operation) call(ctx context.Context, p *process, s *Scheduler) {
	if o.repeated = o.start > 0; !o.repeated {
		o.start = s.steps
	}
	var out *library.ContentOutcome
	var err error
	switch {
	case o.lease != nil:
		err = o.askLeases(ctx, p)
	case o.page != nil:
		err = o.askPages(ctx, p)
	case o.paste != nil:
		err = o.askPastes(ctx, p)
	default:
		out, err = o.do(ctx, p.svc)
	}
	o.end, o.err = s.steps, err
	o.outcome = outcomeOfError(err)
	if o.repeated && o.outcome == refused {
		// The repetition is refused; the first call may have done it.
		o.outcome = uncertain
	}
	o.concerning = err == nil && out != nil && out.FanOut.Libraries > 0
	o.complete = o.concerning && out.FanOut.Complete
}

// outcomeOfError returns what an answer says about the change.
func outcomeOfError(err error) opOutcome {
	switch {
	case err == nil:
		return answered
	case fault.MayHaveCommitted(err), fault.ReasonOf(err) == fault.ReasonOutcomeUnknown,
		fault.CodeOf(err) == fault.Internal, errors.Is(err, context.Canceled):
		return uncertain
	}
	return refused
}

func (o *Operation) do(ctx context.Context, svc *domain.Services) (*library.ContentOutcome, error) {
	v := &principal.Viewer{User: o.viewer, GlobalAdmin: o.kind >= opRebuild && !o.kind.imports()}
	switch o.kind {
	case opTitle:
		in := library.UpdateContent{ID: string(o.content), ExpectedVersion: o.expected, IdempotencyKey: o.key}
		if o.title != "" {
			in.Title = input.Some(&o.title)
		}
		if o.visibility != 0 {
			in.Visibility = input.Some(&o.visibility)
		}
		if o.about != "" {
			in.Description = input.Some(&o.about)
		}
		return svc.Library.UpdateContent(ctx, v, in)
	case opVisibility:
		return svc.Library.UpdateContent(ctx, v, library.UpdateContent{ID: string(o.content), Visibility: input.Some(&o.visibility),
			ExpectedVersion: o.expected, IdempotencyKey: o.key})
	case opExpire:
		return svc.Library.UpdateContent(ctx, v, library.UpdateContent{ID: string(o.content), ExpiresAt: input.Some(&o.expires),
			IdempotencyKey: o.key})
	case opShare:
		in := library.ShareContent{Content: string(o.content), Role: o.members[0].Role, IdempotencyKey: o.key}
		for _, m := range o.members {
			in.Principals = append(in.Principals, string(m.Principal))
		}
		return svc.Library.ShareContent(ctx, v, in)
	case opMembers:
		return svc.Library.SetContentMembers(ctx, v, library.SetContentMembers{Content: string(o.content), Members: o.changes(),
			IdempotencyKey: o.key})
	case opRemove:
		return svc.Library.RemoveFromLibrary(ctx, v, library.RemoveFromLibrary{Principal: string(o.members[0].Principal),
			Content: string(o.content), IdempotencyKey: o.key})
	case opDelete:
		return svc.Library.DeleteContent(ctx, v, library.DeleteContent{ID: string(o.content), ExpectedVersion: o.expected, IdempotencyKey: o.key})
	case opCreate:
		name := o.content.Name()
		link := "https://example.com/"
		return svc.Library.CreateContent(ctx, v, library.CreateContent{Name: &name, Kind: library.Link, Link: &link, Title: o.title,
			URL: orNil(o.unique), Visibility: o.visibility, Members: o.changes(), IdempotencyKey: o.key})
	case opMove:
		return svc.Library.MoveContent(ctx, v, library.MoveContent{ID: string(o.content), URL: input.Some(orNil(o.unique)),
			IdempotencyKey: o.key})
	}
	return nil, o.doOther(ctx, svc, v)
}

// doOther makes the calls that are not about an item.
func (o *Operation) doOther(ctx context.Context, svc *domain.Services, v *principal.Viewer) error {
	var err error
	switch id := o.group; o.kind {
	case opImport:
		link := "https://example.com/"
		_, err = svc.Library.Upkeep.ImportContent(ctx, library.ImportContent{ID: string(o.content), Kind: library.Link, Link: &link,
			Title: o.title, Visibility: o.visibility, Members: o.changes(), CreatedAt: &o.expires, LastModified: &o.expires})
	case opImportMembers:
		_, err = svc.Library.Upkeep.ImportMembers(ctx, library.ImportMembers{ID: string(o.content), Content: o.changes()})
	case opRead:
		_, err = svc.Listing.Library(ctx, v, id, library.LibraryQuery{})
	case opRebuild:
		_, err = svc.Repair.RebuildLibrary(ctx, v, string(id))
	case opCreateUser:
		_, err = svc.People.CreateUser(ctx, v, principal.CreateUser{Tenant: id.Tenant(), Name: id.Name(), DisplayName: o.title,
			Email: cmp.Or(o.unique, id.Name()+"@example.com"), Visibility: principal.Public, IdempotencyKey: o.key})
	case opUpdateUser:
		_, err = svc.People.UpdateUser(ctx, v, principal.UpdateUser{ID: string(id), DisplayName: input.Some(&o.title), IdempotencyKey: o.key})
	case opMail:
		_, err = svc.People.UpdateUser(ctx, v, principal.UpdateUser{ID: string(id), Email: input.Some(&o.unique), IdempotencyKey: o.key})
	case opCreateGroup:
		_, err = svc.People.CreateGroup(ctx, v, principal.CreateGroup{Tenant: id.Tenant(), Name: id.Name(), DisplayName: o.title,
			Visibility: principal.Public, IdempotencyKey: o.key})
	case opDeleteUser:
		err = o.deleted(svc.People.DeleteUser(ctx, v, principal.DeleteUser{ID: string(id), IdempotencyKey: o.key}))
	case opDeleteGroup:
		err = o.deleted(svc.People.DeleteGroup(ctx, v, principal.DeleteGroup{ID: string(id), IdempotencyKey: o.key}))
	case opUpdateGroup:
		_, err = svc.People.UpdateGroup(ctx, v, principal.UpdateGroup{ID: string(id), DisplayName: input.Some(&o.title), IdempotencyKey: o.key})
	default:
		_, err = svc.People.SetGroupMembers(ctx, v, principal.SetGroupMembers{Group: string(id), Members: o.groupChanges(),
			IdempotencyKey: o.key})
	}
	return err
}

// orNil returns a pointer to a value; nil if it is the zero value.
func orNil[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// deleted notes whether everything is said to be removed.
func (o *Operation) deleted(d *principal.Deletion, err error) error {
	o.removed = err == nil && d.Complete
	return err
}

func (o *Operation) groupChanges() []principal.GroupMemberChange {
	var list []principal.GroupMemberChange
	for _, m := range o.groupRows {
		list = append(list, principal.GroupMemberChange{Principal: string(m.Principal), Role: orNil(m.Role)})
	}
	return list
}

// ofMembers reports whether the operation concerns only the principals whose rows it writes.
func (k opKind) ofMembers() bool { return k == opShare || k == opMembers || k == opRemove }

func (o *Operation) changes() []library.ContentMemberChange {
	var list []library.ContentMemberChange
	for _, m := range o.members {
		list = append(list, library.ContentMemberChange{Principal: string(m.Principal), Role: orNil(m.Role)})
	}
	return list
}
