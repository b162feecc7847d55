import { test } from 'node:test';
import assert from 'node:assert/strict';
import { isOnlyManager, managingWill, removalWill, sharedWith, sharingDid, sharingWill, staying, visibilityWill,
  whoSees, type Access } from '../src/data/access.ts';
import type { ContentRole } from '../src/generated/operations.ts';

const member = (id: string, displayName: string) => ({ id, displayName, role: 'VIEWER' as ContentRole });
const ann = member('u:demo:ann', 'Ann');
const ben = member('u:demo:ben', 'Ben');
const cleo = member('u:demo:cleo', 'Cleo');
const team = member('g:demo:team', 'Team');
const zed = member('u:acme:zed', 'Zed');
const access = (change: Partial<Access> = {}): Access =>
  ({ visibility: 'PRIVATE', tenant: 'demo', members: [ann], further: 'none', viewerId: ann.id, ...change });

test('a sentence says who can see an item', () => {
  const says = (change: Partial<Access>) => whoSees(access(change)).replace(' Administrators of demo can, too.', '');
  assert.equal(whoSees(access()), 'Only you can see this item. Administrators of demo can, too.');
  assert.equal(says({ members: [ann, ben] }), 'Only you and Ben can see this item.');
  assert.equal(says({ members: [team, ben, ann] }), 'Only you, the members of Team and Ben can see this item.');
  const [acme, crew] = [member('g:acme:all', 'All'), member('g:demo:crew', 'Crew')];
  assert.equal(says({ members: [ann, ben, cleo, zed] }), 'Only you, Ben, Cleo and 1 more person can see this item.');
  assert.equal(says({ members: [ann, ben, cleo, team] }), 'Only you, Ben, Cleo and the members of 1 more group can see this item.');
  assert.equal(says({ members: [ann, team, crew, acme] }),
    'Only you, the members of Team, the members of Crew and the members of 1 more group can see this item.');
  assert.equal(says({ members: [team, crew, acme, zed, ben, cleo, ann] }),
    'Only you, the members of Team, the members of Crew, 3 more people and the members of 1 more group can see this item.');
  assert.equal(says({ members: [ann, ben, cleo, team, crew, zed], viewerId: null }),
    'Only Ann, Ben, Cleo, 1 more person and the members of 2 more groups can see this item.');
  assert.equal(says({ members: [ann, ben, cleo, team, zed], further: 'some' }), 'Only you, Ben, Cleo and others can see this item.');
  assert.equal(says({ members: [ann, ben], further: 'maybe' }), 'Only you, Ben and anyone else it is shared with can see this item.');
  assert.equal(says({ members: [ann, ben, cleo, zed], further: 'maybe' }),
    'Only you, Ben, Cleo, 1 more person and anyone else it is shared with can see this item.');
  assert.equal(says({ members: [], further: 'maybe' }), 'Only people it is shared with can see this item.');
  assert.equal(says({ members: [ben], viewerId: null }), 'Only Ben can see this item.');
  assert.equal(says({ visibility: 'LOGGEDIN', members: [ann, ben] }), 'Everyone who is signed in to demo can see this item.');
  assert.equal(says({ visibility: 'LOGGEDIN', members: [ann, zed] }),
    'Everyone who is signed in to demo can see this item, and so can Zed.');
  assert.equal(says({ visibility: 'LOGGEDIN', members: [ann, zed], further: 'some' }),
    'Everyone who is signed in to demo can see this item, and so can Zed and anyone else it is shared with.');
  assert.equal(says({ visibility: 'LOGGEDIN', members: [ann], further: 'maybe' }),
    'Everyone who is signed in to demo can see this item, and so can anyone else it is shared with.');
  // A group may have members of other organisations, who see the item only by the group.
  assert.equal(says({ visibility: 'LOGGEDIN', members: [ann, team] }),
    'Everyone who is signed in to demo can see this item, and so can members of Team from other organisations.');
  assert.equal(says({ visibility: 'LOGGEDIN', members: [ann, team, crew, acme, zed] }),
    'Everyone who is signed in to demo can see this item, and so can the members of All, Zed and members of Team and Crew from other organisations.');
  assert.equal(says({ visibility: 'LOGGEDIN', members: [team, crew, member('g:demo:third', 'Third')] }),
    'Everyone who is signed in to demo can see this item, and so can members of 3 groups from other organisations.');
  assert.equal(says({ visibility: 'PUBLIC' }), 'Everyone can see this item, signed in or not.');
});

