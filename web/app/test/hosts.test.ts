import { test } from 'node:test';
import assert from 'node:assert/strict';
import { shownAddress, shownHost, withScheme } from '../src/data/hosts.ts';

test('a host is shown in its own letters unless a label mixes scripts', () => {
  for (const host of ['example.org', 'example.org:8080', '192.0.2.1', 'b\u00fccher.example',
    '\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444', '\u4f8b\u3048abc.jp', '\u4f8b\u5b50.cn', '\ud55c\uae00.kr',
      '\u0e44\u0e17\u0e22', 'xn--bcher-kva.example', 'r3---sn-ab.example.com', 'sub.\u043f\u0440\u0438\u043c\u0435\u0440.com']) {
    assert.equal(shownHost(host), host);
  }
  const mixed: [string, string][] = [
    ['p\u0430ypal.com', 'xn--pypal-4ve.com'],
    ['www.P\u0430ypal.com:81', 'www.xn--pypal-4ve.com:81'],
    ['g\u03bfogle.com', 'xn--ggle-0nda.com'],
    ['\u043f\u03c0.com', 'xn--e1a8o.com'],
  ];
  for (const [host, want] of mixed) {
    const shown = shownHost(host);
    assert.match(shown, /^[\x21-\x7e]+$/, host);
    assert.match(shown, /xn--/, host);
    if (host.startsWith('p') || host.startsWith('www')) assert.equal(shown, want);
  }
  assert.equal(shownHost('a\u202eb\u0430 c'), 'a?b??c');
});

test('an address is shown without its scheme and without invisible characters', () => {
  assert.equal(shownAddress('https://p\u0430ypal.com/a?b#c'), 'xn--pypal-4ve.com/a?b#c');
  assert.equal(shownAddress('http://example.org'), 'example.org');
  assert.equal(shownAddress('HTTPS://example.org/\u00fc/\u202egnp.exe'), 'example.org/\u00fc/%E2%80%AEgnp.exe');
  assert.equal(shownAddress('https://example.org\\@evil.example/'), 'example.org\\@evil.example/');
  assert.equal(shownAddress('https://e.org/\u3164\u2800x'), 'e.org/%E3%85%A4%E2%A0%80x');
});

test('a link without a scheme is https', () => {
  for (const host of ['example.com', 'example.com/x', 'example.com:8080/x?y#z', 'bücher.example',
    ' www.example.com ']) assert.equal(withScheme(host), `https://${host.trim()}`);
  for (const other of ['https://example.com', 'ftp://example.org', 'mailto:a@example.com', 'localhost', 'a word',
    'example.com and more', '']) assert.equal(withScheme(other), other);
});
