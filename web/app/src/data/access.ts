// Who can see an item, in sentences: now, and after a change that has not been made yet.
import type { ContentRole, GroupRole, LibraryVisibility } from '../generated/operations.ts';

// Member is a user or a group that an item is shared with.
export interface Member {
  id: string;
  displayName: string;
}

// Holder is a member with its role.
interface Holder<Role extends string = ContentRole | GroupRole> extends Member {
  role: Role;
}

// asRole names a role in a sentence.
export const asRole: Record<ContentRole | GroupRole, string> = { VIEWER: 'a viewer', EDITOR: 'an editor', MANAGER: 'a manager',
  MEMBER: 'a member' };

// Members are the members that were read, with their roles.
interface Members {
  edges: readonly { role: string; node: Member }[];
  pageInfo: { hasNextPage: boolean };
}

// Access is what decides who can see an item. members are those that were read. further tells whether
// there are more: 'maybe' if the viewer may not see all of them.
export interface Access {
  visibility: LibraryVisibility;
  tenant: string;
  members: readonly Holder<ContentRole>[];
  further: 'none' | 'some' | 'maybe';
  // The id of the viewer, null for a visitor.
  viewerId: string | null;
}

// mostNamed is how many members a sentence names.
const mostNamed = 3;

// whoSees says who can see an item.
export function whoSees(access: Access): string {
  const { visibility, tenant, members } = access;
  if (visibility === 'PUBLIC') return 'Everyone can see this item, signed in or not.';
  if (visibility === 'PRIVATE') return firstUpper(whenPrivate(access));
  const others = [
    ...named({ ...access, members: members.filter(({ id }) => !seesAnyway(access, id)), further: 'none' }),
    ...guests(access, members),
    ...(access.further === 'none' ? [] : ['anyone else it is shared with']),
  ];
  return `Everyone who is signed in to ${tenant} can see this item${others.length > 0 ? `, and so can ${list(others)}` : ''}.`;
}

// guests names the members of groups of an item's organisation that may come from others: they see the item only by their group.
function guests(access: Pick<Access, 'visibility' | 'tenant'>, members: readonly Member[]): string[] {
  const groups = members.filter(({ id }) => access.visibility === 'LOGGEDIN' && isGroup(id) && seesAnyway(access, id));
  if (groups.length === 0) return [];
  const names = groups.length < mostNamed ? list(groups.map(({ displayName }) => displayName)) : `${groups.length} groups`;
  return [`members of ${names} from other organisations`];
}

// whenPrivate says who can see an item that is private.
const whenPrivate = (access: Access) => `${those(access)} can see this item. Administrators of ${access.tenant} can, too.`;

// seesAnyway reports whether a user, or a group of the same organisation, can see an item without a role on it.
export function seesAnyway({ visibility, tenant }: Pick<Access, 'visibility' | 'tenant'>, id: string): boolean {
  return visibility === 'PUBLIC' || (visibility === 'LOGGEDIN' && id.split(':')[1] === tenant);
}

// those names the members of an item, as the subject of a sentence.
function those(access: Access): string {
  const { members, further } = access;
  if (members.length === 0) return further === 'none' ? 'nobody it is shared with' : 'only people it is shared with';
  const unnamed = further === 'maybe' ? ['anyone else it is shared with']
    : further === 'some' && members.length <= mostNamed ? ['others it is shared with'] : [];
  return `only ${list([...named(access), ...unnamed])}`;
}

// named returns the names of members, the viewer first; of many, it names the first and counts the
// others.
function named({ members, further, viewerId }: Access): string[] {
  const me = members.filter(({ id }) => id === viewerId).map(() => 'you');
  const rest = members.filter(({ id }) => id !== viewerId);
  const shown = mostNamed - me.length;
  const left = rest.slice(shown);
  return [...me, ...rest.slice(0, shown).map(nameOf), ...(left.length > 0 && further === 'some' ? ['others'] : counted(left))];
}

