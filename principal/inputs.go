package principal

import "carrel/core/input"

// CreateUser is the input of Service.CreateUser.
type CreateUser struct {
	Tenant, Name, DisplayName, Email string
	Visibility                       Visibility
	IdempotencyKey                   *string
}

// UpdateUser is the input of Service.UpdateUser. None of the fields takes null.
type UpdateUser struct {
	ID             string
	DisplayName    input.Optional[*string]
	Email          input.Optional[*string]
	Visibility     input.Optional[*Visibility]
	IdempotencyKey *string
}

// CreateGroup is the input of Service.CreateGroup.
type CreateGroup struct {
	Tenant, Name, DisplayName string
	Visibility                Visibility
	IdempotencyKey            *string
}

// UpdateGroup is the input of Service.UpdateGroup. None of the fields takes null.
type UpdateGroup struct {
	ID             string
	DisplayName    input.Optional[*string]
	Visibility     input.Optional[*Visibility]
	IdempotencyKey *string
}

// DeleteUser is the input of Service.DeleteUser.
type DeleteUser struct {
	ID             string
	IdempotencyKey *string
}

// DeleteGroup is the input of Service.DeleteGroup.
type DeleteGroup struct {
	ID             string
	IdempotencyKey *string
}

// RoleChange sets the role of a principal in a group or on an item; nil removes it.
type RoleChange[R any] struct {
	Principal string
	Role      *R
}

// GroupMemberChange changes the role of a principal in a group.
type GroupMemberChange = RoleChange[GroupRole]

// SetGroupMembers is the input of Service.SetGroupMembers.
type SetGroupMembers struct {
	Group          string
	Members        []GroupMemberChange // 1..100
	IdempotencyKey *string
}
