// A recorder stands between the gateways and Carrel and keeps what passes.
import { createServer } from 'node:http';

export async function recorder(target) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { authorization, accept } = request.headers;
    const answer = await fetch(target, {
      method: request.method,
      headers: { 'content-type': 'application/json', ...(accept && { accept }), ...(authorization && { authorization }) },
      body,
    });
    seen.push({ authorization, ...JSON.parse(body) });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
    response.end(await answer.text());
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/graphql`,
    // during runs work and gives what passed meanwhile, with its result.
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
