import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session, SessionEgress } from '@berth/contract'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { builtInRuntimes } from '@berth/core/runtimes/built-in.ts'
import { configuredModels } from '@berth/core/runtimes/configured-models.ts'
import { MasterKey, parseMasterKey } from '@berth/platform/storage/master-key.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { geminiRuntime } from '@berth/testing/agents/gemini.ts'
import { refusalsIn } from '@berth/testing/environments/asking-hosts.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { PlayedServices } from '@berth/testing/environments/played-services.ts'
import { findValue } from '@berth/testing/leaks/find-value.ts'
import { geminiWire } from '@berth/testing/models/gemini-wire.ts'
import { type ModelServer, startModelServer } from '@berth/testing/models/model-server.ts'
import { type Behaviour, says } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, type EndedRun, endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { allowAll } from '@berth/testing/services/allow-all.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { leaseOf, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Worker } from '../../src/worker.ts'

const stack = new AsyncDisposableStack()
let service: GatewayService
/** The model of the agent of somebody else. */
let model: ModelServer
let services: PlayedServices
/** The one environment of all Sessions here. */
let environmentId: string

beforeAll(async () => {
  model = stack.use(await startModelServer(geminiWire))
  const { port } = new URL(model.origin)
  const gemini = geminiRuntime(`http://model.example.com:${port}`)
  service = stack.use(await startGatewayService({ models: { default: 'main/m1' }, runtimes: [gemini] }))
  const { test: own } = service
  const key = parseMasterKey(readFileSync(join(own.dataDir, 'master.key'), 'utf8').trim())
  // The worker of the test opens what the service has sealed.
  if (key !== undefined) Object.assign(own.db.database, { masterKey: new MasterKey(key) })
  services = stack.use(await PlayedServices.open())
  services.stage.name('model.example.com', Number(port))
  environmentId = await services.environment(new Environments(own.api))
  const context = await workerContext(own, stack, {
    network: await services.stage.network(),
    // The agent of somebody else alone takes 400 MB.
    bounds: { memoryBytes: 1024 ** 3 },
    publicHosts: { ports: [80, 443], refused: [] },
    runtimes: [
      ...builtInRuntimes(insidePaths, { hasModels: true }).filter(({ id }) => id === 'native'),
      { ...gemini, state: [], stateless: false },
    ],
    gateway: { url: () => own.url, mint: run => mintRuntimeCredential(own.db.database, run, new Date()) },
  })
  const models = { models: configuredModels(own.service.settings.config), defaultModel: 'main/m1' }
  await stack.use(new Worker({ ...context, ...models })).start()
})
afterAll(() => stack.disposeAsync())
beforeEach(() => void services.seen.splice(0))

const create = (body: Record<string, unknown>, message: string) =>
  service.test.api.createSession({ ...body, environment: { id: environmentId } }, message)

/** Waits until a Run has ended and is sealed. */
async function sealed(session: Session, runId = session.activeRunId ?? ''): Promise<EndedRun> {
  const run = await endedRun(service.test.api, session, runId)
  await until('the seal', async () => (await service.test.api.session(session.id)).phase === 'idle')
  return run
}

const outputOf = (run: EndedRun) => activitiesOf(run).map(({ output }) => String(output))

/** Returns how often `getSessionEgress` says that each secret was used, by `host name`. */
async function usesOf(session: Session): Promise<Readonly<Record<string, number>>> {
  const { body } = await service.test.api.get<SessionEgress>(`/v1/sessions/${session.id}/egress`)
  return Object.fromEntries(
    body.hosts.flatMap(({ host, secrets }) => secrets.map(({ name, uses }) => [`${host} ${name}`, uses])),
  )
}

/** Returns the same of the audit log, whose entries are of one hour each. */
async function auditOf(session: Session): Promise<Readonly<Record<string, number>>> {
  const { rows } = await service.test.db.database.query<{ use: string; uses: number }>(
    `select concat(details ->> 'host', ' ', details ->> 'secret') as use, sum((details ->> 'uses')::int)::int as uses
     from audit_log where action = 'egress_secret.used' and target = $1 group by 1`,
    [`session/${session.id}`],
  )
  return Object.fromEntries(rows.map(({ use, uses }) => [use, uses]))
}