test('a sentence says what another visibility would do', () => {
  assert.match(visibilityWill(access(), 'PUBLIC'), /^Then everyone on the internet .* signed in or not/);
  assert.equal(visibilityWill(access(), 'LOGGEDIN'), 'Then everyone who is signed in to demo will be able to see this item.');
  assert.equal(visibilityWill(access({ visibility: 'PUBLIC' }), 'LOGGEDIN'),
    'Then everyone who is signed in to demo will be able to see this item. People who are not lose access, unless it is shared with them.');
  assert.equal(visibilityWill(access({ visibility: 'PUBLIC', members: [ann, ben] }), 'PRIVATE'),
    'Then only you and Ben can see this item. Administrators of demo can, too. Everyone else loses access.');
  assert.equal(visibilityWill(access({ visibility: 'LOGGEDIN' }), 'PRIVATE'),
    'Then only you can see this item. Administrators of demo can, too. Everyone else in demo loses access.');
});

test('a sentence says what sharing would do', () => {
  assert.equal(sharingWill(access(), [ben], 'VIEWER'), 'Ben will be able to see this item. It appears in their library.');
  assert.equal(sharingWill(access(), [ben, team], 'EDITOR'),
    'Ben and the members of Team will be able to see this item, and to change its text. It appears in their libraries.');
  assert.equal(sharingWill(access(), [ben, cleo, team, zed], 'VIEWER'),
    'Ben, Cleo, 1 more person and the members of 1 more group will be able to see this item. It appears in their libraries.');
  assert.equal(sharingWill(access({ visibility: 'PUBLIC' }), [ben], 'VIEWER'),
    'It appears in their library. They keep access even if the item becomes private.');
  assert.equal(sharingWill(access({ visibility: 'PUBLIC' }), [ben], 'MANAGER'),
    'It appears in their library. Ben will be able to change, share and delete it. They keep access even if the item becomes private.');
});

test('people of other organisations gain access to an item that all of an organisation can see', () => {
  const all = access({ visibility: 'LOGGEDIN' });
  const kept = 'They keep access even if the item becomes private.';
  assert.equal(sharingWill(all, [zed], 'VIEWER'), `Zed will be able to see this item. It appears in their library. ${kept}`);
  assert.equal(sharingWill(all, [zed], 'EDITOR'),
    `Zed will be able to see this item, and to change its text. It appears in their library. ${kept}`);
  assert.equal(sharingWill(all, [ben, zed], 'EDITOR'),
    `Zed will be able to see this item. It appears in their libraries. Ben and Zed will be able to change its text. ${kept}`);
  const visitors = 'Members of Team from other organisations will be able to see this item';
  assert.equal(sharingWill(all, [ben, team], 'VIEWER'), `${visitors}. It appears in their libraries. ${kept}`);
  assert.equal(sharingWill(all, [zed, team], 'VIEWER'),
    `Zed will be able to see this item. ${visitors}, too. It appears in their libraries. ${kept}`);
  assert.equal(sharingWill(access({ visibility: 'PUBLIC' }), [team], 'VIEWER'), `It appears in their libraries. ${kept}`);
  assert.equal(sharingWill(access({ visibility: 'PUBLIC' }), [zed], 'VIEWER'), `It appears in their library. ${kept}`);
});

