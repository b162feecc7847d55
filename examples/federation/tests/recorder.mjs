// A recorder is a proxy between the gateways and Carrel that records the requests.
import { createServer } from 'node:http';

// operationOf returns the operation of a request by POST or GET.
function operationOf(body, search) {
  if (body) return JSON.parse(body);
  const { variables, ...rest } = Object.fromEntries(search);
  return { ...rest, variables: variables && JSON.parse(variables) };
}

export async function recorder(target) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? Buffer.concat(chunks).toString() : undefined;
    const { search, searchParams } = new URL(request.url, target);
    const headers = Object.fromEntries(['content-type', 'accept', 'authorization'].filter((name) => request.headers[name])
      .map((name) => [name, request.headers[name]]));
    seen.push({ authorization: headers.authorization, ...operationOf(body, searchParams) });
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const answer = await fetch(target + search, { signal: gone.signal, method: request.method, headers, body });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
      for await (const chunk of answer.body) response.write(chunk);
      response.end();
    } catch (fault) {
      response.destroy(gone.signal.aborted ? undefined : fault); // a client that is gone needs no answer
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/graphql`,
    // during runs work, and returns its result and the requests that were sent meanwhile.
    async during(work) {
      const from = seen.length;
      const result = await work();
      return { result, requests: seen.slice(from) };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