/** The placeholders of a Session, from the file in which its agent has kept its variables. */
async function placeholdersOf(session: Session): Promise<ReadonlyMap<string, string>> {
  const { db, dataDir } = service.test
  const lines = (await readFile(await workspacePath(db.database, dataDir, session, 'variables'), 'utf8')).split('\n')
  const names = Object.keys(services.secrets)
  return new Map(lines.map(line => line.split('=') as [string, string]).filter(([name]) => names.includes(name)))
}

/** Expects that each service saw its secret in its place alone, that this is what was written down, and nothing is elsewhere. */
async function expectUsedUnseen(session: Session): Promise<void> {
  const placeholders = await placeholdersOf(session)
  expect([...placeholders.keys()].toSorted()).toEqual(Object.keys(services.secrets).toSorted())
  for (const value of placeholders.values()) expect(JSON.stringify(services.seen)).not.toContain(value)
  // A secret is nowhere but in its place, and no other is in the same request.
  for (const { headers, holds, url } of services.seen) {
    const { length } = JSON.stringify([url, headers]).split(services.mark)
    expect(length - 1).toBe(holds.length === 1 && holds[0] !== 'GIT_PASSWORD' ? 1 : 0)
  }
  const uses = services.uses()
  expect(Object.keys(uses).toSorted()).toEqual([
    'api.example.com API_TOKEN',
    'eu.tickets.example.com TICKETS_KEY',
    'git.example.com GIT_PASSWORD',
    'maps.example.com MAPS_KEY',
    'npm.example.com NPM_TOKEN',
  ])
  expect(await usesOf(session)).toEqual(uses)
  expect(await auditOf(session)).toEqual(uses)
  const { dataDir, db } = service.test
  const searched = { dataDir, db: db.database, leases: [await leaseOf(db.database, session)] }
  expect(await findValue(services.forms, searched)).toEqual([])
  // The search finds what is there: a placeholder, in files, blobs, rows and processes.
  const found = (await findValue(placeholders.get('MAPS_KEY') ?? '', searched)).join('\n')
  for (const place of ['/workspace/variables', '(unpacked)', 'table ', 'process ']) expect(found).toContain(place)
}

const curl = `curl -sS -m 20`
const inBash = `
env > variables
${curl} -H "Authorization: Bearer $API_TOKEN" https://api.example.com/v1/account
${curl} -H "X-Api-Key: key=$TICKETS_KEY" -d '{"title":"one"}' https://eu.tickets.example.com/tickets
git clone -q "https://agent:$GIT_PASSWORD@git.example.com/one.git" one 2>&1 && git -C one log --format=%s
${curl} "https://maps.example.com/find?place=Rome&key=$MAPS_KEY"`
const inNpm = `
echo '//npm.example.com/:_authToken=\${NPM_TOKEN}' > .npmrc
npm install thing --registry=https://npm.example.com/ --no-audit --no-fund --fetch-retries=0 > npm.log 2>&1 || cat npm.log
node -p 'require("thing")'`
const inNode = `/opt/berth/node --input-type=module - <<'END'
import { get } from 'node:https'
const { API_TOKEN, TICKETS_KEY, MAPS_KEY } = process.env
for (const [url, headers] of [
  ['https://api.example.com/v1/account', { Authorization: 'Bearer ' + API_TOKEN }],
  ['https://maps.example.com/find?key=' + MAPS_KEY, {}],
]) process.stdout.write(await (await fetch(url, { headers })).text())
get('https://eu.tickets.example.com/tickets', { headers: { 'X-Api-Key': 'key=' + TICKETS_KEY } }, answer => answer.pipe(process.stdout))
END`
const inSocket = `/opt/berth/node - <<'END'
const headers = { Authorization: 'Bearer ' + process.env.API_TOKEN }
const socket = new WebSocket('wss://api.example.com/v1/news', { headers })
socket.onmessage = ({ data }) => process.stdout.write(data)
socket.onerror = ({ error }) => console.log(String(error))
END`
const inPython = `/usr/bin/python3 - <<'END'
import os
from urllib.request import Request, urlopen
for url, headers in [
  ("https://api.example.com/v1/account", {"Authorization": "Bearer " + os.environ["API_TOKEN"]}),
  ("https://maps.example.com/find?key=" + os.environ["MAPS_KEY"], {}),
  ("https://eu.tickets.example.com/tickets", {"X-Api-Key": "key=" + os.environ["TICKETS_KEY"]}),
]: print(urlopen(Request(url, headers=headers)).read().decode(), end="")
END`
const inGo = `cat > ask.go <<'END'
package main
import ("io"; "net/http"; "os")
func ask(url string, name string, value string) {
  asked, _ := http.NewRequest("GET", url, nil)
  if name != "" { asked.Header.Set(name, value) }
  answer, err := http.DefaultClient.Do(asked)
  if err != nil { panic(err) }
  io.Copy(os.Stdout, answer.Body)
}
func main() {
  ask("https://api.example.com/v1/account", "Authorization", "Bearer "+os.Getenv("API_TOKEN"))
  ask("https://maps.example.com/find?key="+os.Getenv("MAPS_KEY"), "", "")
  ask("https://eu.tickets.example.com/tickets", "X-Api-Key", "key="+os.Getenv("TICKETS_KEY"))
}
END
GOFLAGS=-mod=mod GOPROXY=off go run ask.go`
const inJava = `cat > Ask.java <<'END'
import java.net.*;
public class Ask {
  static void ask(String url, String name, String value) throws Exception {
    var open = (HttpURLConnection) new URL(url).openConnection();
    if (name != null) open.setRequestProperty(name, value);
    System.out.print(new String(open.getInputStream().readAllBytes()));
  }
  public static void main(String[] args) throws Exception {
    ask("https://api.example.com/v1/account", "Authorization", "Bearer " + System.getenv("API_TOKEN"));
    ask("https://maps.example.com/find?key=" + System.getenv("MAPS_KEY"), null, null);
    ask("https://eu.tickets.example.com/tickets", "X-Api-Key", "key=" + System.getenv("TICKETS_KEY"));
  }
}
END
java Ask.java 2>/dev/null`
/** What runs on keeps the variables in its memory. */
const lingering = 'setsid sleep 600 > /dev/null 2>&1 < /dev/null &'

