// urql/library.ts
import { gql, type Client } from '@urql/core';
import * as operations from '../operations.ts';
import type {
  ChangedData,
  LibraryData,
  LibraryVariables,
  UpdateData,
  UpdateVariables,
} from '../operations.ts';
import { repeat } from '../retry.ts';
import type { Source } from '../view.ts';

const LIBRARY = gql<LibraryData, LibraryVariables>(operations.LIBRARY);
const LIBRARY_CHANGED = gql<ChangedData, { id: string; after: string | null }>(
  operations.LIBRARY_CHANGED,
);
const UPDATE = gql<UpdateData, UpdateVariables>(operations.UPDATE);

export function urqlSource(client: Client): Source {
  return {
    async read(variables) {
      const options = { requestPolicy: 'network-only' } as const;
      const { data, error } = await client.query(LIBRARY, variables, options).toPromise();
      if (error || !data) throw error;
      return data;
    },
    follow(variables, sink) {
      const { unsubscribe } = client
        .subscription(LIBRARY_CHANGED, variables)
        .subscribe(({ data, error }) => {
          if (error) sink.error(error);
          else sink.next({ data: data as never });
        });
      return unsubscribe;
    },
  };
}

export async function save(
  client: Client,
  input: UpdateVariables['input'],
): Promise<UpdateData['updateContent']['userErrors']> {
  const { updateContent } = await repeat(async () => {
    const { data, error } = await client.mutation(UPDATE, { input }).toPromise();
    if (!data) throw error;
    return data;
  });
  return updateContent.userErrors;
}
