// main.ts
// A page with a library that stays up to date, and loads more at its end.
import { fetchSource } from './fetch/library.ts';
import type { LibraryState } from './order.ts';
import { failureOf } from './retry.ts';
import { loadBeforeEnd } from './scroll.ts';
import type { Session } from './session.ts';
import { LibraryView } from './view.ts';

// For trying things out: the gateway of make run, and one of the tokens that it prints. An
// application has a SignIn (sign-in.ts) as its session.
const url = 'http://127.0.0.1:8080/graphql';
const token = '';
const session: Session = { token: () => token || null, renew: async () => null };

const list = document.body.appendChild(document.createElement('ol'));
const end = document.body.appendChild(document.createElement('p'));
let state: LibraryState = { library: undefined };

function show(next: LibraryState): void {
  state = next;
  const { library, error } = state;
  const items = (library?.edges ?? []).map(({ node }) => {
    const item = document.createElement('li');
    item.textContent = node.title;
    return item;
  });
  list.replaceChildren(...items);
  if (error) end.textContent = `The library cannot be read: ${error}`;
  else if (library === undefined) end.textContent = 'Loading…';
  else end.textContent = library ? '' : 'There is no such library, or you may not see it.';
}

function report(error: unknown): void {
  end.textContent = `The list is no longer up to date: ${failureOf(error).code}`;
}

const view = new LibraryView(fetchSource(url, session), 'g:demo:standard-library', 'DESC', show);
await view.open();
view.follow(report);
loadBeforeEnd(end, view, () => state.library?.pageInfo.hasNextPage, report);
