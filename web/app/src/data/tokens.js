// What a bearer token says of its holder. The gateway alone judges a token; a
// client reads it only to know which tenant to look people up in, and what to
// offer.

// claimsOf is { id, tenant, admin, globalAdmin } of a token, or null where the
// text is no JWT that names a user.
export function claimsOf(token) {
  const parts = token.trim().split('.');
  if (parts.length !== 3) return null;
  try {
    const claims = JSON.parse(decode(parts[1]));
    const id = String(claims.sub).toLowerCase();
    const named = /^u:([a-z0-9][a-z0-9-]{0,31}):.+$/.exec(id);
    if (!named) return null;
    const roles = Array.isArray(claims.roles) ? claims.roles : [];
    return { id, tenant: named[1], admin: roles.includes('admin'), globalAdmin: roles.includes('global-admin') };
  } catch {
    return null;
  }
}

function decode(part) {
  const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

// administers tells whether a token's holder looks after a tenant.
export function administers(claims, tenant) {
  return Boolean(claims && (claims.globalAdmin || (claims.admin && claims.tenant === tenant)));
}

// mayTakeOut tells whether somebody may take items out of a principal's library:
// its owner, a manager of the group, or an administrator of its tenant.
export function mayTakeOut(claims, principal) {
  if (!claims || !principal) return false;
  return principal.id === claims.id || principal.viewerRole === 'MANAGER' || administers(claims, principal.tenant);
}

// mayKeepGroup tells whether somebody may change a group and its members.
export function mayKeepGroup(claims, group) {
  return Boolean(claims && group) && (group.viewerRole === 'MANAGER' || administers(claims, group.tenant));
}
