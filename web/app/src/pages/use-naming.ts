// Which text of a note gives the item its title.
import { useEffect, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { FirstRevisionDocument, type ItemFragment } from '../generated/operations.ts';
import type { TextId } from './use-draft.ts';

// mostAsked limits the requests for the first versions of a text.
const mostAsked = 20;

// useNaming returns the text that gives an item its title, or null while that is not known. It is that of the locale in which the
// item had its first text. shown is the branch that is shown with its locales, null if visitors do not see it.
export function useNaming({ id, viewerCanEdit }: ItemFragment,
  shown: { branch: number; locales: readonly (string | null)[] } | null): TextId | null {
  const client = useApolloClient();
  const [first, setFirst] = useState<{ of: string; locale: string | null } | null>(null);
  const locales = shown?.locales ?? [];
  const of = JSON.stringify([id, ...locales]);
  // Only editors may read first versions.
  const unknown = viewerCanEdit && locales.length > 1 && locales.length <= mostAsked;
  useEffect(() => {
    if (!unknown) return undefined;
    let ended = false;
    const created = async (locale: string | null) => {
      const { data } = await client.query({ query: FirstRevisionDocument, variables: { id, locale }, fetchPolicy: 'no-cache' });
      return { locale, at: data?.content?.revision?.createdAt };
    };
    void Promise.all(locales.map(created)).then((all) => {
      const [oldest] = all.flatMap(({ locale, at }) => (at ? [{ locale, at: Date.parse(at) }] : [])).sort((a, b) => a.at - b.at);
      if (!ended && oldest) setFirst({ of, locale: oldest.locale });
    }, () => {});
    return () => {
      ended = true;
    };
  }, [client, of, unknown]);
  const [only] = locales;
  const locale = locales.length > 1 ? (first?.of === of ? first.locale : undefined) : only;
  return shown && locale !== undefined ? { contentId: id, branch: shown.branch, locale } : null;
}

// isText reports whether both are the same text.
export const isText = (a: Pick<TextId, 'branch' | 'locale'> | null, b: Pick<TextId, 'branch' | 'locale'> | null) =>
  a !== null && b !== null && a.branch === b.branch && a.locale === b.locale;
