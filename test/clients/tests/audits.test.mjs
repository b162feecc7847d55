// The audits of graphql-http: the requirements and recommendations of the
// specification of GraphQL over HTTP. Two of them use introspection, so the gateway
// must run with --dev.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverAudits } from 'graphql-http';
import { endpoint } from '../gateway.mjs';

const audits = serverAudits({ url: endpoint });

test('the number of audits is that of this version', () => {
  assert.equal(audits.length, 61);
});

for (const audit of audits) {
  test(`${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    assert.equal(result.status, 'ok', result.reason);
  });
}