// counted counts people, and the groups whose members are meant.
function counted(members: readonly Member[]): string[] {
  const groups = members.filter(({ id }) => isGroup(id)).length;
  const people = members.length - groups;
  return [
    ...(people > 0 ? [`${people} more ${people === 1 ? 'person' : 'people'}`] : []),
    ...(groups > 0 ? [`the members of ${groups} more ${groups === 1 ? 'group' : 'groups'}`] : []),
  ];
}

const isGroup = (id: string) => id.startsWith('g:');
const nameOf = ({ id, displayName }: Member) => (isGroup(id) ? `the members of ${displayName}` : displayName);

// list joins names: "a", "a and b", "a, b and c".
function list(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

const firstUpper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const width: Record<LibraryVisibility, number> = { PRIVATE: 0, LOGGEDIN: 1, PUBLIC: 2 };

// visibilityWill says who will be able to see an item after its visibility has changed.
export function visibilityWill(access: Access, visibility: LibraryVisibility): string {
  const { tenant } = access;
  const narrower = width[visibility] < width[access.visibility];
  const rest = access.visibility === 'PUBLIC' ? 'Everyone else' : `Everyone else in ${tenant}`;
  if (visibility === 'PRIVATE') return `Then ${whenPrivate(access)} ${rest} loses access.`;
  if (visibility === 'LOGGEDIN') return `Then everyone who is signed in to ${tenant} will be able to see this item.${narrower ? ' People who are not lose access, unless it is shared with them.' : ''}`;
  return 'Then everyone on the internet who has the link will be able to see this item, signed in or not, and it is listed under Newest.';
}

const may: Record<ContentRole, string> = { VIEWER: '', EDITOR: 'change its text', MANAGER: 'change, share and delete it' };

const managing = { item: 'change, share and delete this item', group: 'change the group and its members, and to delete it' };

// alone says the same in a sentence that does not name the item before.
const alone: Record<ContentRole, string> = { VIEWER: '', EDITOR: 'edit this item', MANAGER: managing.item };

const strength: Record<ContentRole, number> = { VIEWER: 0, EDITOR: 1, MANAGER: 2 };

// managingWill says what people gain who become managers.
export const managingWill = (people: readonly Member[], what: keyof typeof managing) =>
  `${firstOf(people)} will be able to ${managing[what]}.`;

// staying says that people who are added keep the role that they have already; '' if there are none.
export function staying(people: readonly Holder[]): string {
  const [one] = people;
  if (!one) return '';
  if (people.length === 1) return `${one.displayName} is ${asRole[one.role]} already, and stays one.`;
  const names = people.length > mostNamed ? `${people.length} of them` : list(people.map(({ displayName }) => displayName));
  return `${names} have a role already, and keep it.`;
}

// onlyManager says why the only manager of an item has to stay. first is 'first', and where that is done if it is elsewhere.
export const onlyManager = ({ id, displayName }: Member, viewerId: string | undefined, first: 'first' | 'first, in Share') =>
  `${id === viewerId ? 'You are' : `${displayName} is`} the only manager of this item, and an item keeps at least one. Make somebody else a manager ${first}, or delete the item.`;

// isOnlyManager reports whether a member is the only manager. It is false if not all members were read.
export function isOnlyManager({ edges, pageInfo }: Members, id: string): boolean {
  const managers = edges.filter(({ role }) => role === 'MANAGER');
  return !pageInfo.hasNextPage && managers.length === 1 && managers[0]?.node.id === id;
}

// byRole separates people with whom an item is shared in a role: those who are new, those who get a stronger role than
// theirs, and those who keep theirs, because sharing never lowers a role.
function byRole({ members }: Pick<Access, 'members'>, people: readonly Member[], role: ContentRole) {
  const held = members.filter(({ id }) => people.some((one) => one.id === id));
  const raised = held.filter((one) => strength[one.role] < strength[role]);
  return {
    fresh: people.filter(({ id }) => held.every((one) => one.id !== id)),
    raised,
    kept: held.filter((one) => !raised.includes(one)),
  };
}

// sharingWill says what people gain when an item is shared with them in a role.
export function sharingWill(access: Omit<Access, 'viewerId'>, people: readonly Member[], role: ContentRole): string {
  const { fresh, raised, kept } = byRole(access, people, role);
  const blind = fresh.filter(({ id }) => !seesAnyway(access, id));
  const [visitors] = guests(access, fresh);
  const gains = may[role];
  const gainers = gains ? [...fresh, ...raised] : [];
  // One sentence has both if it is about the same people.
  const both = blind.length > 0 && blind.length === gainers.length;
  const where = fresh.length === 1 && !fresh.some(({ id }) => isGroup(id)) ? 'their library' : 'their libraries';
  const clear = blind.length === fresh.length || fresh.length === people.length;
  const vague = access.further !== 'none' || (access.members.some(({ id }) => isGroup(id)) && (blind.length > 0 || gains));
  return [
    blind.length > 0 && `${firstOf(blind)} will be able to see this item${both ? `, and to ${gains}` : ''}.`,
    visitors && `${firstUpper(visitors)} will be able to see this item${blind.length > 0 ? ', too' : ''}.`,
    fresh.length > 0 && (clear ? `It appears in ${where}.` : `${firstOf(fresh)} will have it in ${where}.`),
    gainers.length > 0 && !both && `${firstOf(gainers)} will be able to ${fresh.length > 0 ? gains : alone[role]}.`,
    fresh.length > 0 && access.visibility !== 'PRIVATE' && 'They keep access even if the item becomes private.',
    staying(kept),
    fresh.length > 0 && vague && 'If they have it already, for example through a group, the stronger role counts.',
  ].filter(Boolean).join(' ');
}

// sharingDid says what sharing has done, as far as the members that were read before show.
export function sharingDid(access: Pick<Access, 'members'>, people: readonly Member[], role: ContentRole): string {
  const { fresh, raised, kept } = byRole(access, people, role);
  return [
    fresh.length > 0 && `Shared with ${fresh.map(({ displayName }) => displayName).join(', ')}.`,
    ...raised.map(({ displayName }) => `${displayName} is now ${asRole[role]}.`),
    staying(kept),
  ].filter(Boolean).join(' ');
}

// firstOf names people as the subject of a sentence; of many, it names the first and counts the others.
function firstOf(people: readonly Member[]): string {
  const shown = people.length > mostNamed ? mostNamed - 1 : mostNamed;
  return firstUpper(list([...people.slice(0, shown).map(nameOf), ...counted(people.slice(shown))]));
}

// removalWill says what a member loses that is removed from an item.
export function removalWill({ visibility, tenant, viewerId }: Omit<Access, 'members' | 'further'>, member: Member): string {
  const { id, displayName } = member;
  const stays = seesAnyway({ visibility, tenant }, id);
  const reason = visibility === 'PUBLIC' ? 'It is public' : `Everyone who is signed in to ${tenant} can see it`;
  if (id === viewerId) {
    const mine = 'You lose your role on this item, and it is removed from your library.';
    return stays ? `${mine} ${reason}, so you can still open it, and add it again as a viewer.`
      : `${mine} Unless you have access in another way, you can no longer open it, and only its managers can share it with you again.`;
  }
  const lost = `The item is removed from the library of ${displayName}, ${isGroup(id) ? 'which loses its' : 'who loses their'} role on it.`;
  if (!stays) return `${lost} ${firstUpper(nameOf(member))} can no longer open it, unless they have access in another way.`;
  // Groups may have members of other organisations.
  const some = isGroup(id) && visibility === 'LOGGEDIN' ? ` who belong to ${tenant}` : '';
  return `${lost} ${reason}, so ${nameOf(member)}${some} can still open it.`;
}

// mostShares is how many members of an item a list reads.
const mostShares = 6;

// sharedWith says in a few words with whom an item is shared, besides its creator; '' if with nobody. To the
// creator it names one, and counts several. Others may not see all members, so for them a number is the least.
export function sharedWith({ nodes }: { nodes: readonly Member[] }, creator: string | undefined, viewer: string | undefined): string {
  const others = nodes.filter(({ id }) => id !== creator);
  const [first] = others;
  if (!first) return '';
  if (others.length === 1 && first.id === viewer) return 'shared with you';
  if (!viewer || viewer !== creator || nodes.length >= mostShares) return `shared with ${others.length} or more`;
  return `shared with ${others.length === 1 ? first.displayName : others.length}`;
}
