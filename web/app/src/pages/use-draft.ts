// The viewer's draft of one text of a note, for as long as it is edited.
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { ApolloClient, TypedDocumentNode } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import type { DraftGateway } from '../data/draft-gateway.ts';
import { draftSession, type DraftSession } from '../data/draft-session.ts';
import { DiscardDraftDocument, DraftDocument, PublishDraftDocument, RevisionDocument, SaveDraftDocument, type RevisionTextFragment } from '../generated/operations.ts';
import { isBadInput } from '../data/faults.ts';
import { useOnline } from '../ui/notices.tsx';

// Spot is the branch and the locale of a text of an item.
export interface Spot {
  contentId: string;
  branch: number;
  locale: string | null;
}

// draftKey is the key of a user's draft.
export function draftKey({ contentId, branch, locale }: Spot, userId: string): string {
  const user = userId.replaceAll('%', '%25').replaceAll('#', '%23').replaceAll('/', '%2F');
  return `${contentId}#user/${user}/${locale === null ? '' : `${locale}/`}${branch}`;
}

// readRevision reads a revision by its number, past everything that is held.
export async function readRevision(client: ApolloClient, { contentId, branch, locale }: Spot, number: number): Promise<RevisionTextFragment | null> {
  const { data } = await client.query({ query: RevisionDocument, variables: { id: contentId, branch, locale, number }, fetchPolicy: 'no-cache' });
  return data?.content?.revision ?? null;
}

// isKnownLocale asks the gateway whether there is such a language and country: it refuses to
// read a text in any other one.
export async function isKnownLocale(client: ApolloClient, { contentId, branch, locale }: Spot): Promise<boolean> {
  const { error } = await client.query({ query: RevisionDocument, variables: { id: contentId, branch, locale, number: null }, fetchPolicy: 'no-cache', errorPolicy: 'all' });
  if (error && !isBadInput(error)) throw error;
  return !error;
}

async function mutate<Input, Payload>(client: ApolloClient, mutation: TypedDocumentNode<Record<string, Payload | null>, { input: Input }>, input: Input): Promise<Payload> {
  const { data } = await client.mutate({ mutation, variables: { input } });
  const [payload] = Object.values(data ?? {});
  if (!payload) throw new Error('The answer has no payload.');
  return payload as Payload;
}

function gatewayOf(client: ApolloClient, spot: Spot, userId: string): DraftGateway<RevisionTextFragment> {
  const { contentId, branch, locale } = spot;
  return {
    async read() {
      const variables = { key: draftKey(spot, userId), id: contentId, branch, locale };
      const { data } = await client.query({ query: DraftDocument, variables, fetchPolicy: 'no-cache' });
      return { draft: data?.byKey?.__typename === 'Draft' ? data.byKey : null, current: data?.content?.revision ?? null };
    },
    revision: (number) => readRevision(client, spot, number),
    save: (input) => mutate(client, SaveDraftDocument, { ...spot, ...input }),
    publish: () => mutate(client, PublishDraftDocument, spot),
    discard: () => mutate(client, DiscardDraftDocument, spot),
  };
}

const later = (act: () => void, ms: number) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

// useDraft starts to edit a text. version is that of the item: when it changes, somebody may
// have published.
export function useDraft(spot: Spot, userId: string, title: string, version: number) {
  const client = useApolloClient();
  const online = useOnline();
  const [session] = useState<DraftSession<RevisionTextFragment>>(() => draftSession(gatewayOf(client, spot, userId), title, later));
  const state = useSyncExternalStore(session.subscribe, session.state);
  const [error, setError] = useState<unknown>(undefined);
  const open = async () => {
    setError(undefined);
    await session.open().catch(setError);
  };
  useEffect(() => {
    void open();
  }, []);
  useEffect(() => {
    session.refresh().catch(() => {});
  }, [session, version]);
  useEffect(() => {
    if (online && session.state().saving === 'failed') void session.flush();
  }, [session, online]);
  return { session, state, error, open };
}