test('sharing with people who have an item already never lowers their role', () => {
  const editor = { ...ben, role: 'EDITOR' as const };
  const held = access({ members: [{ ...ann, role: 'MANAGER' }, editor, cleo] });
  const says = (people: (typeof ann)[], role: ContentRole, change: Partial<Access> = {}) =>
    [sharingWill({ ...held, ...change }, people, role), sharingDid({ ...held, ...change }, people, role)];
  const stays = 'Ben is an editor already, and stays one.';
  assert.deepEqual(says([ben], 'VIEWER'), [stays, stays]);
  assert.deepEqual(says([ben], 'EDITOR'), [stays, stays]);
  assert.deepEqual(says([ben], 'EDITOR', { visibility: 'PUBLIC' }), [stays, stays]);
  assert.deepEqual(says([ben], 'MANAGER'), ['Ben will be able to change, share and delete this item.', 'Ben is now a manager.']);
  assert.deepEqual(says([cleo], 'EDITOR', { visibility: 'LOGGEDIN' }), ['Cleo will be able to edit this item.', 'Cleo is now an editor.']);
  assert.deepEqual(says([ben, cleo], 'VIEWER'), Array(2).fill('Ben and Cleo have a role already, and keep it.'));
  assert.deepEqual(says([ben, cleo, zed], 'EDITOR'), [
    `Zed will be able to see this item. It appears in their library. Zed and Cleo will be able to change its text. ${stays}`,
    `Shared with Zed. Cleo is now an editor. ${stays}`]);
  assert.deepEqual(says([ben, zed], 'EDITOR'), [
    `Zed will be able to see this item, and to change its text. It appears in their library. ${stays}`, `Shared with Zed. ${stays}`]);
  assert.deepEqual(says([ben, zed], 'VIEWER', { visibility: 'PUBLIC' }), [
    `Zed will have it in their library. They keep access even if the item becomes private. ${stays}`, `Shared with Zed. ${stays}`]);
  assert.deepEqual(says([cleo, team], 'VIEWER', { visibility: 'LOGGEDIN' })[0],
    'Members of Team from other organisations will be able to see this item. The members of Team will have it in their libraries. ' +
    'They keep access even if the item becomes private. Cleo is a viewer already, and stays one.');
  assert.deepEqual(says([team], 'VIEWER', { visibility: 'LOGGEDIN', members: [team] })[0], 'Team is a viewer already, and stays one.');
});

test('sharing says what is not known of people who may have an item already', () => {
  const maybe = 'If they have it already, for example through a group, the stronger role counts.';
  const seen = 'Ben will be able to see this item. It appears in their library.';
  const listed = 'It appears in their library. They keep access even if the item becomes private.';
  const says = (change: Partial<Access>, role: ContentRole = 'VIEWER', people = [ben]) => sharingWill(access(change), people, role);
  assert.equal(says({}), seen);
  assert.equal(says({ members: [ann, team] }), `${seen} ${maybe}`);
  assert.equal(says({ further: 'some' }), `${seen} ${maybe}`);
  assert.equal(says({ further: 'maybe', visibility: 'PUBLIC' }), `${listed} ${maybe}`);
  assert.equal(says({ members: [team], visibility: 'PUBLIC' }), listed);
  assert.equal(says({ members: [team], visibility: 'PUBLIC' }, 'EDITOR'),
    `It appears in their library. Ben will be able to change its text. They keep access even if the item becomes private. ${maybe}`);
  // What was read of these is certain.
  assert.equal(says({ members: [ben, team], further: 'some' }), 'Ben is a viewer already, and stays one.');
  assert.equal(says({ members: [ben, team], further: 'some' }, 'EDITOR'), 'Ben will be able to edit this item.');
});

