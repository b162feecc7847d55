// Runs every example of GraphiQL against a gateway, in order and as its viewer, with variables
// from the answers of earlier examples. Exits with 1 and a message if an answer is wrong. The
// gateway must serve the demo data, which the examples change, and run with --dev.
//
//   BASE_URL=http://127.0.0.1:8080 node --import ./app/test/typescript.mjs e2e/examples.mjs
import { examples } from '../src/examples.ts';
import { nameOf } from '../src/examples/task.ts';
import { baseAddress, patience } from './browser.mjs';

const base = baseAddress();
// The fields that are null for the viewer of an example, as its comment says.
const hidden = { WhoSeesWhat: ['privateGroup', 'otherTenant'] };
// The lists that are empty on success.
const empty = ['userErrors', 'collidingKeys'];

const answers = {};
const { viewers } = await (await fetch(new URL('/dev/viewers', base))).json();
for (const example of examples) {
  const name = nameOf(example);
  try {
    const answer = await run(example);
    check(answer, hidden[name] ?? []);
    answers[name] = answer.data;
  } catch (fault) {
    console.error(`${name} as ${example.as}: ${fault.message}`);
    process.exit(1);
  }
}
console.log(`all ${examples.length} examples return what they should`);

// run sends an example and returns its answer, or the first event of a subscription.
async function run({ query, variables = '{}', as, from = {} }) {
  const filled = JSON.parse(variables);
  for (const [variable, [source, ...path]] of Object.entries(from)) {
    filled[variable] = path.reduce((value, key) => value[key], answers[source]);
    if (typeof filled[variable] !== 'string') throw new Error(`there is no ${path.join('.')} in ${source}`);
  }
  const { token } = viewers.find((viewer) => viewer.name === as);
  const follows = /^subscription/m.test(query);
  const got = await fetch(new URL('/graphql', base), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: follows ? 'text/event-stream' : 'application/graphql-response+json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ query, variables: filled }),
    signal: AbortSignal.timeout(patience),
  });
  return follows ? firstEvent(got) : got.json();
}

// firstEvent returns the first event, and closes the stream.
async function firstEvent({ body }) {
  let text = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const event = /^event: next\r?\ndata: (.*)\r?\n\r?\n/m.exec(text);
    if (event) return JSON.parse(event[1]);
  }
  throw new Error(`the stream ended before an event: ${text}`);
}

// check throws if an answer has an error, an empty list, or a root field that should not be null.
function check({ data, errors }, mayBeHidden) {
  if (errors) throw new Error(JSON.stringify(errors));
  for (const [field, value] of Object.entries(data)) {
    if (mayBeHidden.includes(field) !== (value === null)) throw new Error(`${field} is ${JSON.stringify(value)}`);
    walk(field, value);
  }
}

function walk(at, value) {
  if (value === null || typeof value !== 'object') return;
  if (Array.isArray(value) && (value.length === 0) !== empty.includes(at)) throw new Error(`${at}: ${JSON.stringify(value)}`);
  for (const [key, inner] of Object.entries(value)) walk(Array.isArray(value) ? at : key, inner);
}
