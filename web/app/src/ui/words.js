// The words for what the API calls by its own names.

export function visibilityName(visibility, tenant) {
  return {
    PUBLIC: 'Everyone',
    LOGGEDIN: tenant ? `Signed in at ${tenant}` : 'Signed in',
    PRIVATE: 'Private',
  }[visibility];
}

export function visibilityMeaning(visibility, tenant, what) {
  return {
    PUBLIC: 'Anybody, signed in or not.',
    LOGGEDIN: `Anybody who is signed in at ${tenant}.`,
    PRIVATE: { group: 'Its members alone.', user: 'Nobody else.', item: 'Those it is shared with, and nobody else.' }[what],
  }[visibility];
}

export const roleName = { VIEWER: 'Reader', EDITOR: 'Editor', MANAGER: 'Manager', MEMBER: 'Member' };

export const roleMeaning = {
  VIEWER: 'May read it, also if it turns private.',
  EDITOR: 'May save and publish revisions as well, and decide suggestions.',
  MANAGER: 'May change, share and delete it as well.',
};

export const kindName = { LINK: 'Link', NOTE: 'Note' };

// reading says how much of a library the viewer reads.
export function reading(bucket, tenant) {
  return {
    PUBLIC: 'you read what is open to everyone',
    LOGGEDIN: `you read what is open at ${tenant}`,
    PRIVATE: 'you read all of it',
  }[bucket];
}

export function countOf({ value, precision }) {
  const number = new Intl.NumberFormat('en-GB').format(value);
  return `${precision === 'AT_LEAST' ? 'more than ' : ''}${number} ${value === 1 ? 'entry' : 'entries'}`;
}

// foundOf says how many were found; more: the list goes on.
export function foundOf(number, more) {
  if (!more) return `${number} found`;
  return number === 0 ? 'None found so far' : `First ${number} found; there are more`;
}

const day = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const both = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' });

export const dayOf = (time) => day.format(new Date(time));
export const clockOf = (time) => clock.format(new Date(time));
export const dateOf = (time) => both.format(new Date(time));
export const kindOfPrincipal = (id) => (id.startsWith('g:') ? 'group' : 'user');
