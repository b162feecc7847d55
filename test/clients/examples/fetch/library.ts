// fetch/library.ts
import {
  LIBRARY,
  LIBRARY_CHANGED,
  UPDATE,
  type LibraryData,
  type UpdateData,
  type UpdateVariables,
} from '../operations.ts';
import { resume } from '../resume.ts';
import { repeat } from '../retry.ts';
import type { Session } from '../session.ts';
import type { Source } from '../view.ts';
import { overFetch, post } from './gateway.ts';

export function fetchSource(url: string, session: Session): Source {
  return {
    read: (variables) => post<LibraryData>(url, session, { query: LIBRARY, variables }),
    follow: (variables, sink) =>
      resume(overFetch(url, session), session, { query: LIBRARY_CHANGED, variables }, sink),
  };
}

export async function save(
  url: string,
  session: Session,
  input: UpdateVariables['input'],
): Promise<UpdateData['updateContent']['userErrors']> {
  const { updateContent } = await repeat(() =>
    post<UpdateData>(url, session, { query: UPDATE, variables: { input } }),
  );
  return updateContent.userErrors;
}
