// relay/environment.ts
import {
  Environment,
  Network,
  Observable,
  RecordSource,
  Store,
  type GraphQLResponse,
} from 'relay-runtime';
import { resume, type Transport } from '../resume.ts';
import { authorizedFetch, type Session } from '../session.ts';

export function createRelayEnvironment(
  url: string,
  session: Session,
  transport: Transport,
): Environment {
  const send = authorizedFetch(session);
  const network = Network.create(
    async ({ text, operationKind }, variables) => {
      const response = await send(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/graphql-response+json',
        },
        body: JSON.stringify({ query: text, variables }),
      });
      const result = (await response.json()) as GraphQLResponse & {
        errors?: object[];
        data?: unknown;
      };
      // Relay would drop the codes of errors: throw them as they are.
      const isEmpty = !result.data || Object.values(result.data).includes(null);
      if (result.errors && (operationKind === 'mutation' || isEmpty))
        throw Object.assign(new Error('The gateway refused the operation.'), {
          errors: result.errors,
        });
      return result;
    },
    ({ text }, variables) =>
      Observable.create((sink) =>
        resume(transport, session, { query: text ?? '', variables }, sink as never),
      ),
  );
  return new Environment({ network, store: new Store(new RecordSource()) });
}