test('a sentence says who can still open an item after a removal', () => {
  const says = (visibility: Access['visibility'], member: typeof ann, viewerId = 'u:demo:cleo') =>
    removalWill({ visibility, tenant: 'demo', viewerId }, member).replace(/^.*? (loses (their|its) role on it|your library)\. /, '');
  assert.equal(removalWill(access(), ben), 'The item is removed from the library of Ben, who loses their role on it. ' +
    'Ben can no longer open it, unless they have access in another way.');
  assert.equal(removalWill(access(), team), 'The item is removed from the library of Team, which loses its role on it. ' +
    'The members of Team can no longer open it, unless they have access in another way.');
  assert.equal(says('PUBLIC', zed), 'It is public, so Zed can still open it.');
  assert.equal(says('LOGGEDIN', ben), 'Everyone who is signed in to demo can see it, so Ben can still open it.');
  assert.equal(says('LOGGEDIN', zed), 'Zed can no longer open it, unless they have access in another way.');
  // A group may have members of other organisations.
  assert.equal(says('LOGGEDIN', team),
    'Everyone who is signed in to demo can see it, so the members of Team who belong to demo can still open it.');
  assert.equal(says('PUBLIC', team), 'It is public, so the members of Team can still open it.');
  assert.equal(says('LOGGEDIN', member('g:acme:all', 'All')),
    'The members of All can no longer open it, unless they have access in another way.');
  const lost = 'Unless you have access in another way, you can no longer open it, and only its managers can share it with you again.';
  assert.equal(removalWill(access(), ann), `You lose your role on this item, and it is removed from your library. ${lost}`);
  assert.equal(says('PUBLIC', zed, zed.id), 'It is public, so you can still open it, and add it again as a viewer.');
  assert.equal(says('LOGGEDIN', ann, ann.id),
    'Everyone who is signed in to demo can see it, so you can still open it, and add it again as a viewer.');
  assert.equal(says('LOGGEDIN', zed, zed.id), lost);
});

test('a sentence says what a manager may do', () => {
  assert.equal(managingWill([team], 'item'), 'The members of Team will be able to change, share and delete this item.');
  assert.equal(managingWill([ben], 'group'), 'Ben will be able to change the group and its members, and to delete it.');
  assert.equal(managingWill([ben, cleo], 'group'), 'Ben and Cleo will be able to change the group and its members, and to delete it.');
});

test('a sentence says that people who are added keep the role that they have', () => {
  const held = [{ ...ben, role: 'EDITOR' as const }, { ...cleo, role: 'MEMBER' as const }, { ...team, role: 'MANAGER' as const }];
  assert.equal(staying([]), '');
  assert.equal(staying(held.slice(0, 1)), 'Ben is an editor already, and stays one.');
  assert.equal(staying(held), 'Ben, Cleo and Team have a role already, and keep it.');
  assert.equal(staying([...held, { ...zed, role: 'VIEWER' }]), '4 of them have a role already, and keep it.');
});

test('the only manager is known if all members are', () => {
  const only = (hasNextPage: boolean, ...roles: string[]) => isOnlyManager({ edges: [ann, ben, team].slice(0, roles.length)
    .map((node, n) => ({ node, role: roles[n] ?? '' })), pageInfo: { hasNextPage } }, ann.id);
  assert.equal(only(false, 'MANAGER', 'EDITOR', 'VIEWER'), true);
  assert.equal(only(true, 'MANAGER', 'EDITOR'), false);
  assert.equal(only(false, 'MANAGER', 'EDITOR', 'MANAGER'), false);
  assert.equal(only(false, 'EDITOR', 'MANAGER'), false);
  assert.equal(only(false), false);
});

test('a list says with whom an item is shared', () => {
  const all = (nodes: (typeof ann)[]) => sharedWith({ nodes }, ann.id, ann.id);
  assert.equal(all([ann]), '');
  assert.equal(all([]), '');
  assert.equal(all([ann, ben]), 'shared with Ben');
  assert.equal(all([ann, ben, team, zed]), 'shared with 3');
  assert.equal(all([ann, ben, team, zed, cleo, cleo]), 'shared with 5 or more');
  // Others may not see all members.
  assert.equal(sharedWith({ nodes: [ann, ben, cleo] }, cleo.id, undefined), 'shared with 2 or more');
  assert.equal(sharedWith({ nodes: [ann, ben, cleo] }, ann.id, cleo.id), 'shared with 2 or more');
  assert.equal(sharedWith({ nodes: [ann, cleo] }, ann.id, cleo.id), 'shared with you');
  assert.equal(sharedWith({ nodes: [ann, ben] }, ann.id, cleo.id), 'shared with 1 or more');
  assert.equal(sharedWith({ nodes: [ann, ben] }, undefined, undefined), 'shared with 2 or more');
});
