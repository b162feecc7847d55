// The claims of a bearer token. Only the gateway verifies a token; a client reads it to know in
// which tenant to search for people, and which actions to offer.
import type { GroupRole } from '../generated/operations.ts';

// Claims are the claims that the client uses.
export interface Claims {
  id: string;
  tenant: string;
  admin: boolean;
  globalAdmin: boolean;
}

interface Principal {
  id: string;
  tenant: string;
  viewerRole?: GroupRole | null;
}

// claimsOf returns { id, tenant, admin, globalAdmin } of a token, or null if the text is not a
// JWT that names a user.
export function claimsOf(token: string): Claims | null {
  const [, payload, ...rest] = token.trim().split('.');
  if (payload === undefined || rest.length !== 1) return null;
  try {
    const claims = JSON.parse(decode(payload)) as { sub?: unknown; roles?: unknown };
    const id = String(claims.sub).toLowerCase();
    const [, tenant] = /^u:([a-z0-9][a-z0-9-]{0,31}):.+$/.exec(id) ?? [];
    if (!tenant) return null;
    const roles: unknown[] = Array.isArray(claims.roles) ? claims.roles : [];
    return { id, tenant, admin: roles.includes('admin'), globalAdmin: roles.includes('global-admin') };
  } catch {
    return null;
  }
}

function decode(part: string): string {
  const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

// administers reports whether a token's holder administers a tenant.
export function administers(claims: Claims | null, tenant: string): boolean {
  return Boolean(claims && (claims.globalAdmin || (claims.admin && claims.tenant === tenant)));
}

// mayRemoveFrom reports whether a user may remove items from a principal's library: its owner, a
// manager of the group, or an administrator of its tenant.
export function mayRemoveFrom(claims: Claims | null, principal: Principal | null): boolean {
  if (!claims || !principal) return false;
  return principal.id === claims.id || principal.viewerRole === 'MANAGER' || administers(claims, principal.tenant);
}

// mayManageGroup reports whether a user may change a group and its members.
export function mayManageGroup(claims: Claims | null, group: Principal): boolean {
  return claims !== null && (group.viewerRole === 'MANAGER' || administers(claims, group.tenant));
}
