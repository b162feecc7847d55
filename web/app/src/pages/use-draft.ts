// The viewer's draft of one text of a note while it is edited.
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { ApolloClient, TypedDocumentNode } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import type { DraftGateway } from '../data/draft-gateway.ts';
import { draftSession, type DraftSession } from '../data/draft-session.ts';
import { DiscardDraftDocument, DraftDocument, PublishDraftDocument, RevisionDocument, SaveDraftDocument,
  type ItemFragment, type RevisionTextFragment } from '../generated/operations.ts';
import { isBadInput, isPassing } from '../data/faults.ts';
import { useOnline } from '../ui/notices.tsx';
import { useReadAgain } from '../ui/read-again.ts';
import { useSession } from '../ui/session.tsx';

// TextId identifies a text of an item by its branch and locale.
export interface TextId {
  contentId: string;
  branch: number;
  locale: string | null;
}

// draftKey is the key of a user's draft.
export function draftKey({ contentId, branch, locale }: TextId, userId: string): string {
  const user = userId.replaceAll('%', '%25').replaceAll('#', '%23').replaceAll('/', '%2F');
  return `${contentId}#user/${user}/${locale === null ? '' : `${locale}/`}${branch}`;
}

// readRevision reads a revision by its number, null for the current one, without the cache. seen is the branch that visitors see.
export async function readRevision(client: ApolloClient, { contentId, branch, locale }: TextId,
  number: number | null): Promise<{ revision: RevisionTextFragment | null; seen: number | undefined }> {
  const { data } = await client.query({ query: RevisionDocument, variables: { id: contentId, branch, locale, number },
    fetchPolicy: 'no-cache' });
  return { revision: data?.content?.revision ?? null, seen: data?.content?.current?.number };
}

// isKnownLocale asks the gateway whether there is such a language and country: it refuses to
// read a text in any other one.
export async function isKnownLocale(client: ApolloClient, { contentId, branch, locale }: TextId): Promise<boolean> {
  const { error } = await client.query({ query: RevisionDocument, variables: { id: contentId, branch, locale, number: null },
    fetchPolicy: 'no-cache', errorPolicy: 'all' });
  if (error && !isBadInput(error)) throw error;
  return !error;
}

async function mutate<Input, Payload>(client: ApolloClient, mutation: TypedDocumentNode<Record<string, Payload | null>,
  { input: Input }>, input: Input): Promise<Payload> {
  const { data } = await client.mutate({ mutation, variables: { input } });
  const [payload] = Object.values(data ?? {});
  if (!payload) throw new Error('The answer has no payload.');
  return payload as Payload;
}

function gatewayOf(client: ApolloClient, textId: TextId, userId: string): DraftGateway<RevisionTextFragment> {
  const { contentId, branch, locale } = textId;
  return {
    async read() {
      const variables = { key: draftKey(textId, userId), id: contentId, branch, locale };
      const { data } = await client.query({ query: DraftDocument, variables, fetchPolicy: 'no-cache' });
      return { draft: data?.byKey?.__typename === 'Draft' ? data.byKey : null, current: data?.content?.revision ?? null,
        mayEdit: data?.content?.viewerCanEdit ?? false };
    },
    revision: async (number) => (await readRevision(client, textId, number)).revision,
    save: (input) => mutate(client, SaveDraftDocument, { ...textId, ...input }),
    publish: () => mutate(client, PublishDraftDocument, textId),
    discard: () => mutate(client, DiscardDraftDocument, textId),
  };
}

const later = (act: () => void, ms: number) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

// useDraft starts to edit a text, which may be the one that gives the item its title (namesItem). When the version of the item
// changes, somebody may have published. mayEdit: as far as is known, the item is there and the viewer may edit it.
export function useDraft(textId: TextId, userId: string, { title, version }: ItemFragment, mayEdit: boolean, namesItem: boolean) {
  const client = useApolloClient();
  const online = useOnline();
  const { expired } = useSession();
  const [session] = useState<DraftSession<RevisionTextFragment>>(() =>
    draftSession(gatewayOf(client, textId, userId), title, namesItem, later));
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
    session.refresh(title).catch(() => {});
  }, [session, version]);
  useEffect(() => {
    const { saving, refused, error } = session.state();
    if (online && mayEdit && !expired && (saving === 'failed' || refused || error)) void session.flush();
  }, [session, online, mayEdit, expired]);
  useReadAgain(async () => {
    if (state.saving === 'failed' && state.error !== null && isPassing(state.error)) await session.flush();
  });
  return { session, state, error, open };
}
