// relay/environment.ts
import {
  Environment,
  Network,
  Observable,
  RecordSource,
  Store,
  type GraphQLResponse,
  type RequestParameters,
  type Variables,
} from 'relay-runtime';
import { resume, type Transport } from '../resume.ts';
import { authorizedFetch, type Session } from '../session.ts';

export function createRelayEnvironment(
  url: string,
  session: Session,
  transport: Transport,
): Environment {
  const send = authorizedFetch(session);
  const reading = new Set<Promise<unknown>>();

  const request = async ({ text, operationKind }: RequestParameters, variables: Variables) => {
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
  };

  // A page can be older than changes that arrive while it is on its way: they wait for it.
  const subscribe = ({ text }: RequestParameters, variables: Variables) =>
    Observable.create<GraphQLResponse>((sink) => {
      let last = Promise.resolve();
      return resume(
        transport,
        session,
        { query: text ?? '', variables },
        {
          next(result) {
            last = last.then(async () => {
              while (reading.size > 0) await Promise.allSettled(reading);
              sink.next(result as GraphQLResponse);
            });
          },
          error: (error) => void last.then(() => sink.error(error as Error)),
          complete: () => void last.then(() => sink.complete()),
        },
      );
    });

  const network = Network.create((operation, variables) => {
    const response = request(operation, variables);
    reading.add(response);
    const done = () => reading.delete(response);
    response.then(done, done);
    return response;
  }, subscribe);
  return new Environment({ network, store: new Store(new RecordSource()) });
}
