import { test } from 'node:test';
import assert from 'node:assert/strict';
import { explanationOf } from '../src/data/provider.ts';

test('what a provider answers is explained, and whether it ends the sign-in', () => {
  const host = 'id.example';
  const cases: [failure: Parameters<typeof explanationOf>[0], text: RegExp, ended: boolean][] = [
    [new TypeError('Failed to fetch'), /cannot be reached/, false],
    [new DOMException('', 'TimeoutError'), /cannot be reached/, false],
    [{ name: 'OperationProcessingError', cause: new Response('', { status: 502 }) }, /cannot be reached/, false],
    [{ name: 'ResponseBodyError', status: 429, error: 'slow_down' }, /cannot be reached/, false],
    [{ name: 'AuthorizationResponseError', error: 'temporarily_unavailable' }, /cannot be reached/, false],
    [{ name: 'AuthorizationResponseError', error: 'access_denied' }, /refused or cancelled/, true],
    [{ name: 'ResponseBodyError', status: 400, error: 'invalid_grant' }, /took too long, or was used/, true],
    [
      { name: 'ResponseBodyError', status: 400, error: 'invalid_client' },
      /refused the sign-in \(invalid_client\)/,
      true,
    ],
    [{ name: 'OperationProcessingError', code: 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED' }, /clock/, true],
    [
      { name: 'OperationProcessingError', code: 'OAUTH_INVALID_RESPONSE', cause: { parameters: '' } },
      /cannot use/,
      true,
    ],
    [{}, /cannot use/, true],
  ];
  for (const [failure, text, ended] of cases) {
    const [got, isEnd] = explanationOf(failure, host);
    assert.match(got, text);
    assert.equal(isEnd, ended, got);
  }
});
