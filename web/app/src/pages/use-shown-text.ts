// The text of a note that visitors see in a language.
import { useQuery } from '@apollo/client/react';
import type { PlainText } from '../data/draft-gateway.ts';
import { isText, localesOf, namingText } from '../data/naming.ts';
import { NoteTextDocument, type NoteTextQuery } from '../generated/operations.ts';
import type { TextId } from './use-draft.ts';

export interface ShownText extends PlainText {
  branch: number;
  // The number of the revision; null if there is no text.
  number: number | null;
  createdAt: string | null;
  author: { displayName: string } | null;
}

// useShownText reads the text of the branch that is current, and readAgain does so again. It is null if the item is gone, and
// undefined while that is not known.
export function useShownText({ contentId, locale }: TextId) {
  const { data, error, refetch } = useQuery(NoteTextDocument,
    { variables: { id: contentId, branch: null, locale, strictLocale: true }, fetchPolicy: 'no-cache' });
  return { text: data && shownIn(data, locale), error, readAgain: async () => {
    const answer = await refetch();
    return answer.data ? shownIn(answer.data, locale) : null;
  } };
}

// shownIn returns the text with the title that the item has now, if the text gives it.
function shownIn({ content }: NoteTextQuery, locale: string | null): ShownText | null {
  if (!content) return null;
  const { title, revision } = content;
  const branch = content.branch?.number ?? 1;
  const namesItem = isText(namingText({ branch, locales: localesOf(content) }), { branch, locale });
  return { branch, number: revision?.number ?? null, title: namesItem ? title : (revision?.title ?? title), body: revision?.body ?? '',
    createdAt: revision?.createdAt ?? null, author: revision?.author ?? null };
}
