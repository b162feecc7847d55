// session.ts
// The token of the viewer, and requests with it.

export interface Session {
  // The current token; null for an anonymous viewer.
  token(): string | null;
  // Gets another token after one was refused, and makes token() return it; null: there is none.
  // Concurrent calls must share one renewal: many providers accept a refresh token only once.
  renew(): Promise<string | null>;
}

// authorizedFetch returns a fetch with the token of a session. A refused token is renewed once.
// That is safe for mutations too: a 401 is answered before anything is executed.
export function authorizedFetch(session: Session): typeof fetch {
  const send = (
    address: RequestInfo | URL,
    options: RequestInit | undefined,
    token: string | null,
  ) => {
    const headers = new Headers(options?.headers);
    if (token) headers.set('authorization', `Bearer ${token}`);
    return fetch(address, { ...options, headers });
  };
  return async (address, options) => {
    const token = session.token();
    const response = await send(address, options, token);
    if (response.status !== 401 || !token) return response;
    const renewed = await session.renew();
    return renewed ? send(address, options, renewed) : response;
  };
}