test('scripts of bash, Node, Python, Go and Java use five services, one by a WebSocket too, whose secrets they never have', async () => {
  const session = await create({ runtime: 'shell' }, `${inBash}${inNpm}\necho "$MAPS_KEY"`)
  const first = await sealed(session)
  expect(outputOf(first).join('').split('\n').slice(0, 5)).toEqual([
    ...['the account', 'the ticket', 'first', 'the map', 'a thing'],
  ])
  const { run } = await service.test.api.submitTurn(session.id, `${inNode}\n${inSocket}\n${inPython}\n${lingering}`)
  const second = await sealed(session, run.id)
  expect(outputOf(second).join('')).toBe(
    ['the account', 'the map', 'the ticket', 'the news', 'the account', 'the map', 'the ticket', ''].join('\n'),
  )
  expect(services.uses()).toMatchObject({ 'api.example.com API_TOKEN': 4, 'maps.example.com MAPS_KEY': 3 })
  const more = [
    ['/usr/bin/go', inGo],
    ['/usr/bin/java', inJava],
  ].filter(([needs = '']) => existsSync(needs))
  for (const [, script = ''] of more) {
    const next = await service.test.api.submitTurn(session.id, script)
    expect(outputOf(await sealed(session, next.run.id)).join('')).toBe('the account\nthe map\nthe ticket\n')
  }
  await expectUsedUnseen(session)
})

/** Calls `fetch` with a URL that has a placeholder which the model has read. */
const fetches =
  (url: (key: string) => string): Behaviour =>
  (request, response) => {
    const key = /MAPS_KEY=(\w+)/.exec(JSON.stringify(request.body))?.[1] ?? 'none'
    return says({ calls: [{ name: 'fetch', args: { url: url(key) } }] })(request, response)
  }
const bash = (command: string) => says({ calls: [{ name: 'bash', args: { command } }] })

