// PostGraphile on a PostgreSQL of its own, in a temporary directory and on a local socket. Both end with
// this process. Its arguments are the files of the secret by which tokens are signed, and of data.mjs.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';

// PostGraphile is for Node 22. This is what Node 20 lacks; modules use it when they are loaded.
Promise.withResolvers ??= () => {
  const all = {};
  all.promise = new Promise((resolve, reject) => Object.assign(all, { resolve, reject }));
  return all;
};
const { postgraphile } = await import('postgraphile');
const { makePgService } = await import('postgraphile/adaptors/pg');
const { grafserv } = await import('postgraphile/grafserv/node');
const { PostGraphileAmberPreset } = await import('postgraphile/presets/amber');
const { PgLazyJWTPreset } = await import('postgraphile/presets/lazy-jwt');

// Debian keeps the programs of each version in a directory of its own.
const debian = '/usr/lib/postgresql';
const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => b - a) : [];
const bin = [...versions.map((version) => `${debian}/${version}/bin`), ...process.env.PATH.split(':')].find((dir) =>
  ['initdb', 'postgres', 'psql', 'pg_isready'].every((program) => existsSync(`${dir}/${program}`)),
);
if (!bin) {
  console.log('PostgreSQL 15 or later is not installed (on Debian: apt-get install postgresql)');
  process.exit();
}

// PostgreSQL refuses to run as root.
const root = process.getuid() === 0;
const [uid, gid] = root ? ['-u', '-g'].map((which) => Number(execFileSync('id', [which, 'postgres']))) : [];
const dir = mkdtempSync(`${tmpdir()}/carrel-bench-postgres-`);
if (root) chownSync(dir, uid, gid);
const run = (program, args, input) =>
  execFileSync(`${bin}/${program}`, args, { uid, gid, cwd: dir, input, stdio: ['pipe', 'ignore', 'inherit'] });

run('initdb', ['-D', 'data', '-U', 'postgres', '--auth=trust', '--locale=C', '--encoding=UTF8']);
const settings = Object.entries({
  listen_addresses: '', unix_socket_directories: dir, log_min_messages: 'fatal', max_wal_size: '4GB',
  shared_buffers: '512MB', effective_cache_size: '1GB', work_mem: '16MB', random_page_cost: 1.1,
});
// cat ends when this process does, and then PostgreSQL is told to end.
const script = '"$@" & cat; kill -INT $!; wait $!; rm -rf "$PWD"';
const postgres = spawn('sh', ['-c', script, 'sh', `${bin}/postgres`, '-D', 'data', ...settings.map(([k, v]) => `-c${k}=${v}`)],
  { uid, gid, cwd: dir, stdio: ['pipe', 'ignore', 'inherit'], detached: true });
postgres.on('exit', () => process.exit());

for (let tries = 100; spawnSync(`${bin}/pg_isready`, ['-q', '-h', dir, '-U', 'postgres']).status !== 0; tries--) {
  if (tries === 0) throw new Error('PostgreSQL does not start');
  await new Promise((wake) => setTimeout(wake, 100));
}
const psql = (input, ...args) =>
  run('psql', ['-X', '-q', '-h', dir, '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', ...args], input);
psql(readFileSync(new URL('postgraphile.sql', import.meta.url)));
psql(readFileSync(process.argv[3]), '-c', String.raw`\copy hidden.line from pstdin with (format csv, quote e'\x01', delimiter e'\x02')`);
psql(readFileSync(new URL('postgraphile-load.sql', import.meta.url)));

const service = postgraphile({
  extends: [PostGraphileAmberPreset, PgLazyJWTPreset],
  pgServices: [makePgService({
    schemas: ['public'],
    poolConfig: { host: dir, user: 'viewer', database: 'postgres', max: 10, idleTimeoutMillis: 0 },
  })],
  grafserv: {
    graphiql: false, watch: false,
    pgJwtSecret: createSecretKey(readFileSync(process.argv[2])), // as bytes, it would be parsed as a public key for each request
    pgJwtVerifyOptions: { audience: undefined },
  },
});
const server = createServer();
await service.createServ(grafserv).addTo(server);
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/graphql`));
