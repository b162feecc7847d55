// The audits of graphql-http: what the specification of GraphQL over HTTP asks
// of a server, its recommendations included. Two of them introspect, so the
// gateway must run with --dev.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverAudits } from 'graphql-http';
import { endpoint } from '../gateway.mjs';

const audits = serverAudits({ url: endpoint });

test('there are as many audits as this version has', () => {
  assert.equal(audits.length, 61);
});

for (const audit of audits) {
  test(`${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    assert.equal(result.status, 'ok', result.reason);
  });
}