test("Berth's agent uses them by its tools, and its model never has them", async () => {
  service.upstream.next(
    bash(`${inBash}; grep MAPS_KEY variables`),
    fetches(key => `https://maps.example.com/find?place=Oslo&key=${key}`),
    fetches(key => `https://eu.tickets.example.com/find?key=${key}`),
    bash(`${inNpm}\n${inSocket}\n${lingering}`),
    says({ text: 'Used.' }),
  )
  const session = await create({}, 'Use the services')
  const run = await sealed(session)
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(activitiesOf(run)).toMatchObject([
    { name: 'bash', output: expect.stringMatching(/^the account\nthe ticket\nfirst\nthe map\n/) },
    { name: 'fetch', status: 'succeeded', output: expect.stringContaining('the map') },
    { name: 'fetch', status: 'failed', output: expect.stringContaining('secret_not_for_host') },
    { name: 'bash', output: 'a thing\nthe news\n' },
  ])
  expect(services.seen.map(({ url }) => url)).toContainEqual(expect.stringMatching(/^\/find\?place=Oslo&key=Mark/))
  expect(refusalsIn(run.events)).toEqual([
    expect.objectContaining({ host: 'eu.tickets.example.com', port: 443, reason: 'secret_not_for_host', count: 1 }),
  ])
  const reported = service.upstream.requests.map(({ text }) => text).join('\n')
  for (const form of services.forms) expect(reported).not.toContain(form)
  await expectUsedUnseen(session)
})

test('an agent of somebody else uses them by its shell, and its model never has them', async () => {
  const command = `${inBash}\n${inNpm}\necho "$MAPS_KEY"\n${lingering}`
  model.script({ calls: [{ name: 'run_shell_command', args: { command } }] }, { text: 'Used.' })
  const session = await create({ runtime: 'gemini' }, 'Use the services')
  await using _person = allowAll(service.test.api, session.id)
  const run = await sealed(session)
  expect(outcomeOf(run)).toBe('completed completed - 1')
  const reported = JSON.stringify(model.requests)
  for (const answer of ['the account', 'the ticket', 'the map', 'a thing']) expect(reported).toContain(answer)
  for (const form of services.forms) expect(reported).not.toContain(form)
  await expectUsedUnseen(session)
})

const status = `${curl} -w '%{http_code}\\n' -o answer`
/** Requests that hold a placeholder where its secret is not for, and the host that each goes to. */
const strays: readonly (readonly [host: string, port: number, request: string])[] = [
  ['eu.tickets.example.com', 443, '-H "Authorization: Bearer $API_TOKEN" https://eu.tickets.example.com/v1/account'],
  ['api.example.com', 443, '"https://api.example.com/v1/account?key=$MAPS_KEY"'],
  ['api.example.com', 443, '-H "Authorization: Bearer $API_TOKEN" https://api.example.com/v2/account'],
  ['api.example.com', 443, '-X DELETE -H "Authorization: Bearer $API_TOKEN" https://api.example.com/v1/account'],
  ['maps.example.com', 443, '-H "X-Key: $MAPS_KEY" https://maps.example.com/find'],
  ['maps.example.com', 80, '"http://maps.example.com/find?key=$MAPS_KEY"'],
  ['git.example.com', 443, '-u "agent:$NPM_TOKEN" https://git.example.com/one.git/info/refs'],
]

test('a placeholder elsewhere is refused, nobody gets it, and the log and the list of hosts say so', async () => {
  const script = strays
    .map(([, , request]) => `${status} ${request}; grep -o '"secret_not_for_host"' answer`)
    .join('\n')
  const session = await create({ runtime: 'shell' }, script)
  const run = await sealed(session)
  expect(outputOf(run).join('')).toBe('403\n"secret_not_for_host"\n'.repeat(strays.length))
  expect(services.seen).toEqual([])
  const counts = [...Map.groupBy(strays, ([host, port]) => `${host}:${port}`)].map(([target, { length }]) => [
    target,
    length,
  ])
  const refusals = refusalsIn(run.events)
  expect(refusals.map(({ reason }) => reason)).toEqual(refusals.map(() => 'secret_not_for_host'))
  const reported = Map.groupBy(refusals, ({ host, port }) => `${host}:${port}`)
  expect([...reported].map(([target, of]) => [target, of.reduce((sum, { count }) => sum + Number(count), 0)])).toEqual(
    counts,
  )
  const { body } = await service.test.api.get<SessionEgress>(`/v1/sessions/${session.id}/egress`)
  const listed = body.hosts.map(({ host, port, ...more }) => ({ target: `${host}:${port}`, ...more }))
  expect(listed.map(({ target, refused }) => [target, refused]).toSorted()).toEqual(counts.toSorted())
  for (const { lastReason, secrets } of listed) expect([lastReason, secrets]).toEqual(['secret_not_for_host', []])
  expect(await auditOf(session)).toEqual({})
})
